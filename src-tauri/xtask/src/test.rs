//! `cargo xtask test`: everything, in the order in which a failure is cheapest.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use crate::postgres::Postgres;
use crate::sh::{self, cargo};
use crate::{deny, package, packages, page, setup};

pub fn run() -> Result<(), String> {
    let start = Instant::now();
    sh::run("format", cargo().args(["fmt", "--all", "--check"]))?;
    if !sh::is_root() {
        sh::say("The tests start Postfix, which runs as several users: sudo is used for that as well as for packages.");
    }
    let node = setup(packages::Needs::Test)?;
    deny::check()?;
    page::build(&node)?;
    page::test(&node)?;
    // One selection of packages for everything, or Cargo unifies features anew and builds Tauri again.
    sh::run_long(
        "lint",
        "8 minutes",
        cargo().args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    )?;
    sh::run_long("build", "6 minutes", cargo().args(["build", "--workspace", "--quiet"]))?;
    package::build(&node)?;
    let postgres = Postgres::start()?;
    sh::say(&format!("tests, about 20 minutes ({:.0} s so far)", start.elapsed().as_secs_f64()));
    let (passed, failed, ok) = tests(&postgres)?;
    println!("\n{:.0} s in all\ntotal: {passed} passed, {failed} failed", start.elapsed().as_secs_f64());
    if ok { Ok(()) } else { Err("cargo test failed, see above".to_owned()) }
}

/// Runs Cargo's tests with their output in ours, and adds their closing lines up.
fn tests(postgres: &Postgres) -> Result<(u64, u64, bool), String> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]).env("COUNTERSIGN_TEST_PG", postgres.url());
    // They would change what a test sees of the machine it happens to run on.
    for name in [
        "COUNTERSIGN_HOME",
        "COUNTERSIGN_SECRETS",
        "COUNTERSIGN_TOKEN",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "DBUS_SESSION_BUS_ADDRESS",
    ] {
        command.env_remove(name);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cargo does not start: {e}"))?;
    let (mut passed, mut failed) = (0, 0);
    for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
        let line = line.map_err(|e| format!("cargo's output: {e}"))?;
        println!("{line}");
        if line.starts_with("test result: ") {
            passed += before(&line, " passed");
            failed += before(&line, " failed");
        }
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    Ok((passed, failed, status.success()))
}

/// The number in front of a word.
fn before(line: &str, word: &str) -> u64 {
    let head = line.split(word).next().unwrap_or_default();
    head.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::before;

    #[test]
    fn the_closing_line_is_read() {
        let line = "test result: ok. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!((before(line, " passed"), before(line, " failed")), (12, 3));
    }
}
