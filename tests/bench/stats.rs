//! Medians and percentiles.

use std::time::Duration;

/// Value below which `share` of the sorted samples lie. Zero for none.
pub fn percentile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1);
    samples.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

pub fn median(samples: &mut [f64]) -> f64 {
    percentile(samples, 0.5)
}

pub fn millis(d: Duration) -> f64 {
    d.as_secs_f64() * 1000.0
}

/// CPU time of the whole process so far, user and system, in milliseconds: utime and stime of /proc/self/stat would come
/// in ticks of 10 ms, so the scheduler's own account of every thread is added up.
pub fn cpu_millis() -> f64 {
    cpu_of("/proc/self/task")
}

/// The same of the process whose `task` folder that is.
pub fn cpu_of(tasks: &str) -> f64 {
    let Ok(tasks) = std::fs::read_dir(tasks) else { return 0.0 };
    let nanos: u64 = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    nanos as f64 / 1e6
}
