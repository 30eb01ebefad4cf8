//! `cargo xtask app`: from a clone to a running window.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::keeper::{self, Keeper};
use crate::sh::{self, ROOT, TARGET, cargo, say};
use crate::{packages, page, setup};

/// How long the window may take to its first painted frame. A cold, busy machine needs most of it.
const FIRST_PAINT: Duration = Duration::from_secs(120);
/// How long the screen must not have changed before its picture is taken.
const STILL: Duration = Duration::from_millis(1500);
/// What the window says on stderr once its page is on the screen.
const READY: &str = "window ready";

pub fn run() -> Result<(), String> {
    let display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    let node = setup(if display { packages::Needs::App } else { packages::Needs::Headless })?;
    page::build(&node)?;
    sh::run("build", cargo().args(["build", "--workspace"]))?;
    if display { windowed() } else { headless() }
}

pub(crate) fn program(name: &str) -> PathBuf {
    TARGET.join("debug").join(name)
}

/// On a real display: a home of its own under target/, so that trying it out touches nothing of the person's.
fn windowed() -> Result<(), String> {
    let home = TARGET.join("app-home");
    say(&format!("Countersign starts. Its home is {} (remove it to start over).", home.display()));
    let status = Command::new(program("countersign-app")).env("COUNTERSIGN_HOME", &home).status();
    let status = status.map_err(|e| format!("the window does not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("the window ended with {status}")) }
}

/// Without one: a virtual display, a session bus and a keychain, the sandbox, a picture, and the demo.
fn headless() -> Result<(), String> {
    say("No display here: the window runs in a virtual one, on the sandbox, for one picture. Then the demo runs.");
    let desk = Desk::start()?;
    let countersign = program("countersign");
    let home = desk.home();

    let mut window = desk.command(&program("countersign-app"));
    let mut window = window
        .args(["--try-as", "Noor Brackley"])
        .env("COUNTERSIGN_HOME", &home)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("the window does not start: {e}"))?;
    let shown = first_paint(&mut window).and_then(|took| {
        println!("   first paint after {:.1} s", took.as_secs_f64());
        desk.picture(&TARGET.join("app.png"))
    });
    let _ = window.kill();
    let _ = window.wait();
    shown?;

    sh::run("the demo: the whole job on the sandbox", desk.command(&countersign).arg("demo").current_dir(&*ROOT))?;
    say("Done. There was no display, so this is what happened instead of a window on your screen:");
    println!("   the window ran in a virtual display on the sandbox: {}", TARGET.join("app.png").display());
    println!("   `countersign demo` ran the whole story, and every expectation held.");
    Ok(())
}

/// Waits for the window's own word that its page is painted.
pub(crate) fn first_paint(window: &mut Child) -> Result<Duration, String> {
    let start = Instant::now();
    let stderr = BufReader::new(window.stderr.take().expect("it is piped"));
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        // Read on after the word, or the window would stop at a full pipe.
        for line in stderr.lines().map_while(Result::ok) {
            if line.contains(READY) {
                let _ = tell.send(());
            } else {
                eprintln!("   window: {line}");
            }
        }
    });
    match told.recv_timeout(FIRST_PAINT) {
        Ok(()) => Ok(start.elapsed()),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(format!("the window painted nothing in {} s", FIRST_PAINT.as_secs()))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err(format!("the window ended before it painted: {:?}", window.wait()))
        }
    }
}

/// A virtual desktop: X server, window manager, session bus and an unlocked keychain, all gone with this value.
pub(crate) struct Desk {
    folder: PathBuf,
    display: String,
    _keeper: Keeper,
}

impl Desk {
    pub(crate) fn start() -> Result<Desk, String> {
        let folder = keeper::folder("app")?;
        let keeper = Keeper::new(&folder, "for f in \"$D\"/*.pid; do kill $(cat \"$f\"); done; sleep 0.3")?;
        for name in ["home", "run"] {
            let make = Command::new("mkdir").args(["-m", "700"]).arg(folder.join(name)).status();
            make.map_err(|e| format!("mkdir: {e}"))?;
        }
        let mut desk = Desk { folder, display: String::new(), _keeper: keeper };
        let number = desk.folder.join("display");
        let chosen = fs::File::create(&number).map_err(|e| format!("{}: {e}", number.display()))?;
        let mut xvfb = Command::new("Xvfb");
        xvfb.args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"]).stdout(chosen);
        desk.keep("xvfb", xvfb, None)?;
        desk.display =
            until("the virtual display", || fs::read_to_string(&number).ok().filter(|text| text.ends_with('\n')))?;
        desk.display = format!(":{}", desk.display.trim());
        let bus = format!("--address=unix:path={}/bus", desk.folder.display());
        let mut dbus = Command::new("dbus-daemon");
        dbus.args(["--session", "--nofork", "--nopidfile", &bus]).stdout(Stdio::null());
        desk.keep("dbus", dbus, None)?;
        until("the session bus", || desk.folder.join("bus").exists().then_some(()))?;
        let mut wm = desk.command(Path::new("openbox"));
        wm.stdout(Stdio::null());
        desk.keep("openbox", wm, None)?;
        let mut keyring = desk.command(Path::new("gnome-keyring-daemon"));
        keyring.args(["--foreground", "--unlock", "--components=secrets"]).stdout(Stdio::null());
        desk.keep("keyring", keyring, Some("xtask"))?;
        until("the keychain", || {
            let mut ask = desk.command(Path::new("dbus-send"));
            ask.args([
                "--print-reply",
                "--dest=org.freedesktop.DBus",
                "/org/freedesktop/DBus",
                "org.freedesktop.DBus.NameHasOwner",
            ]);
            sh::output(ask.arg("string:org.freedesktop.secrets")).filter(|text| text.contains("boolean true"))
        })?;
        Ok(desk)
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let home = self.folder.join("home");
        command
            .env("DISPLAY", &self.display)
            .env_remove("WAYLAND_DISPLAY")
            .env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}/bus", self.folder.display()))
            .env("XDG_RUNTIME_DIR", self.folder.join("run"))
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("HOME", home)
            .env("NO_AT_BRIDGE", "1");
        command
    }

    /// Where a home of the window can be made.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home/countersign")
    }

    /// Types keys, in xdotool's words.
    pub(crate) fn keys(&self, keys: &[&str]) -> Result<(), String> {
        if keys.is_empty() {
            return Ok(());
        }
        let done = self.command(Path::new("xdotool")).arg("key").args(keys).status();
        done.ok().filter(|status| status.success()).map(drop).ok_or_else(|| "xdotool types no keys".to_owned())
    }

    fn keep(&self, name: &str, mut command: Command, input: Option<&str>) -> Result<(), String> {
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child =
            command.stdin(stdin).stderr(Stdio::null()).spawn().map_err(|e| format!("{name} does not start: {e}"))?;
        sh::write(&self.folder.join(format!("{name}.pid")), child.id().to_string())?;
        if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
            std::io::Write::write_all(&mut stdin, text.as_bytes()).map_err(|e| format!("{name}: {e}"))?;
        }
        std::thread::spawn(move || child.wait());
        Ok(())
    }

    /// A picture once nothing on the screen moves any more: the first frame is painted before the lists are read.
    pub(crate) fn picture(&self, file: &Path) -> Result<(), String> {
        let (mut last, mut since) = (String::new(), Instant::now());
        until("a picture that stands still", || {
            let done =
                self.command(Path::new("import")).args(["-silent", "-window", "root"]).arg(file).status().ok()?;
            let mut identify = self.command(Path::new("identify"));
            let pixels = sh::output(identify.args(["-format", "%#"]).arg(file)).filter(|_| done.success())?;
            if pixels != last {
                (last, since) = (pixels, Instant::now());
            }
            (since.elapsed() > STILL).then_some(())
        })
    }
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() >= end {
            return Err(format!("waited a minute in vain for {what}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
