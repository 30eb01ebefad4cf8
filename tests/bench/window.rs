//! The real window: from its start to a stable picture, then idle CPU and memory. Ours has many actions in its ledger and
//! takes turns with a bare window of the same Tauri; mail programs stand beside it for the memory.
//!
//! Stable: the picture that then stays as it is for a second and a half.

use crate::fill;
use crate::process::{self, Memory};
use crate::stage::Secrets;
use crate::stats::{median, millis};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::{Display, Session};

const ROUNDS: usize = 5;
const STILL: Duration = Duration::from_millis(1_500);
/// How long a program is left alone before and while its idle CPU is taken.
const SETTLE: Duration = Duration::from_secs(3);
const IDLE: Duration = Duration::from_secs(10);
/// The page as drawn, with its list; before that the window is one colour.
const COLOURS_OF_A_DRAWN_PAGE: u32 = 3;
/// A mail program's first page may move for ever: it counts as started after so long.
const STARTED: Duration = Duration::from_secs(20);
/// Mail programs to compare the memory with, where they are installed.
const PEERS: [&str; 2] = ["thunderbird", "claws-mail"];

/// What one start of a program showed.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Milliseconds from its start to the picture that then stayed.
    stable: f64,
    /// CPU milliseconds until that was seen, of the whole tree.
    cpu: f64,
    memory: Memory,
    /// Share of one CPU while nobody does anything, in per cent.
    idle: f64,
}

pub async fn run(dir: &Path, count: i64, app: &str, bare: &str) -> anyhow::Result<()> {
    let session = Session::with_keyring();
    // The child shares the session's keychain, so that the window finds its secrets.
    let filled = session
        .command(&std::env::current_exe()?.to_string_lossy())
        .args(["fill".as_ref(), dir.as_os_str(), count.to_string().as_ref(), "keychain".as_ref()])
        .status()?;
    anyhow::ensure!(filled.success(), "filling ended with {filled}");
    let home = dir.join("home");
    let (mut ours, mut bares) = (Vec::new(), Vec::new());
    // One start of each before anything counts: both then come from the page cache.
    for round in 0..=ROUNDS {
        let mut bare_start = session.command(bare);
        let a = start(&mut bare_start, None)?;
        let mut own_start = session.command(app);
        own_start.env("COUNTERSIGN_HOME", &home);
        let b = start(&mut own_start, None)?;
        if round > 0 {
            bares.push(a);
            ours.push(b);
        }
    }
    let mid = |of: &[Seen], what: fn(&Seen) -> f64| median(&mut of.iter().map(what).collect::<Vec<_>>());
    let mut ratios: Vec<f64> = ours.iter().zip(&bares).map(|(o, b)| o.stable / b.stable).collect();
    println!(
        "window: stable after {:.0} ms with {count} actions, a bare Tauri window after {:.0} ms, ratio {:.2} (goal: at \
         most 1.5); CPU until then {:.0} and {:.0} ms",
        mid(&ours, |s| s.stable),
        mid(&bares, |s| s.stable),
        median(&mut ratios),
        mid(&ours, |s| s.cpu),
        mid(&bares, |s| s.cpu),
    );
    println!(
        "window idle: CPU {:.2} % (goal: under 0.5 %), the bare one {:.2} %",
        mid(&ours, |s| s.idle),
        mid(&bares, |s| s.idle)
    );
    let (shared, own) = (mid(&ours, |s| s.memory.shared), mid(&ours, |s| s.memory.own));
    println!(
        "window memory: {shared:.0} MiB PSS, {own:.0} of it anonymous; the bare one {:.0} and {:.0} MiB",
        mid(&bares, |s| s.memory.shared),
        mid(&bares, |s| s.memory.own)
    );
    for peer in PEERS {
        beside(&session, peer, shared, own)?;
    }
    Ok(())
}

/// Memory against a mail program with an empty profile.
fn beside(session: &Session, peer: &str, shared: f64, own: f64) -> anyhow::Result<()> {
    let mut command = session.command(peer);
    // Without an account they ask for one; that window is what is measured.
    let seen = match start(&mut command, Some(STARTED)) {
        Ok(seen) => seen,
        Err(why) if why.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) => {
            println!("window memory: {peer} is not installed here, so nothing is compared with it");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let goal = if peer == "thunderbird" { " (goal: at most 0.5)" } else { "" };
    println!(
        "window memory: {peer} {:.0} MiB PSS, {:.0} of it anonymous, idle CPU {:.2} %; ours over it {:.2} and {:.2}{goal}",
        seen.memory.shared,
        seen.memory.own,
        seen.idle,
        shared / seen.memory.shared,
        own / seen.memory.own
    );
    Ok(())
}

/// Fills in a process of its own.
pub async fn fill(dir: &Path, count: i64) -> anyhow::Result<()> {
    fill::home(dir, count, Secrets::Keychain).await
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let all = process::tree(self.0.id());
        let _ = Command::new("kill").args(all.iter().map(u32::to_string)).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// Starts a program on a display of its own. `settled`: it is not waited for a still picture, only so long.
fn start(command: &mut Command, settled: Option<Duration>) -> anyhow::Result<Seen> {
    let display = Display::start();
    command.env("DISPLAY", display.name()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = Ended(command.spawn()?);
    let pid = child.0.id();
    let (mut last, mut since) = (String::new(), began);
    match settled {
        Some(long) => sleep(long),
        None => testkit::wait::until("the picture stays as it is", || {
            let now = Instant::now();
            assert!(child.0.try_wait().is_ok_and(|ended| ended.is_none()), "the program ended");
            let (picture, colours) = look(&display).expect("a picture of the display");
            if picture != last || colours < COLOURS_OF_A_DRAWN_PAGE {
                (last, since) = (picture, now);
            }
            (now - since >= STILL).then_some(())
        }),
    }
    let cpu = process::cpu_millis(pid);
    sleep(SETTLE);
    let (before, idle_from) = (process::cpu_millis(pid), Instant::now());
    sleep(IDLE);
    let idle = 100.0 * (process::cpu_millis(pid) - before) / millis(idle_from.elapsed());
    anyhow::ensure!(child.0.try_wait()?.is_none(), "the program ended");
    Ok(Seen { stable: millis(since - began), cpu, memory: process::memory(pid), idle })
}

/// The picture's signature and how many colours it has.
fn look(display: &Display) -> anyhow::Result<(String, u32)> {
    let out = display.command("import").args(["-silent", "-window", "root", "-format", "%# %k", "info:"]).output()?;
    anyhow::ensure!(out.status.success(), "no picture: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8_lossy(&out.stdout);
    let (signature, colours) = text.trim().split_once(' ').unwrap_or((text.trim(), "0"));
    Ok((signature.to_owned(), colours.parse().unwrap_or(0)))
}
