//! A virtual display with a window manager.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::scratch::{self, Scratch};
use crate::wait;

/// An X server of the test's own, 1400 × 900 unless asked otherwise (a window of 1280 × 800 and its frame), with openbox for focus and decorations.
pub struct Display {
    dir: Scratch,
    name: String,
}

impl Display {
    pub fn start() -> Display {
        Display::sized(1400, 900)
    }

    pub fn sized(width: u32, height: u32) -> Display {
        let dir = Scratch::new(&["openbox", "xvfb"].map(scratch::stop_pid_file).concat());
        let log = |name: &str| fs::File::create(dir.join(name)).expect("a log file");
        let chosen = dir.join("display");
        // The X server picks a free number itself and writes it to the descriptor; 1 is its stdout.
        let xvfb = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", &format!("{width}x{height}x24")])
            .stdin(Stdio::null())
            .stdout(fs::File::create(&chosen).expect("a file for the number"))
            .stderr(log("xvfb.log"))
            .spawn()
            .expect("Xvfb is installed");
        keep(&dir, "xvfb", xvfb);
        let number = wait::until("Xvfb has a display number", || {
            let text = fs::read_to_string(&chosen).ok()?;
            text.ends_with('\n').then(|| text.trim().to_owned())
        });
        let name = format!(":{number}");
        let openbox = Command::new("openbox")
            .env("DISPLAY", &name)
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stdout(log("openbox.log"))
            .stderr(log("openbox.err"))
            .spawn()
            .expect("openbox is installed");
        keep(&dir, "openbox", openbox);
        let display = Display { dir, name };
        wait::until("openbox manages the display", || {
            let out = display.command("xdotool").arg("get_num_desktops").output().expect("xdotool is installed");
            out.status.success().then_some(())
        });
        display
    }

    /// `:N`, for DISPLAY.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command on this display.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("DISPLAY", &self.name).env_remove("WAYLAND_DISPLAY");
        command
    }

    /// The whole screen as a PNG file.
    pub fn screenshot(&self, file: &Path) {
        let done = self.command("import").args(["-silent", "-window", "root"]).arg(file).status();
        assert!(done.is_ok_and(|s| s.success()), "import takes no picture; is imagemagick installed?");
    }

    /// Types keys as a person would, in xdotool's words: `Tab`, `Return`, `ctrl+z`.
    pub fn keys(&self, keys: &[&str]) {
        let done = self.command("xdotool").args(["key", "--clearmodifiers"]).args(keys).status();
        assert!(done.is_ok_and(|s| s.success()), "xdotool types no keys");
    }

    /// Where the fixture's logs are.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn keep(dir: &Scratch, name: &str, mut child: std::process::Child) {
    scratch::note_pid(dir, name, &child);
    std::thread::spawn(move || child.wait());
}
