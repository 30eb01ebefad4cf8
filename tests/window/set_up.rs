//! What a person sets up in it, and what it asks before it ends.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fantoccini::Locator;
use serde_json::Value;
use testkit::office::{self, ACCOUNT};
use testkit::{Cli, Display, MailServers, Scratch, Session, Window, mail};

use crate::story::{ARMED, list_focus, looks_right, state, tab_to, until_state};

const THREE_WAIT: &str = "document.querySelectorAll('[role=option]').length === 3";
const NO_DIALOG: &str = "document.querySelector('dialog[open]') === null";

fn shown(css: &str) -> String {
    format!("document.querySelector({}) !== null", serde_json::json!(css))
}

/// A fresh home of the window, in the sandbox.
pub(crate) async fn sandbox(home: &Path) -> (Window, Cli) {
    let window = Window::open(home).await;
    let cli = Cli::new(home).with_env(window.session().env());
    window.until("first run is shown", &shown("[data-do=sandbox]")).await;
    tab_to(&window, "input").await;
    window.type_text("Noor Brackley").await;
    tab_to(&window, "[data-do=sandbox]").await;
    window.press(&["Enter"]).await;
    window.until("three drafts wait", THREE_WAIT).await;
    (window, cli)
}

fn first_prepared(cli: &Cli) -> String {
    let list = cli.ok(&["list", "--state", "prepared"]);
    list["actions"][0]["id"].as_str().expect("some wait").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn r40_a_mailbox_and_a_source_are_added_by_keyboard_and_the_test_speaks_to_the_real_servers() {
    let servers = MailServers::start();
    let dir = Scratch::new("");
    let window = Window::open(&dir.join("home")).await;
    let cli = Cli::new(dir.join("home")).with_env(window.session().env());
    window.until("first run is shown", &shown("[data-do=mailbox]")).await;
    tab_to(&window, "input").await;
    window.type_text("Noor Brackley").await;
    tab_to(&window, "[data-do=mailbox]").await;
    window.press(&["Enter"]).await;
    window.until("the form is open", &shown("dialog[open] #m-from")).await;
    looks_right(&window, "10-address").await;
    tab_to(&window, "#m-from").await;
    window.type_text(ACCOUNT).await;
    window.press(&["Tab"]).await;
    tab_to(&window, "#m-username").await;
    window.press(&["ctrl+a"]).await;
    window.type_text("support").await;
    tab_to(&window, "#m-password").await;
    window.type_text(mail::PASSWORD).await;
    window.press(&["Enter"]).await;
    window.until("the servers are asked for", &shown("#m-smtp")).await;
    for (field, port) in [("#m-smtp", servers.ports().submission), ("#m-imap", servers.ports().imap)] {
        tab_to(&window, field).await;
        window.press(&["ctrl+a"]).await;
        window.type_text(&format!("127.0.0.1:{port}")).await;
    }
    looks_right(&window, "10-servers").await;
    window.press(&["Enter"]).await;
    window.until("every step of the test is done", &shown("[data-do=finish][aria-disabled=false]")).await;
    looks_right(&window, "10-test").await;
    tab_to(&window, "[data-do=finish]").await;
    window.press(&["Enter"]).await;
    window.until("it is listed", &shown(".item")).await;
    window.until("the form is closed", NO_DIALOG).await;
    let added = cli.ok(&["destination", "list"]);
    assert!(added.to_string().contains("support-mailbox"), "{added:#}");
    looks_right(&window, "09-destinations-live").await;
    tab_to(&window, "[data-do=test]").await;
    window.press(&["Enter"]).await;
    window.until("it was tested again", "document.querySelectorAll('[data-probe=done]').length === 5").await;

    window.press(&["g", "s"]).await;
    window.until("there are no sources yet", &shown(".empty")).await;
    tab_to(&window, "[data-do=add]").await;
    window.press(&["Enter"]).await;
    window.until("the form is open", &shown("dialog[open] #src-name")).await;
    window.type_text("inbox-agent").await;
    tab_to(&window, "dialog .ck input").await;
    window.press(&["Space"]).await;
    tab_to(&window, "dialog fieldset:nth-of-type(2) input").await;
    window.press(&["Space"]).await;
    looks_right(&window, "11-add-source").await;
    tab_to(&window, "[data-do=add-source]").await;
    window.press(&["Enter"]).await;
    window.until("its token is shown", &shown(".once__t")).await;
    let token = window.text(".once__t").await;
    tab_to(&window, "[data-do=kept]").await;
    window.press(&["Enter"]).await;
    window.until("the form is closed", NO_DIALOG).await;
    looks_right(&window, "11-sources").await;
    assert!(!window.page().await.contains(&token), "the token is shown once");
    let sources = cli.ok(&["source", "list"]);
    assert!(sources.to_string().contains("inbox-agent") && !sources.to_string().contains(&token), "{sources:#}");

    window.press(&["ctrl+,"]).await;
    window.until("settings are shown", &shown("#s-file")).await;
    looks_right(&window, "settings").await;
    let backup = dir.join("copy.backup");
    tab_to(&window, "#s-file").await;
    window.press(&["ctrl+a"]).await;
    window.type_text(backup.to_str().expect("a plain path")).await;
    window.press(&["Enter"]).await;
    window.until("the backup is written", "document.querySelector('#s-file-says .field__h') !== null").await;
    assert!(backup.is_file());
    window.press(&["ctrl+k"]).await;
    window.until("the palette is open", &shown("dialog[open] [role=combobox]")).await;
    looks_right(&window, "15-palette").await;
    window.press(&["Escape"]).await;
    window.until("it is closed", NO_DIALOG).await;
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r39_without_a_key_store_first_run_makes_nothing_until_a_person_chooses_the_encrypted_file() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    let window = Window::open_in(Session::start(), Display::start(), &home, testkit::session::Env::new()).await;
    window.until("first run is shown", &shown("[data-do=sandbox]")).await;
    tab_to(&window, "input").await;
    window.type_text("Noor Brackley").await;
    tab_to(&window, "[data-do=sandbox]").await;
    window.press(&["Enter"]).await;
    window.until("it says that there is no key store", &shown("[data-passphrase]")).await;
    looks_right(&window, "13-no-key-store").await;
    assert!(!home.join("config.toml").exists() && !home.join("ledger.db").exists(), "nothing was made");
    assert!(!dir.join("home.secrets").exists(), "nothing was saved elsewhere");
    for field in ["[data-passphrase]", "[data-again]"] {
        tab_to(&window, field).await;
        window.type_text(office::PASSPHRASE).await;
    }
    window.press(&["Enter"]).await;
    window.until("three drafts wait", THREE_WAIT).await;
    let file = dir.join("home.secrets");
    let mode = std::fs::metadata(&file).expect("the file it named").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let cli = Cli::new(&home).with_env(window.session().env()).with_passphrase(office::PASSPHRASE);
    assert_eq!(cli.ok(&["list", "--state", "prepared"])["actions"].as_array().map(Vec::len), Some(3));
    window.close().await;
}

/// On a busy machine ten seconds are over before the keys arrive. Sets what Destinations sets, to the longest there is.
async fn hold_as_long_as_may_be(window: &Window, cli: &Cli) {
    const AN_HOUR: u32 = 3600;
    let list = cli.ok(&["destination", "list"]);
    let names = list["destinations"].as_array().expect("a list").iter().map(|d| d["name"].clone());
    for name in names {
        let set = "const done = arguments[arguments.length - 1];
            window.__TAURI_INTERNALS__.invoke('set_hold', arguments[0]).then((row) => done(row.undo_seconds), (e) => done(JSON.stringify(e)));";
        let wanted = serde_json::json!({ "name": name, "seconds": AN_HOUR });
        let held = window.client().execute_async(set, vec![wanted]).await.expect("the command runs");
        assert_eq!(held, serde_json::json!(AN_HOUR), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_quitting_while_something_is_held_asks_first_and_puts_back_on_wish() {
    let dir = Scratch::new("");
    let (window, cli) = sandbox(&dir.join("home")).await;
    hold_as_long_as_may_be(&window, &cli).await;
    window.until("what is shown can be approved", ARMED).await;
    let id = window.eval("document.querySelector('[data-shown]').dataset.shown").await;
    let id = id.as_str().filter(|id| id.starts_with("A-")).map_or_else(|| first_prepared(&cli), str::to_owned);
    window.press(&["ctrl+Enter"]).await;
    window.until("it is held", &shown("[data-toast]")).await;
    window.display().keys(&["alt+F4"]);
    window.until("it asks", &shown("dialog[open] [data-do=stay]")).await;
    assert!(window.focused().await.contains("Stay"), "the safe answer has the focus");
    window.press(&["Enter"]).await;
    window.until("it stays", NO_DIALOG).await;
    window.press(&["z"]).await;
    until_state(&cli, &id, "prepared").await;

    list_focus(&window).await;
    window.press(&["k", "k", "k"]).await;
    let back = format!("document.querySelector('[data-shown={}]') !== null", serde_json::json!(id));
    window.until("the same draft is shown again", &back).await;
    window.until("what is shown can be approved", ARMED).await;
    window.press(&["ctrl+Enter"]).await;
    until_state(&cli, &id, "approved").await;
    window.display().keys(&["alt+F4"]);
    window.until("it asks", &shown("dialog[open] [data-do=quit-back]")).await;
    window.picture("quit").await;
    tab_to(&window, "[data-do=quit-back]").await;
    // By the display: the program ends at this key, and a driver whose program is gone has no answer.
    window.display().keys(&["Return"]);
    let done = until_state(&cli, &id, "prepared").await;
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(0), "{done:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f49_where_nothing_shows_notifications_the_counts_tell_and_settings_says_so() {
    let dir = Scratch::new("");
    // A desktop with a bus and a keychain, and nobody on it who shows bubbles.
    let (window, cli) = sandbox(&dir.join("home")).await;
    let counted = "document.querySelector('nav a[href=\"#/awaiting\"] .nav__n')?.textContent";
    window.until("the count says three", &format!("{counted} === '3'")).await;
    let before = cli.ok(&["list", "--state", "prepared"]);
    assert_eq!(before["actions"].as_array().map(Vec::len), Some(3));
    window.press(&["ctrl+,"]).await;
    window.until("settings say that none are shown", "document.querySelector('[data-notes].c-plum') !== null").await;
    assert!(window.text("[data-notes]").await.contains("no notifications are shown"));
    tab_to(&window, "[data-do=test-note]").await;
    window.press(&["Enter"]).await;
    window.frames().await;
    window.until("and still say so", "document.querySelector('[data-notes].c-plum') !== null").await;
    looks_right(&window, "settings-no-bubbles").await;
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r13_an_attached_file_is_sent_with_the_digest_that_was_on_the_screen() {
    let dir = Scratch::new("");
    let (window, cli) = sandbox(&dir.join("home")).await;
    window.until("what is shown can be approved", ARMED).await;
    window.press(&["e"]).await;
    window.until("the editor is open", &shown("[data-draft] [data-text]")).await;
    let id = window.eval("location.hash.split('/').pop()").await.as_str().expect("an action").to_owned();
    let file = dir.write("Übersicht März.txt", "Zeiten");
    let chooser = window.client().find(Locator::Css("[data-file]")).await.expect("there is a file field");
    chooser.send_keys(file.to_str().expect("a plain path")).await.expect("it takes a file");
    window.until("the file is there", &shown(".att")).await;
    // SHA-256 of the six letters, from coreutils' sha256sum.
    let digest = "6b95dd507f2579b01851f1a5af1d01644f1e786e58063204e710addb036292e6";
    let first: String = digest[..8].to_uppercase();
    let on_screen = window.eval("document.querySelector('.att .mono').textContent.replaceAll(' ', '')").await;
    assert_eq!(on_screen, Value::String(first), "{}", window.page().await);
    looks_right(&window, "03-edit-file").await;
    // A file the draft did not have holds the button back until a person has looked at it.
    window.press(&["ctrl+s"]).await;
    let shows_it = format!("document.querySelector('[data-shown={}]') !== null", serde_json::json!(id));
    window.until("it is in Awaiting again", &format!("location.hash.startsWith('#/awaiting') && {shows_it}")).await;
    window.until("what is shown can be approved", ARMED).await;
    window.press(&["ctrl+Enter"]).await;
    window.press(&["c"]).await;
    window.until("the check is open", &shown(".look input")).await;
    assert_eq!(state(&cli, &id), "prepared", "nothing is approved past an open check");
    tab_to(&window, ".look input").await;
    window.press(&["Space"]).await;
    window.until("the check is cleared", &shown(".sig--done")).await;
    window.until("what is shown can be approved", ARMED).await;
    window.press(&["ctrl+Enter"]).await;
    let done = until_state(&cli, &id, "accepted").await;
    let sent = &done["payload"]["attachments"][0];
    assert_eq!((sent["sha256"].as_str(), sent["size"].as_u64()), (Some(digest), Some(6)), "{done:#}");
    window.close().await;
}
