//! What a program wrote and synced, in order, as the kernel saw it. `cargo xtask test` installs strace.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// One thing that the program asked the kernel for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It wrote to the file.
    Wrote,
    /// It had what it wrote to the file put on the disk.
    Synced,
    /// It wrote something else that tells how far it was.
    Mark(String),
}

/// Runs a command to its end. `file`: whose writes and syncs are told, by the end of its path. `mark`: what a written line
/// of the trace tells, if anything.
///
/// # Panics
/// Where strace is missing or may not trace.
pub fn traced(
    command: &Command,
    log: &Path,
    file: &str,
    mark: impl Fn(&str) -> Option<String>,
) -> (Output, Vec<Event>) {
    let mut strace = Command::new("strace");
    // `-y` names the files behind the descriptors.
    const CALLS: &str = "trace=write,writev,pwrite64,pwritev,sendto,sendmsg,fsync,fdatasync";
    strace.args(["-f", "-qq", "-y", "-s", "64", "-e", CALLS, "-e", "signal=none", "-o"]).arg(log);
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    let out = strace.stdin(Stdio::null()).output().expect("strace is installed");
    let text = std::fs::read(log).expect("strace writes its log");
    let text = String::from_utf8_lossy(&text);
    assert!(!text.is_empty(), "strace saw nothing: {}", String::from_utf8_lossy(&out.stderr));
    let ours = format!("{file}>");
    let mut events = Vec::new();
    // A call that other threads interrupt has a second line, without the parenthesis.
    for line in text.lines() {
        let Some((call, rest)) = line.split_once('(') else { continue };
        let on_file = rest.split(['>', ' ']).next().is_some_and(|fd| format!("{fd}>").ends_with(&ours));
        match call.split_whitespace().last() {
            Some("fsync" | "fdatasync") if on_file => events.push(Event::Synced),
            Some("write" | "writev" | "pwrite64" | "pwritev") if on_file => events.push(Event::Wrote),
            Some("write" | "writev" | "sendto" | "sendmsg") => events.extend(mark(line).map(Event::Mark)),
            _ => {}
        }
    }
    (out, events)
}
