//! Start to a stable picture: ours with many actions in the ledger, and a bare window of the same Tauri, in turn.
//!
//! Stable: the picture that then stays as it is for a second and a half.

use crate::fill;
use crate::stage::Secrets;
use crate::stats::median;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{Display, Session};

const ROUNDS: usize = 5;
const STILL: Duration = Duration::from_millis(1_500);
/// The page as drawn, with its list; before that the window is one colour.
const COLOURS_OF_A_DRAWN_PAGE: u32 = 3;

pub async fn run(dir: &Path, count: i64, app: &str, bare: &str) -> anyhow::Result<()> {
    let session = Session::with_keyring();
    println!("window: filling a ledger with {count} actions");
    // The child shares the session's keychain, so that the window finds its secrets.
    let filled = session
        .command(&std::env::current_exe()?.to_string_lossy())
        .args(["fill".as_ref(), dir.as_os_str(), count.to_string().as_ref(), "keychain".as_ref()])
        .status()?;
    anyhow::ensure!(filled.success(), "filling ended with {filled}");
    let home = dir.join("home");
    let (mut ours, mut bares, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // One start of each before anything counts: both then come from the page cache.
    for round in 0..=ROUNDS {
        let mut bare_start = session.command(bare);
        let a = start(&mut bare_start)?;
        let mut own_start = session.command(app);
        own_start.env("COUNTERSIGN_HOME", &home);
        let b = start(&mut own_start)?;
        if round > 0 {
            bares.push(a);
            ours.push(b);
            ratios.push(b / a);
        }
    }
    println!(
        "window: stable after {:.0} ms with {count} actions, a bare Tauri window after {:.0} ms, ratio {:.2} (goal: at \
         most 1.5)",
        median(&mut ours),
        median(&mut bares),
        median(&mut ratios)
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
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// Milliseconds from the start of the program to the picture that then stayed.
fn start(command: &mut Command) -> anyhow::Result<f64> {
    let display = Display::start();
    command.env("DISPLAY", display.name()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = Ended(command.spawn()?);
    let (mut last, mut since) = (String::new(), began);
    testkit::wait::until("the picture stays as it is", || {
        let now = Instant::now();
        assert!(child.0.try_wait().is_ok_and(|ended| ended.is_none()), "the program ended");
        let (picture, colours) = look(&display).expect("a picture of the display");
        if picture != last || colours < COLOURS_OF_A_DRAWN_PAGE {
            (last, since) = (picture, now);
        }
        (now - since >= STILL).then_some(())
    });
    Ok(crate::stats::millis(since - began))
}

/// The picture's signature and how many colours it has.
fn look(display: &Display) -> anyhow::Result<(String, u32)> {
    let out = display.command("import").args(["-silent", "-window", "root", "-format", "%# %k", "info:"]).output()?;
    anyhow::ensure!(out.status.success(), "no picture: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8_lossy(&out.stdout);
    let (signature, colours) = text.trim().split_once(' ').unwrap_or((text.trim(), "0"));
    Ok((signature.to_owned(), colours.parse().unwrap_or(0)))
}
