//! A desktop session of the test's own: D-Bus, a keychain, a notification daemon, an empty HOME.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::scratch::{self, Scratch};
use crate::{Display, wait};

/// Environment variables for a child process.
pub type Env = Vec<(OsString, OsString)>;

/// A private session bus, with HOME and XDG folders inside a scratch folder. Services join it as asked for.
pub struct Session {
    dir: Scratch,
    display: Option<OsString>,
}

impl Session {
    /// A bus and nothing on it: no keychain, no notifications.
    pub fn start() -> Session {
        let stop = ["dunst", "keyring", "bus"].map(scratch::stop_pid_file).concat();
        let dir = Scratch::new(&stop);
        for folder in ["home", "run"] {
            fs::create_dir(dir.join(folder)).expect("a folder for the session");
            fs::set_permissions(dir.join(folder), fs::Permissions::from_mode(0o700)).expect("it is ours");
        }
        let session = Session { dir, display: None };
        let mut bus = Command::new("dbus-daemon");
        bus.arg("--session")
            .arg("--nofork")
            .arg("--nopidfile")
            .arg("--address")
            .arg(format!("unix:path={}", session.bus().display()));
        session.spawn("bus", &mut bus, b"");
        wait::until("the session bus listens", || session.bus().exists().then_some(()));
        session
    }

    /// The same with a keychain, unlocked: gnome-keyring, the real Secret Service.
    pub fn with_keyring() -> Session {
        let session = Session::start();
        session.start_keyring();
        session
    }

    /// Starts the keychain on a session without one.
    pub fn start_keyring(&self) {
        let mut daemon = Command::new("gnome-keyring-daemon");
        daemon.args(["--foreground", "--unlock", "--components=secrets"]);
        self.spawn("keyring", &mut daemon, b"test");
        self.until_owned("org.freedesktop.secrets");
    }

    /// Starts dunst, which shows and remembers notifications.
    pub fn start_dunst(&mut self, display: &Display) {
        self.display = Some(display.name().into());
        let mut daemon = Command::new("dunst");
        // dunst has no history of what is still shown: a short time-out moves bubbles there.
        let conf = self.dir.write("dunstrc", "[global]\n    history_length = 100\n    idle_threshold = 0\n[urgency_low]\n    timeout = 1\n[urgency_normal]\n    timeout = 1\n[urgency_critical]\n    timeout = 1\n");
        daemon.arg("-conf").arg(conf);
        self.spawn("dunst", &mut daemon, b"");
        self.until_owned("org.freedesktop.Notifications");
    }

    /// What dunst has shown and put away: `(summary, body)`, newest first.
    pub fn notifications(&self) -> Vec<(String, String)> {
        let out = self.command("dunstctl").arg("history").output().expect("dunstctl is installed");
        let doc: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        let items = doc["data"][0].as_array().cloned().unwrap_or_default();
        let text = |item: &serde_json::Value, name: &str| item[name]["data"].as_str().unwrap_or_default().to_owned();
        items.iter().map(|item| (text(item, "summary"), text(item, "body"))).collect()
    }

    /// What a child process needs in order to live in this session; everything of the outer session is hidden from it.
    pub fn env(&self) -> Env {
        let mut env: Env = vec![
            ("DBUS_SESSION_BUS_ADDRESS".into(), format!("unix:path={}", self.bus().display()).into()),
            ("HOME".into(), self.home().into()),
            ("XDG_RUNTIME_DIR".into(), self.dir.join("run").into()),
            ("XDG_CONFIG_HOME".into(), self.home().join(".config").into()),
            ("XDG_DATA_HOME".into(), self.home().join(".local/share").into()),
            ("XDG_CACHE_HOME".into(), self.home().join(".cache").into()),
            ("WAYLAND_DISPLAY".into(), "".into()),
            ("GNOME_KEYRING_CONTROL".into(), "".into()),
            ("NO_AT_BRIDGE".into(), "1".into()),
        ];
        if let Some(display) = &self.display {
            env.push(("DISPLAY".into(), display.clone()));
        }
        env
    }

    /// A command inside this session.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.envs(self.env());
        command
    }

    /// The empty HOME.
    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    fn bus(&self) -> PathBuf {
        self.dir.join("bus")
    }

    fn spawn(&self, name: &str, command: &mut Command, input: &[u8]) {
        let log = fs::File::create(self.dir.join(&format!("{name}.log"))).expect("a log file");
        command.envs(self.env()).stdin(Stdio::piped()).stdout(log.try_clone().expect("a second handle")).stderr(log);
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{:?} does not start: {e}", command.get_program()));
        scratch::note_pid(&self.dir, name, &child);
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input).expect("it reads its input");
        // The keeper ends it; somebody must still collect it while the test runs.
        std::thread::spawn(move || child.wait());
    }

    fn until_owned(&self, name: &str) {
        wait::until(&format!("{name} is on the bus"), || {
            let mut ask = self.command("dbus-send");
            ask.args([
                "--print-reply",
                "--dest=org.freedesktop.DBus",
                "/org/freedesktop/DBus",
                "org.freedesktop.DBus.NameHasOwner",
            ]);
            let out = ask.arg(format!("string:{name}")).output().expect("dbus-send is installed");
            String::from_utf8_lossy(&out.stdout).contains("boolean true").then_some(())
        });
    }
}
