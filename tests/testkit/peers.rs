//! Peers from PyPI: an agent that speaks MCP by the official SDK, and the Standard Webhooks library.
//! `cargo xtask setup test` puts them into the target folder.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::Cli;

fn python(script: &str) -> Command {
    let test = std::env::current_exe().expect("a running program has a path");
    let folder = test.ancestors().nth(3).expect("tests run from target/PROFILE/deps").join("peers");
    assert!(folder.join("installed.txt").exists(), "the peers are missing: run `cargo xtask setup test` first");
    let here: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script);
    let mut command = Command::new("python3");
    command.arg(here).env("PYTHONPATH", folder).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// An agent at `countersign mcp`, by the official Python SDK. Ended when dropped.
pub struct Agent {
    child: Child,
    calls: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// What the server said of itself.
    pub hello: Value,
}

impl Agent {
    /// Starts the server as an MCP client does: a command, its arguments, and the token in its environment.
    pub fn start(cli: &Cli, source: &str, token: &str) -> Agent {
        let server = cli.command(&["mcp", "--source", source]);
        let text = |s: &std::ffi::OsStr| s.to_str().expect("plain text").to_owned();
        let start = json!({
            "command": text(server.get_program()),
            "args": server.get_args().map(text).collect::<Vec<_>>(),
            "env": { "COUNTERSIGN_TOKEN": token },
        });
        let mut child = python("mcp_client.py")
            .arg(start.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let calls = child.stdin.take();
        let mut answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let hello = line(&mut answers);
        Agent { child, calls, answers, hello }
    }

    fn say(&mut self, call: &Value) -> Value {
        let calls = self.calls.as_mut().expect("it is piped");
        writeln!(calls, "{call}").and_then(|()| calls.flush()).expect("the agent listens");
        line(&mut self.answers)
    }

    /// The tools as the server lists them.
    pub fn tools(&mut self) -> Value {
        self.say(&json!({}))["tools"].clone()
    }

    /// The whole result of a call, or `{"protocol_error": …}`.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.say(&json!({ "tool": tool, "arguments": arguments }))
    }

    /// The structured content of a call that must succeed.
    #[track_caller]
    pub fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].clone()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Its input ends, so it hangs up as a client does and the server ends by itself.
        drop(self.calls.take());
        let _ = self.child.wait();
    }
}

fn line(answers: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    answers.read_line(&mut line).expect("the agent can be read");
    serde_json::from_str(&line).unwrap_or_else(|e| panic!("the agent gave no JSON ({e}): {line}"))
}

/// The library's signature of a body: the value of `webhook-signature`.
pub fn sign(secret: &str, id: &str, at: u64, body: &str) -> String {
    let asked = json!({ "want": "sign", "secret": secret, "id": id, "at": at, "body": body });
    standard_webhooks(&asked).as_str().expect("a signature").to_owned()
}

/// Whether the library takes a request for signed, now.
pub fn verifies(secret: &str, headers: &[(String, String)], body: &str) -> bool {
    let headers: serde_json::Map<String, Value> = headers.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
    let asked = json!({ "want": "verify", "secret": secret, "headers": headers, "body": body });
    standard_webhooks(&asked).as_bool().expect("yes or no")
}

fn standard_webhooks(asked: &Value) -> Value {
    let mut child = python("signed.py").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(asked.to_string().as_bytes()).expect("it listens");
    drop(input);
    let out = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("no JSON ({e}): {out:?}"))
}
