//! The real window, driven the way a person drives it: keys, clicks, and what can be read on the page.
//!
//! WebKitWebDriver starts the app on a display and a session bus of its own, so that windows of different tests do not
//! know each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::wd::TimeoutConfiguration;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::scratch::{self, Scratch};
use crate::session::Env;
use crate::{Display, Session, cli, ports, wait};

/// A window with its own display and session.
pub struct Window {
    client: Client,
    display: Display,
    session: Session,
    _driver: Scratch,
}

/// What axe found against WCAG A and AA: rule and the places, as text.
pub type Violations = BTreeMap<String, Vec<String>>;

impl Window {
    /// Starts the app on a home (which need not exist) and waits for its page.
    pub async fn open(home: &Path) -> Window {
        Window::open_in(Session::with_keyring(), Display::start(), home, Env::new()).await
    }

    /// The same in a session and on a display of the caller's, with more environment.
    pub async fn open_in(session: Session, display: Display, home: &Path, more: Env) -> Window {
        Window::open_with(session, display, home, more, &[]).await
    }

    /// The same with arguments, such as a link that somebody followed.
    pub async fn open_with(session: Session, display: Display, home: &Path, more: Env, args: &[&str]) -> Window {
        Window::open_program(&cli::built("countersign-app"), session, display, home, more, args).await
    }

    /// Another copy of the program, for example from a package.
    pub async fn open_program(
        program: &Path,
        session: Session,
        display: Display,
        home: &Path,
        more: Env,
        args: &[&str],
    ) -> Window {
        let driver = Scratch::new(&scratch::stop_pid_file("driver"));
        let port = ports::free();
        let log = fs::File::create(driver.join("driver.log")).expect("a log file");
        let mut start = session.command("WebKitWebDriver");
        start
            .arg(format!("--port={port}"))
            .env("DISPLAY", display.name())
            .env("COUNTERSIGN_HOME", home)
            // Without it a new session hangs for ever.
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            .envs(more)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log);
        let mut child = start.spawn().expect("WebKitWebDriver is installed (package webkit2gtk-driver)");
        scratch::note_pid(&driver, "driver", &child);
        std::thread::spawn(move || child.wait());
        wait::until("WebKitWebDriver listens", || ports::open(port).then_some(()));

        let wanted = json!({"browserName": "wry", "webkitgtk:browserOptions": {"binary": program, "args": args}});
        let Value::Object(capabilities) = wanted else { unreachable!("it was written as an object") };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let opened = builder.capabilities(capabilities).connect(&format!("http://127.0.0.1:{port}")).await;
        let client = opened.unwrap_or_else(|e| {
            panic!("no window: {e}\n{}", fs::read_to_string(driver.join("driver.log")).unwrap_or_default())
        });
        // A busy machine paints late; the driver's own 30 seconds for a script are no measure of the window.
        let patient = TimeoutConfiguration::new(Some(2 * wait::PATIENCE), None, None);
        client.update_timeouts(patient).await.unwrap_or_else(|e| panic!("no other time limits: {e}"));
        Window { client, display, session, _driver: driver }
    }

    /// For what is not here.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn display(&self) -> &Display {
        &self.display
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Waits for an element and returns its text.
    pub async fn text(&self, css: &str) -> String {
        let found = self
            .client
            .wait()
            .at_most(wait::PATIENCE)
            .every(Duration::from_millis(30))
            .for_element(Locator::Css(css))
            .await;
        let element = found.unwrap_or_else(|e| panic!("nothing matches {css}: {e}"));
        element.text().await.unwrap_or_else(|e| panic!("{css} went away: {e}"))
    }

    /// Waits until the page shows the words somewhere.
    pub async fn shows(&self, words: &str) {
        let what = format!("the page shows {words:?}");
        self.until(&what, &format!("document.body.innerText.includes({})", json!(words))).await;
    }

    /// Waits until a JavaScript expression holds.
    pub async fn until(&self, what: &str, expression: &str) {
        let end = tokio::time::Instant::now() + wait::PATIENCE;
        while self.eval(expression).await != Value::Bool(true) {
            assert!(
                tokio::time::Instant::now() < end,
                "waited in vain until {what}; the page says:\n{}",
                self.page().await
            );
            // Two frames of the page, then look again: the page's own clock, no time of ours.
            self.frames().await;
        }
    }

    /// Everything readable on the page.
    pub async fn page(&self) -> String {
        self.eval("document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    /// The value of an expression in the page.
    pub async fn eval(&self, expression: &str) -> Value {
        let script = format!("return ({expression});");
        self.client.execute(&script, vec![]).await.unwrap_or_else(|e| panic!("{expression}: {e}"))
    }

    /// What has the focus: its accessible name as far as the page gives one, else its text.
    pub async fn focused(&self) -> String {
        let name = "(() => { const e = document.activeElement; return e.getAttribute('aria-label') || e.innerText || e.value || e.tagName })()";
        self.eval(name).await.as_str().unwrap_or_default().trim().to_owned()
    }

    /// Presses keys one after the other: a character, or a name such as `Tab`, `Enter`, `Escape`, `ctrl+Enter`, `shift+Tab`.
    pub async fn press(&self, keys: &[&str]) {
        for key in keys {
            let parts: Vec<char> = split_chord(key).into_iter().map(code).collect();
            let mut actions = KeyActions::new("keyboard".into());
            for value in &parts {
                actions = actions.then(KeyAction::Down { value: *value });
            }
            for value in parts.iter().rev() {
                actions = actions.then(KeyAction::Up { value: *value });
            }
            self.client.perform_actions(actions).await.unwrap_or_else(|e| panic!("{key} cannot be pressed: {e}"));
        }
    }

    /// Types text into what has the focus.
    pub async fn type_text(&self, text: &str) {
        let mut actions = KeyActions::new("keyboard".into());
        for value in text.chars() {
            actions = actions.then(KeyAction::Down { value }).then(KeyAction::Up { value });
        }
        self.client.perform_actions(actions).await.unwrap_or_else(|e| panic!("the text cannot be typed: {e}"));
    }

    /// Waits for two painted frames: what is on the screen now is what the page means.
    pub async fn frames(&self) {
        let script = "const done = arguments[arguments.length - 1]; requestAnimationFrame(() => requestAnimationFrame(() => done(null)));";
        self.client.execute_async(script, vec![]).await.unwrap_or_else(|e| panic!("no frame was painted: {e:?}"));
    }

    /// A picture of the screen, under the target folder, for a person (or a reviewer) to open. Returns its path.
    pub async fn picture(&self, name: &str) -> PathBuf {
        self.frames().await;
        let folder = cli::built("countersign-app").parent().expect("programs are in a folder").join("pictures");
        fs::create_dir_all(&folder).expect("a folder for pictures");
        let file = folder.join(format!("{name}.png"));
        self.display.screenshot(&file);
        file
    }

    /// Makes the window another size and waits until the page has it.
    pub async fn resize(&self, width: u32, height: u32) {
        self.client.set_window_size(width, height).await.unwrap_or_else(|e| panic!("no other size: {e}"));
        self.until("the page has its new size", &format!("window.innerWidth === {width}")).await;
        self.frames().await;
    }

    /// Shows the page in its dark or light colours, as the key for it does.
    pub async fn theme(&self, name: &str) {
        self.eval(&format!("document.documentElement.dataset.theme = {}", json!(name))).await;
        self.frames().await;
    }

    /// Runs axe against WCAG A and AA on what is shown now.
    pub async fn axe(&self) -> Violations {
        let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui/node_modules/axe-core/axe.min.js");
        let text = fs::read_to_string(&axe).unwrap_or_else(|e| panic!("{}: {e}; run `npm ci` in ui", axe.display()));
        self.client.execute(&text, vec![]).await.unwrap_or_else(|e| panic!("axe does not load: {e}"));
        let run = "const done = arguments[arguments.length - 1];
            axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})
                .then(r => done(r.violations.map(v => [v.id, v.nodes.map(n => n.target.join(' ') + ': ' + n.failureSummary)])), e => done(String(e)));";
        let found = self.client.execute_async(run, vec![]).await.unwrap_or_else(|e| panic!("axe does not run: {e}"));
        serde_json::from_value::<Vec<(String, Vec<String>)>>(found)
            .unwrap_or_else(|e| panic!("axe: {e}"))
            .into_iter()
            .collect()
    }

    /// Ends the app in an orderly way and gives the session and display back, for the next start.
    pub async fn close(self) -> (Session, Display) {
        if let Err(why) = self.client.close().await {
            panic!("the window does not close: {why}");
        }
        (self.session, self.display)
    }
}

fn split_chord(key: &str) -> Vec<&str> {
    // A lone plus is a key, not a chord.
    if key.chars().count() == 1 { vec![key] } else { key.split('+').collect() }
}

/// The code point that WebDriver uses for a named key.
fn code(name: &str) -> char {
    match name {
        "Enter" => '\u{e007}',
        "Tab" => '\u{e004}',
        "Escape" => '\u{e00c}',
        "Backspace" => '\u{e003}',
        "Delete" => '\u{e017}',
        "Space" => ' ',
        "Up" => '\u{e013}',
        "Down" => '\u{e015}',
        "Left" => '\u{e012}',
        "Right" => '\u{e014}',
        "Home" => '\u{e011}',
        "End" => '\u{e010}',
        "PageUp" => '\u{e00e}',
        "PageDown" => '\u{e00f}',
        "F6" => '\u{e036}',
        "shift" => '\u{e008}',
        "ctrl" => '\u{e009}',
        "alt" => '\u{e00a}',
        one => {
            let mut chars = one.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => c,
                _ => panic!("{one} is no key"),
            }
        }
    }
}
