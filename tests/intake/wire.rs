//! `countersign serve` on a home of the test's own, and a client that says exactly what it is told to.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use testkit::cli::Running;
use testkit::{Cli, Scratch};

pub const ROBIN: &str = "robin@customer.example";

pub struct Door {
    pub cli: Cli,
    pub port: u16,
    pub token: String,
    _serving: Running,
    _scratch: Scratch,
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    fn read(stream: &mut TcpStream) -> Reply {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("no JSON ({e}): {}", self.body))
    }
    #[track_caller]
    pub fn error(&self) -> Value {
        self.json()["error"].clone()
    }
    #[track_caller]
    pub fn expect(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "another status: {}", self.body);
        self
    }
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (n, value) = line.split_once(':')?;
            n.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

impl Door {
    /// A home with the sandbox environment, the source `bot`, and `serve` on a port of its own.
    pub fn open() -> Door {
        Door::serving(&[])
    }

    /// The same, with a watched folder.
    pub fn watching(dir: &str) -> Door {
        Door::serving(&["--watch", dir])
    }

    fn serving(more: &[&str]) -> Door {
        let scratch = Scratch::new("");
        let secrets = format!("file:{}", scratch.join("secrets").display());
        let cli = Cli::new(scratch.join("home")).with_args(&["--secrets", &secrets]).with_passphrase("correct horse");
        cli.ok(&["init", "--owner", "Noor", "--sandbox"]);
        let token = add_source(&cli, "bot", &[])["token"].as_str().expect("a token").to_owned();
        let mut serving = cli.spawn(&[&["serve"], more].concat());
        let port = serving.listening();
        Door { cli, port, token, _serving: serving, _scratch: scratch }
    }

    /// Stops the program and starts it again on a port of its own.
    pub fn restart(self) -> Door {
        let Door { cli, token, _serving, _scratch, .. } = self;
        assert_eq!(_serving.stop().0, 0, "it ends in order");
        let mut serving = cli.spawn(&["serve"]);
        let port = serving.listening();
        Door { cli, port, token, _serving: serving, _scratch }
    }

    pub fn source(&self, name: &str, more: &[&str]) -> Value {
        add_source(&self.cli, name, more)
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A request with exactly these headers, beside Content-Length and Connection.
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let length = body.len();
        self.announced(method, path, headers, body, length)
    }

    pub fn announced(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8], length: usize) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the door is open");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        let mut head = format!("{method} {path} HTTP/1.1\r\nContent-Length: {length}\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("it reads the head");
        // A door that has already refused need not read the body.
        let _ = stream.write_all(body);
        Reply::read(&mut stream)
    }

    /// A body of so many pieces, which nobody announced the length of. What the door says while they still come counts.
    pub fn chunked(&self, path: &str, headers: &[(&str, &str)], piece: &[u8], pieces: usize) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the door is open");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        let mut head = format!("POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("it reads the head");
        let mut writing = stream.try_clone().expect("a second handle");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let piece = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
                // It may hang up in the middle, once it has refused.
                let whole = (0..pieces).all(|_| writing.write_all(&piece).is_ok());
                let _ = writing.write_all(if whole { b"0\r\n\r\n" } else { b"" });
            });
            Reply::read(&mut stream)
        })
    }

    pub fn get(&self, path: &str) -> Reply {
        self.as_source(&self.token, "GET", path, &[], b"")
    }

    pub fn post(&self, document: &Value) -> Reply {
        self.post_text(document.to_string().as_bytes(), &[])
    }

    pub fn post_text(&self, body: &[u8], more: &[(&str, &str)]) -> Reply {
        self.as_source(&self.token, "POST", "/v1/proposals", more, body)
    }

    pub fn as_source(&self, token: &str, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> Reply {
        let (host, bearer) = (self.host(), format!("Bearer {token}"));
        let mut headers = vec![("Host", host.as_str()), ("Authorization", bearer.as_str())];
        headers.extend(more);
        self.raw(method, path, &headers, body)
    }

    /// How many journal rows there are: what no question may change.
    pub fn seq(&self) -> i64 {
        self.cli.ok(&["verify"])["seq"].as_i64().expect("a number")
    }
}

fn add_source(cli: &Cli, name: &str, more: &[&str]) -> Value {
    let add = ["source", "add", name, "--environment", "sandbox", "--effects", "email.send,email.reply"];
    let args: Vec<&str> = add.iter().chain(&["--destinations", "sandbox-mailbox"]).chain(more).copied().collect();
    cli.ok(&args)
}

pub fn email(event: &str, request: &str) -> Value {
    json!({
        "event_id": event,
        "request_id": request,
        "source_version": 3,
        "actions": [{
            "step": "first-reply",
            "effect": "email.send",
            "destination": "sandbox-mailbox",
            "payload": {
                "from": { "email": "support@shop.example" },
                "to": [{ "name": "Robin Vale", "email": ROBIN }],
                "subject": "Delivery slot",
                "text": "Of course: your slot is moved."
            }
        }]
    })
}

#[track_caller]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text is expected, not {value}"))
}
