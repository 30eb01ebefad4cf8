//! What a program and everything it started takes: memory and CPU time, from /proc.

use crate::stats::cpu_of;
use std::fs;

/// In MiB. `shared` counts what others map too by their number (PSS); `own` is what nothing else can hold (anonymous).
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    pub shared: f64,
    pub own: f64,
}

/// The process and all below it.
pub fn tree(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(pid) = all.get(next).copied() {
        next += 1;
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    all
}

/// CPU time of a tree so far, in milliseconds. What has ended already is not in it.
pub fn cpu_millis(root: u32) -> f64 {
    tree(root).into_iter().map(|pid| cpu_of(&format!("/proc/{pid}/task"))).sum()
}

pub fn memory(root: u32) -> Memory {
    let mut sum = Memory::default();
    for pid in tree(root) {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let mib = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or_default() / 1024.0
        };
        sum.shared += mib("Pss:");
        sum.own += mib("Pss_Anon:");
    }
    sum
}
