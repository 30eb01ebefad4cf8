//! Starting: the first frame, the second start, what a bubble says.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use testkit::office::{self, Mailbox, Office};
use testkit::{Cli, Display, MailServers, Scratch, Session, cli};

/// Ends the window with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn app(session: &Session, display: &Display, home: &std::path::Path) -> Command {
    let program = cli::built("countersign-app");
    let mut command = session.command(program.to_str().expect("a plain path"));
    command.env("DISPLAY", display.name()).env("COUNTERSIGN_HOME", home).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Reads stderr until a line holds the words.
fn says(child: &mut Started, words: &str) -> String {
    let mut reader = BufReader::new(child.0.stderr.as_mut().expect("it is piped"));
    let mut all = String::new();
    while !all.contains(words) {
        assert!(reader.read_line(&mut all).is_ok_and(|n| n > 0), "it ended without saying {words:?}: {all}");
    }
    all
}

#[test]
fn f48_a_white_window_starts_again_once_then_says_so_and_sends_nothing() {
    let servers = MailServers::start();
    let session = Session::with_keyring();
    let display = Display::start();
    let dir = Scratch::new("");
    let cli = Cli::new(dir.join("home")).with_env(session.env()).with_passphrase(office::PASSPHRASE);
    let office = Office::live(cli, dir, &[Mailbox::plain(servers.ports().submission, &servers)]);
    let mut proposal = office::reply("inquiry-1");
    proposal["actions"] = serde_json::json!([office::action("notice", "support-mailbox", "email.send")]);
    let id = office.propose(&proposal).remove(0);
    office.approve(&id);

    // No time at all for the first frame is a window that stays white.
    let mut start = app(&session, &display, office.home());
    let mut window = Started(start.env("COUNTERSIGN_FIRST_FRAME_SECONDS", "0").spawn().expect("it starts"));
    let said = says(&mut window, "also without the graphics card");
    assert_eq!(said.matches("starts again").count(), 1, "{said}");
    assert!(said.contains("countersign list"), "a hint for the terminal: {said}");
    assert!(window.0.try_wait().expect("it can be asked").is_none(), "it stays, so that it can be closed");
    let doc = office.show(&id);
    assert_eq!((office::state(&doc), doc["attempts"].as_array().map(Vec::len)), ("approved", Some(0)), "{doc:#}");
    drop(window);

    // With a first frame the same home sends.
    let mut window = Started(app(&session, &display, office.home()).spawn().expect("it starts"));
    says(&mut window, "window ready");
    office.until(&id, "is accepted", |doc| office::state(doc) == "accepted");
    assert_eq!(servers.wait_for("robin", "INBOX", 1).len(), 1);
}

#[test]
fn a_second_start_of_the_same_home_shows_the_first_window_and_ends() {
    let (session, display, dir) = (Session::with_keyring(), Display::start(), Scratch::new(""));
    let mut first = Started(app(&session, &display, &dir.join("home")).spawn().expect("it starts"));
    says(&mut first, "window ready");
    let mut second = Started(app(&session, &display, &dir.join("home")).spawn().expect("it starts"));
    let ended = testkit::wait::until("the second one ends", || second.0.try_wait().expect("it can be asked"));
    assert!(ended.success(), "{ended}");
    assert!(first.0.try_wait().expect("it can be asked").is_none(), "the first one stays");
    // Another home is another window.
    let mut other = Started(app(&session, &display, &dir.join("other")).spawn().expect("it starts"));
    says(&mut other, "window ready");
}

#[test]
fn closing_the_window_where_no_tray_leads_back_to_it_ends_the_program() {
    let (session, display, dir) = (Session::with_keyring(), Display::start(), Scratch::new(""));
    let mut start = app(&session, &display, &dir.join("home"));
    let mut window = Started(start.args(["--try-as", "Noor Brackley"]).spawn().expect("it starts"));
    says(&mut window, "listening on");
    let ended = testkit::wait::until("the program has ended", || {
        display.keys(&["alt+F4"]);
        window.0.try_wait().expect("it can be asked")
    });
    assert!(ended.success(), "{ended}");
    let cli = Cli::new(dir.join("home")).with_env(session.env());
    let waiting = cli.ok(&["list", "--state", "prepared"]);
    assert_eq!(waiting["actions"].as_array().map(Vec::len), Some(3), "nothing of the queue is touched: {waiting:#}");
    // The lock is free: another process may dispatch now.
    cli.run(&["dispatch", "--until-idle"]).expect(0);
}

#[test]
fn a_bubble_tells_that_a_draft_waits_and_nothing_of_what_it_says() {
    let servers = MailServers::start();
    let display = Display::start();
    let mut session = Session::with_keyring();
    session.start_dunst(&display);
    let dir = Scratch::new("");
    let cli = Cli::new(dir.join("home")).with_env(session.env()).with_passphrase(office::PASSPHRASE);
    let office = Office::live(cli, dir, &[Mailbox::plain(servers.ports().submission, &servers)]);
    let mut window = Started(app(&session, &display, office.home()).spawn().expect("it starts"));
    says(&mut window, "window ready");
    office.propose(&office::reply("inquiry-1"));
    let bubbles = testkit::wait::until("dunst has shown a bubble", || {
        Some(session.notifications()).filter(|all| !all.is_empty())
    });
    let text = format!("{bubbles:?}");
    for secret in ["Robin", "Vale", "robin@", "Delivery slot", "Thursday", "slot"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}

/// What `doctor` says of one check: whether it is in order, and the words.
fn checked(cli: &Cli, args: &[&str], check: &str) -> (bool, String) {
    let report = cli.run(&[&["doctor"], args].concat()).json();
    let found = report["checks"].as_array().expect("a list").iter().find(|c| c["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no {check}: {report:#}"));
    (found["ok"] == true, found["text"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn f49_doctor_says_whether_notifications_are_shown_and_shows_one_on_wish() {
    let (display, dir) = (Display::start(), Scratch::new(""));
    let mut session = Session::start();
    let secrets = format!("file:{}", dir.join("secrets").display());
    let with = |env: testkit::session::Env| {
        let desktop = [env, vec![("DISPLAY".into(), display.name().into())]].concat();
        let cli = Cli::new(dir.join("home")).with_args(&["--secrets", &secrets]);
        cli.with_env(desktop).with_passphrase(office::PASSPHRASE)
    };
    let cli = with(session.env());
    cli.ok(&["init", "--owner", "Noor Brackley", "--sandbox"]);
    let (ok, text) = checked(&cli, &[], "notifications");
    assert!(!ok && text.contains("no notifications are shown") && text.contains("counts"), "{text}");
    assert!(!checked(&cli, &["--test-notification"], "test notification").0);
    // No bus at all.
    let mut none = session.env();
    none.iter_mut()
        .filter(|(name, _)| name == "DBUS_SESSION_BUS_ADDRESS")
        .for_each(|(_, at)| *at = "unix:path=/nowhere".into());
    assert!(!checked(&with(none), &[], "notifications").0);
    session.start_dunst(&display);
    let cli = with(session.env());
    assert_eq!(checked(&cli, &["--test-notification"], "notifications"), (true, "shown by dunst".into()));
    let bubbles =
        testkit::wait::until("dunst has shown it", || Some(session.notifications()).filter(|all| !all.is_empty()));
    assert_eq!(bubbles[0].0, "This is a test");
}

/// The window with its frame as the X server has it: left, top, right, bottom. xdotool finds it, but counts the frame twice
/// where it tells its place.
fn place_of(display: &Display) -> Option<[i64; 4]> {
    let text = |program: &str, args: &[&str]| {
        let out =
            display.command(program).args(args).output().unwrap_or_else(|e| panic!("{program} is installed: {e}"));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    };
    let id = text("xdotool", &["search", "--onlyvisible", "--name", "^Countersign$"]);
    let told = text("xwininfo", &["-id", id.lines().next()?]);
    let number = |name: &str| told.lines().find_map(|l| l.trim().strip_prefix(name))?.trim().parse::<i64>().ok();
    let (x, y) = (number("Absolute upper-left X:")?, number("Absolute upper-left Y:")?);
    let (border, title) = (number("Relative upper-left X:")?, number("Relative upper-left Y:")?);
    Some([x - border, y - title, x + number("Width:")? + border, y + number("Height:")? + border])
}

#[test]
fn f50_a_window_left_on_a_screen_that_is_gone_is_wholly_visible_again() {
    for (x, y, width, height) in [(5000, 200, 2560, 1600), (1100, 700, 1000, 650), (-700, -300, 1000, 650)] {
        let (session, display, dir) = (Session::with_keyring(), Display::sized(1280, 800), Scratch::new(""));
        let config = session.home().join(".config/app.countersign.desktop");
        std::fs::create_dir_all(&config).expect("a folder");
        let left = serde_json::json!({ "main": {
            "x": x, "y": y, "prev_x": x, "prev_y": y, "width": width, "height": height,
            "maximized": false, "fullscreen": false, "visible": true, "decorated": true
        }});
        std::fs::write(config.join(".window-state.json"), left.to_string()).expect("written");
        let mut window = Started(app(&session, &display, &dir.join("home")).spawn().expect("it starts"));
        says(&mut window, "window ready");
        let visible = |[left, top, right, bottom]: [i64; 4]| left >= 0 && top >= 0 && right <= 1280 && bottom <= 800;
        let what = format!("the window left at {x}, {y} is wholly visible");
        let place = testkit::wait::until(&what, || place_of(&display).filter(|place| visible(*place)));
        assert!(place[2] - place[0] >= 960 && place[3] - place[1] >= 640, "{place:?}");
    }
}

#[test]
fn without_a_display_it_points_to_the_command_line() {
    let out = Command::new(cli::built("countersign-app"))
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .expect("it starts");
    assert_eq!(out.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&out.stderr).contains("countersign"), "{out:?}");
}
