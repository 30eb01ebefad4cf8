//! What assistive technology is told: the accessibility tree of the real window, and what its live regions bring.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};
use testkit::session::Env;
use testkit::{Cli, Display, Scratch, Session, Window, wait};

use crate::story::{ARMED, state, tab_to, until_state};

/// Roles that something a person can work with may have, in AT-SPI's words.
const WORKED_WITH: &[&str] = &[
    "push button",
    "toggle button",
    "check box",
    "radio button",
    "link",
    "entry",
    "text",
    "password text",
    "combo box",
    "list box",
    "list item",
    "menu item",
    "radio menu item",
    "page tab",
    "spin button",
    "slider",
    // A heading to which the focus goes when something else is shown, and what scrolls.
    "heading",
    "panel",
    "table row",
    "switch",
];
/// The window itself and its document: their name is the page's title, the scrolling area between them has none.
const AROUND: &[&str] = &["application", "frame", "scroll pane", "document web"];

/// Debian's own interpreter, which has the library of the same package manager.
fn python(session: &Session, what: &str) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/spoken.py");
    let mut command = session.command("/usr/bin/python3");
    command.arg(script).args([what, "countersign-app"]).env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

fn tree(session: &Session) -> Vec<Value> {
    let out = python(session, "walk").output().expect("Debian's python3 with python3-gi and gir1.2-atspi-2.0");
    assert!(out.status.success(), "{out:?}");
    serde_json::from_slice(&out.stdout).expect("one document")
}

fn text<'a>(node: &'a Value, member: &str) -> &'a str {
    node[member].as_str().unwrap_or_default()
}

/// Everything that takes the focus has a name and a role that says how to work with it.
fn complete(session: &Session, screen: &str) -> Vec<Value> {
    let all = wait::until("the window is in the accessibility tree", || {
        let all = tree(session);
        all.iter().any(|node| text(node, "role") == "document web").then_some(all)
    });
    let worked: Vec<&Value> =
        all.iter().filter(|n| n["focusable"] == true && !AROUND.contains(&text(n, "role"))).collect();
    assert!(worked.len() > 12, "{screen} has {} things to work with", worked.len());
    let bad: Vec<String> = worked
        .iter()
        .filter(|node| text(node, "name").trim().is_empty() || !WORKED_WITH.contains(&text(node, "role")))
        .map(|node| format!("{} {:?} {:?}", text(node, "role"), text(node, "name"), text(node, "text")))
        .collect();
    assert!(bad.is_empty(), "{screen}: no name, or a role that says nothing: {bad:#?}");
    all
}

fn named<'a>(all: &'a [Value], role: &str, name: &str) -> &'a Value {
    let found = all.iter().find(|node| text(node, "role") == role && text(node, "name").starts_with(name));
    found.unwrap_or_else(|| {
        panic!(
            "no {role} {name:?} in {:#?}",
            all.iter().map(|n| (text(n, "role"), text(n, "name"))).collect::<Vec<_>>()
        )
    })
}

/// What the live regions of a window bring, from now on.
struct Ears {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Ears {
    fn open(session: &Session) -> Ears {
        let mut child = python(session, "listen").stdout(Stdio::piped()).spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let ears = Ears { child, lines };
        assert_eq!(ears.line().as_deref(), Some("ready"));
        ears
    }

    fn line(&self) -> Option<String> {
        self.lines.recv_timeout(wait::PATIENCE).ok()
    }

    /// Listens until a region brings the words, and tells how urgently it did.
    fn until(&self, words: &str) -> String {
        let mut heard = Vec::new();
        loop {
            let line = self.line().unwrap_or_else(|| panic!("{words:?} was never said; heard {heard:#?}"));
            let event: Value = serde_json::from_str(&line).expect("one line of JSON");
            if text(&event, "text").contains(words) {
                return text(&event, "live").to_owned();
            }
            heard.push(event);
        }
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r41_the_accessibility_tree_names_everything_and_live_regions_tell_of_each_change() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    // Other tests keep the bridge out of their windows; this one is about it.
    let bridged: Env = vec![("NO_AT_BRIDGE".into(), "0".into())];
    let window = Window::open_in(Session::with_keyring(), Display::start(), &home, bridged).await;
    let cli = Cli::new(&home).with_env(window.session().env());
    window.until("first run is shown", "document.querySelector('[data-do=sandbox]') !== null").await;
    tab_to(&window, "input").await;
    window.type_text("Noor Brackley").await;
    tab_to(&window, "[data-do=sandbox]").await;
    window.press(&["Enter"]).await;
    window.until("what is shown can be approved", ARMED).await;

    let all = complete(window.session(), "Awaiting");
    let approve = named(&all, "push button", "Approve and send");
    assert_eq!((&approve["focusable"], &approve["enabled"]), (&json!(true), &json!(true)), "{approve:#}");
    // The fingerprint stands in the same bar, as the digits that are compared.
    let bar = all.iter().position(|node| text(node, "name") == "Approval").expect("the bar is named");
    let deep = all[bar]["depth"].as_u64();
    let inside = all[bar + 1..].iter().take_while(|node| node["depth"].as_u64() > deep);
    let said: Vec<&str> = inside.map(|node| text(node, "text")).collect();
    let digits = window.eval("document.querySelector('footer .mono').textContent").await;
    let digits = digits.as_str().expect("the digits").to_owned();
    let first = cli.ok(&["list", "--state", "prepared"]);
    let hashes: Vec<String> = first["actions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| cli.ok(&["show", text(row, "id")])["payload_hash"].as_str().expect("a hash")[..8].to_uppercase())
        .collect();
    assert!(hashes.contains(&digits.replace(' ', "")), "{digits} is none of {hashes:?}");
    assert!(said.iter().any(|words| words.contains(&digits)), "{digits} is not in {said:?}");
    for (role, name) in [
        ("list box", "Requests"),
        ("landmark", "Customer’s message"),
        ("landmark", "Reply that will be sent"),
        ("landmark", "Review"),
    ] {
        named(&all, role, name);
    }

    let id = window.eval("document.querySelector('[data-shown]').dataset.shown").await;
    let id = id.as_str().expect("an action").to_owned();
    let ears = Ears::open(window.session());
    window.press(&["ctrl+Enter"]).await;
    assert_eq!(ears.until("Nothing has left yet"), "assertive", "there are ten seconds to take it back");
    window.press(&["z"]).await;
    assert_eq!(ears.until("Put back"), "polite");
    until_state(&cli, &id, "prepared").await;
    assert_eq!(state(&cli, &id), "prepared");
    drop(ears);

    for (keys, screen) in [
        (&["ctrl+,"][..], "Settings"),
        (&["g", "h"], "History"),
        (&["g", "d"], "Destinations"),
        (&["g", "s"], "Sources"),
        (&["g", "u"], "Unknown"),
    ] {
        window.press(keys).await;
        window.until(&format!("{screen} is shown"), &format!("document.title.startsWith('{screen}')")).await;
        window.frames().await;
        wait::until(&format!("{screen} is in the tree"), || {
            tree(window.session())
                .iter()
                .any(|n| text(n, "role") == "document web" && text(n, "name").starts_with(screen))
                .then_some(())
        });
        complete(window.session(), screen);
    }
    window.close().await;
}
