//! What a person does in it, by keyboard.

use serde_json::Value;
use testkit::office::{self, ASKED, CUSTOMER, Mailbox, Office, PASSPHRASE};
use testkit::{Act, Cli, Display, FaultProxy, MailServers, Point, Scratch, Session, Window};

pub(crate) const ARMED: &str = "document.querySelector('[data-armed=true]') !== null";

/// Asserts that axe finds nothing on what is shown, and takes its picture: as it is, dark, and in the smallest window.
pub(crate) async fn looks_right(window: &Window, name: &str) {
    clean(window, name).await;
    window.theme("dark").await;
    clean(window, &format!("{name}-dark")).await;
    window.theme("light").await;
    window.resize(960, 640).await;
    clean(window, &format!("{name}-960")).await;
    let wider = "document.documentElement.scrollWidth > window.innerWidth";
    assert_eq!(window.eval(wider).await, Value::Bool(false), "{name} is wider than the smallest window");
    window.resize(1280, 800).await;
}

async fn clean(window: &Window, name: &str) {
    let file = window.picture(name).await;
    // A dialog of no height has nothing wrong in it for axe, and nothing for a person.
    let tall = "[...document.querySelectorAll('dialog[open]')].every(d => d.getBoundingClientRect().height > 100)";
    assert_eq!(window.eval(tall).await, Value::Bool(true), "{name} ({}): a flat dialog", file.display());
    let found = window.axe().await;
    assert!(found.is_empty(), "{name} ({}): {found:#?}", file.display());
}

/// Presses Tab until the element has the focus.
pub(crate) async fn tab_to(window: &Window, css: &str) {
    let here = format!("document.activeElement !== null && document.activeElement.matches({})", serde_json::json!(css));
    for _ in 0..60 {
        if window.eval(&here).await == Value::Bool(true) {
            return;
        }
        window.press(&["Tab"]).await;
    }
    panic!("Tab never reaches {css}; the focus is on {}", window.focused().await);
}

/// Presses F6 until the list has the focus.
pub(crate) async fn list_focus(window: &Window) {
    for _ in 0..12 {
        if window.eval("document.activeElement.getAttribute('role') === 'listbox'").await == Value::Bool(true) {
            return;
        }
        window.press(&["F6"]).await;
    }
    panic!("F6 never reaches the list; the focus is on {}", window.focused().await);
}

pub(crate) fn state(cli: &Cli, id: &str) -> String {
    office::state(&cli.ok(&["show", id])).to_owned()
}

pub(crate) async fn until_state(cli: &Cli, id: &str, wanted: &str) -> Value {
    let (cli, id, wanted) = (cli.clone(), id.to_owned(), wanted.to_owned());
    let waited = tokio::task::spawn_blocking(move || {
        let found = testkit::wait::within(testkit::wait::PATIENCE, || {
            Some(cli.ok(&["show", &id])).filter(|doc| office::state(doc) == wanted)
        });
        found.unwrap_or_else(|| panic!("{id} never was {wanted}: {:#}", cli.ok(&["show", &id])))
    });
    waited.await.expect("the state comes")
}

#[tokio::test(flavor = "multi_thread")]
async fn r42_first_run_read_edit_approve_and_undo_by_keyboard_in_the_sandbox() {
    let dir = Scratch::new("");
    let window = Window::open(&dir.join("home")).await;
    let cli = Cli::new(dir.join("home")).with_env(window.session().env());
    window.until("first run is shown", "document.querySelector('[data-do=sandbox]') !== null").await;
    looks_right(&window, "13-first").await;

    tab_to(&window, "input").await;
    window.type_text("Noor Brackley").await;
    tab_to(&window, "[data-do=sandbox]").await;
    window.press(&["Enter"]).await;
    window.until("three drafts wait", "document.querySelectorAll('[role=option]').length === 3").await;
    window.until("what is shown can be approved", ARMED).await;
    looks_right(&window, "01-awaiting").await;
    let chosen = "document.querySelector('[role=option][aria-selected=true]')";
    let id = window.eval(&format!("location.hash.split('/').pop() || {chosen}.dataset.id")).await;
    let id = id.as_str().filter(|id| id.starts_with("A-")).map_or_else(|| first_prepared(&cli), str::to_owned);
    assert_eq!(state(&cli, &id), "prepared");

    window.press(&["ctrl+Enter"]).await;
    window.until("it is held", "document.querySelector('[data-toast]') !== null").await;
    // One picture only: it is held for ten seconds.
    clean(&window, "04-toast").await;
    assert_eq!(state(&cli, &id), "approved");
    window.press(&["z"]).await;
    until_state(&cli, &id, "prepared").await;

    // The next request may be shown by now; its sender looks like another one's, which holds the button back.
    let editing =
        format!("location.hash === '#/edit/{id}' && document.querySelector('[data-draft] [data-text]') !== null");
    for _ in 0..10 {
        list_focus(&window).await;
        window.press(&["k", "k", "k"]).await;
        window.until("what is shown can be approved", ARMED).await;
        window.press(&["e"]).await;
        window.until("the editor is open", "document.querySelector('[data-draft] [data-text]') !== null").await;
        if window.eval(&editing).await == Value::Bool(true) {
            break;
        }
        window.press(&["Escape"]).await;
        window.until("the editor is closed", "document.querySelector('[data-do=edit]') !== null").await;
    }
    window.until("the first request is edited", &editing).await;
    let before = window.eval("document.querySelector('[data-live-hash]').dataset.liveHash").await;
    tab_to(&window, "[data-draft] [data-text]").await;
    window.press(&["ctrl+End"]).await;
    window.type_text(" P.S. Ring twice.").await;
    let changed = format!("document.querySelector('[data-live-hash]').dataset.liveHash !== {before}");
    window.until("the fingerprint moved with the text", &changed).await;
    window.until("what is shown can be approved", ARMED).await;
    looks_right(&window, "03-edit").await;
    window.press(&["ctrl+Enter"]).await;
    let done = until_state(&cli, &id, "accepted").await;
    assert_eq!(done["payload_version"], 2);
    assert!(done["payload"]["text"].as_str().is_some_and(|text| text.ends_with("Ring twice.")), "{done:#}");
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(1));

    window.press(&["g", "h"]).await;
    window.until("history lists it", "document.querySelector('tbody tr[data-row]') !== null").await;
    window.until("its counts are drawn", "document.querySelector('.over svg.chart rect.v-acc') !== null").await;
    assert_eq!(window.eval("document.querySelector('.stat b').textContent").await, "1", "accepted, as the list says");
    looks_right(&window, "06-history").await;
    window.press(&["g", "i"]).await;
    window.until("insights are counted", "document.querySelector('.panel svg.chart') !== null").await;
    looks_right(&window, "17-insights").await;
    window.press(&["g", "o"]).await;
    window.frames().await;
    looks_right(&window, "02-on-the-way").await;
    window.press(&["g", "r"]).await;
    window.frames().await;
    looks_right(&window, "21-needs-review").await;
    window.press(&["g", "d"]).await;
    window.frames().await;
    looks_right(&window, "09-destinations").await;
    window.close().await;
}

fn first_prepared(cli: &Cli) -> String {
    let list = cli.ok(&["list", "--state", "prepared"]);
    list["actions"][0]["id"].as_str().expect("three wait").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_a_lost_answer_is_settled_and_revised_by_keyboard_after_unlocking_in_live() {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let proxy = FaultProxy::hiding(servers.ports().submission, &["CHUNKING", "DSN"]);
    let session = Session::with_keyring();
    let dir = Scratch::new("");
    let cli = Cli::new(dir.join("home")).with_env(session.env()).with_passphrase(PASSPHRASE);
    let office = Office::live(cli.clone(), dir, &[Mailbox::plain(proxy.port(), &servers)]);
    let id = office.propose(&office::reply("inquiry-1")).remove(0);
    proxy.script(Point::AnswerHeld, Act::Fin);

    let window = Window::open_in(session, Display::start(), office.home(), Vec::new()).await;
    window.until("what is shown can be approved", ARMED).await;
    window.press(&["ctrl+Enter"]).await;
    window
        .until("it asks for the passphrase", "document.querySelector('dialog[open] input[type=password]') !== null")
        .await;
    looks_right(&window, "unlock").await;
    assert_eq!(state(&cli, &id), "prepared", "a press while it is locked approves nothing");
    window.type_text(PASSPHRASE).await;
    window.press(&["Enter"]).await;
    window.until("the key is unlocked", "document.querySelector('dialog[open]') === null").await;
    window.until("what is shown can be approved", ARMED).await;
    window.press(&["ctrl+Enter"]).await;
    until_state(&cli, &id, "unknown").await;
    proxy.wait(Point::AnswerHeld, 1);

    window.press(&["g", "u"]).await;
    window.until("the choices are shown", "document.querySelector('.opts') !== null").await;
    looks_right(&window, "05-unknown").await;
    window.press(&["p"]).await;
    window.until("proof is asked for", "document.querySelector('dialog[open] textarea') !== null").await;
    looks_right(&window, "05-proof").await;
    tab_to(&window, "dialog textarea").await;
    window.type_text("Robin answered at 10:02.").await;
    tab_to(&window, "dialog [data-do=record]").await;
    window.press(&["Enter"]).await;
    let settled = until_state(&cli, &id, "accepted").await;
    assert_eq!(settled["receipt"]["kind"], "person", "{settled:#}");
    assert_eq!(settled["receipt"]["by"], "Noor Brackley", "{settled:#}");

    // The ledger is ahead of the page: single keys count once the dialog has closed.
    window.until("the dialog has closed", "document.querySelector('dialog[open]') === null").await;
    window.frames().await;
    window.press(&["g", "h"]).await;
    window.until("history lists it", "document.querySelector('tbody tr[data-row]') !== null").await;
    tab_to(&window, "tr[data-row], tr[data-row] *").await;
    window.press(&["Enter"]).await;
    window.until("its record is open", "document.querySelector('.tl') !== null").await;
    looks_right(&window, "07-record").await;
    window.press(&["v"]).await;
    let bytes = "document.querySelector('[data-raw=raw]')?.textContent.includes('Message-ID:') === true";
    window.until("the bytes that left are shown", bytes).await;
    looks_right(&window, "07-raw").await;
    window.press(&["Escape"]).await;
    window.until("the dialog has closed", "document.querySelector('dialog[open]') === null").await;
    window.press(&["n"]).await;
    window.until("a revision is written", "document.querySelector('[data-draft] [data-text]') !== null").await;
    tab_to(&window, "[data-draft] [data-text]").await;
    window.type_text("Correction: Friday. ").await;
    window.until("what is shown can be approved", ARMED).await;
    looks_right(&window, "08-revise").await;
    window.press(&["ctrl+Enter"]).await;
    let first = cli.ok(&["show", &id]);
    let next = first["revised_by"].as_str().expect("a revision").to_owned();
    let sent = until_state(&cli, &next, "accepted").await;
    assert_eq!(sent["key"]["revision"], 2);
    assert_eq!(office::state(&cli.ok(&["show", &id])), "accepted", "the first keeps its outcome");
    assert_eq!(servers.wait_for("robin", "INBOX", 2).len(), 2, "the reply and its revision, each once");
    window.close().await;
}
