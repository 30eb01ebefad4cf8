//! What the desktop does with the program: links, the start at login, newer versions.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::session::Env;
use testkit::{Cli, Display, Scratch, Session, Window, cli, wait};

use crate::set_up::sandbox;
use crate::story::{ARMED, looks_right, tab_to};

/// Follows a link as the desktop does: a second start with the link as its one argument, which ends by itself.
fn follow(window: &Window, home: &std::path::Path, link: &str) {
    let program = cli::built("countersign-app");
    let mut start = window.session().command(program.to_str().expect("a plain path"));
    start.env("DISPLAY", window.display().name()).env("COUNTERSIGN_HOME", home).arg(link);
    let done = start.stdin(std::process::Stdio::null()).output().expect("it starts");
    assert!(done.status.success(), "{}: {done:?}", &link[..link.len().min(60)]);
}

/// The window's id, while it is on the screen.
fn on_screen(display: &Display) -> Option<String> {
    let mut ask = display.command("xdotool");
    let out = ask.args(["search", "--onlyvisible", "--name", "^Countersign$"]).output().expect("xdotool is installed");
    let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn put_away(display: &Display) {
    let id = on_screen(display).expect("it is on the screen");
    let first = id.lines().next().expect("an id").to_owned();
    let done = display.command("xdotool").args(["windowminimize", &first]).status();
    assert!(done.is_ok_and(|status| status.success()), "xdotool minimises nothing");
    wait::until("the window is out of sight", || on_screen(display).is_none().then_some(()));
}

fn prepared(cli: &Cli) -> Vec<Value> {
    let list = cli.ok(&["list", "--state", "prepared"]);
    let ids = list["actions"].as_array().expect("a list").iter().map(|row| row["id"].clone());
    ids.map(|id| {
        let doc = cli.ok(&["show", id.as_str().expect("an id")]);
        json!([doc["id"], doc["payload_hash"], doc["approvals"], doc["attempts"]])
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn r38_a_link_brings_the_window_to_the_front_shows_its_action_and_can_do_nothing_else() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    let (window, cli) = sandbox(&home).await;
    let before = prepared(&cli);
    assert_eq!(before.len(), 3);
    let long = format!("countersign://action/A-{}", "1".repeat(60_000));
    let hostile = [
        "countersign://approve/A-1",
        "countersign://action/A-1/approve",
        "countersign://action/A-1?approve=true&payload_hash=all",
        "countersign://action/A-1#/settings",
        "countersign://action/A-1%2Fapprove",
        "countersign://action/%41-1",
        "countersign://action@evil.example/A-1",
        "countersign://action/A-999999",
        "countersign://action/A-0",
        "countersign:A-1",
        "COUNTERSIGN://ACTION/A-1",
        "countersign://action/A-1 --home /nowhere",
        "countersign://action/<img src=x onerror=alert(1)>",
        &long,
    ];
    window.press(&["g", "d"]).await;
    window.until("destinations are shown", "location.hash === '#/destinations'").await;
    for link in hostile {
        put_away(window.display());
        follow(&window, &home, link);
        wait::until("the window is on the screen", || on_screen(window.display()));
        window.frames().await;
        let place = window.eval("location.hash + (document.querySelector('dialog[open]') ? ' dialog' : '')").await;
        assert_eq!(place, "#/destinations", "{}", &link[..link.len().min(60)]);
    }
    let second = before[1][0].as_str().expect("an id").to_owned();
    put_away(window.display());
    follow(&window, &home, &format!("countersign://action/{second}"));
    window
        .until("its action is shown", &format!("document.querySelector('[data-shown]')?.dataset.shown === '{second}'"))
        .await;
    wait::until("the window is on the screen", || on_screen(window.display()));
    // What is shown was not on the screen before: it can be approved only after the time to read it.
    window
        .until("what is shown can be read", &format!("{ARMED} || document.querySelector('[data-check]') !== null"))
        .await;
    assert_eq!(prepared(&cli), before, "no link decided anything");
    let (session, display) = window.close().await;

    // The program was not running: it starts, and shows it.
    let third = before[2][0].as_str().expect("an id").to_owned();
    let link = format!("countersign://action/{third}");
    let window = Window::open_with(session, display, &home, Env::new(), &[&link]).await;
    window
        .until("its action is shown", &format!("document.querySelector('[data-shown]')?.dataset.shown === '{third}'"))
        .await;
    assert_eq!(prepared(&cli), before);
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r40_starting_at_login_is_off_until_it_is_switched_on_and_a_build_without_a_key_asks_for_no_update() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    let listener = Releases::start(json!({}));
    // A place alone is not enough: without a key nothing could be checked.
    let more = vec![("COUNTERSIGN_UPDATE_URL".into(), listener.at.clone().into())];
    let window = Window::open_in(Session::with_keyring(), Display::start(), &home, more).await;
    let cli = Cli::new(&home).with_env(window.session().env());
    cli.ok(&["init", "--owner", "Noor Brackley", "--sandbox", "--no-passphrase"]);
    window.client().refresh().await.expect("the page loads again");
    window.until("the window is there", "document.querySelector('nav') !== null").await;
    let file = window.session().home().join(".config/autostart/Countersign.desktop");
    window.press(&["ctrl+,"]).await;
    let state = |on: bool| format!("document.querySelector('[data-do=start-at-login]')?.ariaChecked === '{on}'");
    window.until("it is off", &state(false)).await;
    assert!(!file.exists(), "nothing was written unasked");
    tab_to(&window, "[data-do=start-at-login]").await;
    looks_right(&window, "settings-desktop").await;
    window.press(&["Space"]).await;
    window.until("it is on", &state(true)).await;
    let text = std::fs::read_to_string(&file).expect("the desktop's file");
    let program = cli::built("countersign-app");
    let wanted = format!("Exec={} --home {}\n", program.display(), home.display());
    assert!(text.starts_with("[Desktop Entry]\n") && text.contains(&wanted), "{text}\n{wanted}");
    window.press(&["Space"]).await;
    window.until("it is off again", &state(false)).await;
    assert!(!file.exists());

    assert_eq!(window.eval("document.querySelector('[data-updates]').dataset.updates").await, "off");
    assert!(window.text("[data-updates]").await.contains("no key"));
    let nothing = "document.querySelector('[data-do=look-for-update]') === null";
    assert_eq!(window.eval(nothing).await, Value::Bool(true), "nothing to press");
    for command in ["look_for_update", "install_update"] {
        let asked = "const done = arguments[arguments.length - 1];
            window.__TAURI_INTERNALS__.invoke(arguments[0]).then(() => done('asked'), (e) => done(e.code));";
        let answer = window.client().execute_async(asked, vec![json!(command)]).await.expect("the command runs");
        assert_eq!(answer, "not_permitted", "{command}");
    }
    assert_eq!(listener.asked(), Vec::<String>::new(), "nobody was asked");
    window.close().await;
}

/// Tells of one release, as a static file would, and notes what it was asked for.
struct Releases {
    at: String,
    asked: Arc<Mutex<Vec<String>>>,
    told: Arc<Mutex<Value>>,
}

impl Releases {
    fn start(first: Value) -> Releases {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = format!("http://{}/latest.json", socket.local_addr().expect("it is bound"));
        let (asked, told) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(first)));
        let (notes, answer) = (Arc::clone(&asked), Arc::clone(&told));
        std::thread::spawn(move || {
            for mut stream in socket.incoming().map_while(Result::ok) {
                let mut request = [0; 4096];
                let read = stream.read(&mut request).unwrap_or_default();
                let line = String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned();
                let body = if line.contains("latest.json") { locked(&answer).to_string() } else { "test".into() };
                locked(&notes).push(line);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        Releases { at, asked, told }
    }

    fn asked(&self) -> Vec<String> {
        locked(&self.asked).clone()
    }

    fn tell(&self, version: &str) {
        let program = self.at.replace("latest.json", "program");
        // The program is signed with the right key, but not for this version: an old one under a new name.
        let signature = STANDARD.encode(SIGNATURE);
        let platforms: serde_json::Map<String, Value> = ["linux-x86_64", "linux-aarch64"]
            .map(|name| (name.to_owned(), json!({"signature": signature, "url": program})))
            .into_iter()
            .collect();
        *locked(&self.told) = json!({"version": version, "platforms": platforms});
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key, and its signature of the four letters `test`, that minisign-verify's documentation shows; for no version.
const PUBLIC: &str = "untrusted comment: minisign public key E7620F1842B4E81F\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n";
const SIGNATURE: &str = "untrusted comment: signature from minisign secret key\n\
    RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
    trusted comment: timestamp:1633700835\tfile:test\tprehashed\n\
    wLMDjy9FLAuxZ3q4NlEvkgtyhrr0gtTu6KC4KBJdITbbOeAi1zBIYo0v4iTgt8jJpIidRJnp94ABQkJAgAooBQ==\n";

#[tokio::test(flavor = "multi_thread")]
async fn r40_only_a_signed_version_that_rises_is_taken_and_only_when_somebody_asks() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    let releases = Releases::start(json!({}));
    releases.tell("0.0.9");
    let session = Session::with_keyring();
    Cli::new(&home).with_env(session.env()).ok(&["init", "--owner", "Noor Brackley", "--sandbox", "--no-passphrase"]);
    let more = vec![
        ("COUNTERSIGN_UPDATE_URL".into(), releases.at.clone().into()),
        ("COUNTERSIGN_UPDATE_KEY".into(), STANDARD.encode(PUBLIC).into()),
        ("COUNTERSIGN_UPDATE_FLOOR".into(), "2.0.0".into()),
    ];
    let window = Window::open_in(session, Display::start(), &home, more).await;
    window.until("the window is there", "document.querySelector('nav') !== null").await;
    window.press(&["ctrl+,"]).await;
    window.until("updates are on", "document.querySelector('[data-updates=on]') !== null").await;
    assert_eq!(releases.asked(), Vec::<String>::new(), "nobody asked yet");
    let says = |what: &str| format!("document.querySelector('[data-updates]').textContent.includes('{what}')");
    // Older than the one that runs; then newer, but below the floor.
    for (version, asked) in [("0.0.9", 1), ("1.9.9", 2)] {
        releases.tell(version);
        tab_to(&window, "[data-do=look-for-update]").await;
        window.press(&["Enter"]).await;
        wait::until("it was asked for", || (releases.asked().len() == asked).then_some(()));
        window.until("there is none", &says("newest")).await;
    }
    releases.tell("9.9.9");
    tab_to(&window, "[data-do=look-for-update]").await;
    window.press(&["Enter"]).await;
    window.until("it is told of", &says("9.9.9")).await;
    let program = cli::built("countersign-app");
    let before = std::fs::metadata(&program).and_then(|file| file.modified()).expect("the program");
    tab_to(&window, "[data-do=install-update]").await;
    window.press(&["Enter"]).await;
    window
        .until(
            "it is refused",
            "document.querySelector('[role=alert].field__e')?.textContent.includes('signed for') === true",
        )
        .await;
    assert!(releases.asked().iter().any(|line| line.contains("/program")), "{:?}", releases.asked());
    let after = std::fs::metadata(&program).and_then(|file| file.modified()).expect("the program");
    assert_eq!(before, after, "what is not signed for that version is not put in its place");
    window.close().await;
}
