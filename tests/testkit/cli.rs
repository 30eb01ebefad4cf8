//! The built command line, run as an outsider would.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::session::Env;

/// `countersign` with a home and whatever every call shares.
#[derive(Clone)]
pub struct Cli {
    program: PathBuf,
    home: PathBuf,
    env: Env,
    passphrase: Option<String>,
    args: Vec<OsString>,
}

/// What one call answered.
#[derive(Debug)]
pub struct Answer {
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// The JSON document on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON on stdout ({e}): {self:?}"))
    }

    /// The error document on stderr: `{"code", "message", …}`. Log lines before it are passed over.
    pub fn error(&self) -> Value {
        let found = self.stderr.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        found.unwrap_or_else(|| panic!("no error document on stderr: {self:?}"))["error"].clone()
    }

    /// Asserts the exit code and hands the answer on.
    #[track_caller]
    pub fn expect(self, code: i32) -> Answer {
        assert_eq!(self.code, code, "the exit code is another: {self:?}");
        self
    }
}

/// The path of a program built by `cargo build --workspace`, beside the running test.
///
/// # Panics
/// When it was not built: `cargo test` alone does not build another package's programs.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a path");
    // target/debug/deps/test-0123 -> target/debug/NAME
    let program = test.parent().and_then(Path::parent).expect("tests run from target/PROFILE/deps").join(name);
    assert!(program.exists(), "{} is missing: run `cargo build --workspace` first", program.display());
    program
}

impl Cli {
    pub fn new(home: impl Into<PathBuf>) -> Cli {
        let args = vec!["--json".into()];
        Cli { program: built("countersign"), home: home.into(), env: Env::new(), passphrase: None, args }
    }

    /// Variables for every call, for example [`crate::Session::env`].
    pub fn with_env(mut self, env: Env) -> Cli {
        self.env.extend(env);
        self
    }

    /// Options for every call.
    pub fn with_args<S: AsRef<OsStr>>(mut self, args: &[S]) -> Cli {
        self.args.extend(args.iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Hands every call this passphrase by descriptor.
    pub fn with_passphrase(mut self, words: &str) -> Cli {
        self.passphrase = Some(words.to_owned());
        self
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The command as it will run, before anything is piped.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.command_with(args, &[])
    }

    /// Runs to the end.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Answer {
        self.run_with(args, b"", &[])
    }

    /// Runs with a document on stdin (`propose -`).
    pub fn run_input<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Answer {
        self.run_with(args, input, &[])
    }

    /// Runs with secrets on descriptors: `("--secret-fd", "password")`.
    pub fn run_secret<S: AsRef<OsStr>>(&self, args: &[S], option: &str, secret: &str) -> Answer {
        self.run_with(args, b"", &[(option, secret)])
    }

    /// Runs and expects success: the JSON document.
    #[track_caller]
    pub fn ok<S: AsRef<OsStr>>(&self, args: &[S]) -> Value {
        self.run(args).expect(0).json()
    }

    /// Starts a long-running command (`serve`, `dispatch`). It is killed when the handle goes.
    pub fn spawn<S: AsRef<OsStr>>(&self, args: &[S]) -> Running {
        let mut command = self.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("countersign starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        // A full pipe would stop the program under test.
        let mut stderr = child.stderr.take().expect("it is piped");
        let log = std::thread::spawn(move || std::io::read_to_string(&mut stderr).unwrap_or_default());
        Running { child, lines, log: Some(log) }
    }

    fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8], secrets: &[(&str, &str)]) -> Answer {
        let mut command = self.command_with(args, secrets);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("countersign starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A program that refuses its arguments need not read its input.
        let _ = stdin.write_all(input);
        drop(stdin);
        let out = child.wait_with_output().expect("countersign ends");
        Answer {
            code: out.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }

    fn command_with<S: AsRef<OsStr>>(&self, args: &[S], secrets: &[(&str, &str)]) -> Command {
        // The shell opens a descriptor per secret from a here-document and then becomes the program, so that a kill hits
        // the right process. A program that inherits any other descriptor cannot be started by std without unsafe code.
        let mut given: Vec<(&str, &str)> =
            self.passphrase.iter().map(|words| ("--passphrase-fd", words.as_str())).collect();
        given.extend(secrets);
        let mut opens = String::new();
        let mut options = Vec::<OsString>::new();
        for (n, (option, secret)) in given.iter().enumerate() {
            let fd = n + 3;
            opens.push_str(&format!("exec {fd}<<'SECRET{n}'\n{secret}\nSECRET{n}\n"));
            options.extend([OsString::from(option), fd.to_string().into()]);
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{opens}exec \"$@\"")).arg("sh").arg(&self.program).arg("--home").arg(&self.home);
        command.args(&self.args).args(args.iter().map(AsRef::as_ref)).args(options);
        command.env_remove("COUNTERSIGN_HOME").env_remove("COUNTERSIGN_SECRETS").env_remove("COUNTERSIGN_TOKEN");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A running `countersign`.
pub struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    log: Option<std::thread::JoinHandle<String>>,
}

impl Running {
    /// The next line of stdout; blocks until it comes. None when the program has closed it.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).expect("stdout can be read");
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The port of `serve`, from its first line.
    pub fn listening(&mut self) -> u16 {
        let line = self.line().expect("serve says where it listens");
        let doc: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
        let address = doc["listening"].as_str().expect("it names an address");
        address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("it names a port")
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: no destructor, no last word.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, then the exit code (-1 when the signal itself ended it) and what it wrote to stderr.
    pub fn stop(mut self) -> (i32, String) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        self.finish()
    }

    /// Waits for its own end.
    pub fn wait(mut self) -> (i32, String) {
        self.finish()
    }

    fn finish(&mut self) -> (i32, String) {
        let code = self.child.wait().expect("it ends").code().unwrap_or(-1);
        let log = self.log.take().map(|log| log.join().unwrap_or_default()).unwrap_or_default();
        (code, log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
