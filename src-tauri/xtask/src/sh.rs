//! Running programs, and saying so.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};

/// How often a command that runs is said to run still.
const STILL: Duration = Duration::from_secs(60);

/// The repository's root: two folders above this package.
pub static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    // Set by `cargo run`, so a clone that was moved after the build is found as well.
    let here =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.ancestors().nth(2).expect("xtask lives in src-tauri/xtask").to_owned()
});

/// Cargo's target folder: the one this program was built in.
pub static TARGET: LazyLock<PathBuf> = LazyLock::new(|| {
    let me = std::env::current_exe().expect("a running program has a path");
    me.ancestors().nth(2).expect("it lies in target/PROFILE").to_owned()
});

/// A headline, so that a long log can be read.
pub fn say(what: &str) {
    println!("\n== {what}");
}

/// `cargo`, the one that runs us, in the repository.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&*ROOT);
    // Of our own `cargo run`; they would make the inner cargo rebuild.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        cargo.env_remove(name);
    }
    cargo
}

/// Runs to the end with its output in ours, and fails with the command line if it fails. Says every minute that it still
/// runs, since many a program is silent until it is done.
pub fn run(what: &str, command: &mut Command) -> Result<(), String> {
    say(&format!("{what}: {}", line(command)));
    let start = Instant::now();
    let (done, ended) = mpsc::channel::<()>();
    let name = what.to_owned();
    let clock = std::thread::spawn(move || {
        while ended.recv_timeout(STILL) == Err(mpsc::RecvTimeoutError::Timeout) {
            println!("   {name} still runs, {:.0} s", start.elapsed().as_secs_f64());
        }
    });
    let status = command.stdin(Stdio::null()).status();
    drop(done);
    // It prints and nothing else: whether it panicked changes nothing.
    let _ = clock.join();
    let status = status.map_err(|e| format!("{} does not start: {e}", line(command)))?;
    println!("   {:.1} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("{what} failed ({status}): {}", line(command))) }
}

/// The same, said beforehand how long it takes on two cores when nothing is built yet: much of it passes in silence.
pub fn run_long(what: &str, about: &str, command: &mut Command) -> Result<(), String> {
    run(&format!("{what} (about {about} the first time)"), command)
}

/// The same for a command that says too much: its output goes to a file in the target folder, and is shown if it fails.
pub fn run_quiet(what: &str, command: &mut Command) -> Result<(), String> {
    let log = TARGET.join("quiet.log");
    let file = std::fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    command.stderr(file.try_clone().map_err(|e| format!("{}: {e}", log.display()))?).stdout(file);
    run(what, command).map_err(|why| format!("{why}\n{}", std::fs::read_to_string(&log).unwrap_or_default()))
}

/// What a command prints, when it succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// Whether a program is on the PATH or in the folders for administrators' programs.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|dir| dir.join(program)).find(|file| file.is_file())
}

pub fn is_root() -> bool {
    output(Command::new("id").arg("-u")).as_deref() == Some("0")
}

/// A command as root: as it is for root, through sudo for others.
pub fn as_root(program: impl AsRef<OsStr>) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut sudo = Command::new("sudo");
    sudo.arg(program);
    sudo
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
    }
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn line(command: &Command) -> String {
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    let line = words.join(" ");
    if line.len() > 160 { format!("{} …", line.chars().take(160).collect::<String>()) } else { line }
}
