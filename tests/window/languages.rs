//! The real window in German and from right to left, and two forms that no story comes by.

use countersign_sandbox::story;
use serde_json::{Value, json};
use testkit::{Scratch, Window};

use crate::set_up::sandbox;
use crate::story::{ARMED, looks_right, tab_to};

fn shown(css: &str) -> String {
    format!("document.querySelector({}) !== null", json!(css))
}

/// Chooses a language as Settings keeps it, and starts the page again.
async fn speak(window: &Window, tag: &str) {
    window.eval(&format!("localStorage.setItem('language', '{tag}')")).await;
    window.client().refresh().await.expect("the page loads again");
    window.until("it speaks that language", &format!("document.documentElement.lang.startsWith('{tag}')")).await;
    window.until("what is shown can be approved", ARMED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r41_the_window_is_whole_in_german_and_in_arabic_from_right_to_left() {
    let dir = Scratch::new("");
    let (window, _) = sandbox(&dir.join("home")).await;
    for (tag, direction) in [("de", "ltr"), ("ar", "rtl")] {
        speak(&window, tag).await;
        assert_eq!(window.eval("getComputedStyle(document.documentElement).direction").await, direction);
        looks_right(&window, &format!("01-awaiting-{tag}")).await;
        window.press(&["e"]).await;
        window.until("the editor is open", &shown("[data-draft] [data-text]")).await;
        window.until("what is shown can be approved", ARMED).await;
        looks_right(&window, &format!("03-edit-{tag}")).await;
        window.press(&["Escape"]).await;
        window.until("the editor is closed", &shown("[data-do=edit]")).await;
        window.press(&["ctrl+,"]).await;
        window.until("settings are shown", &shown("[data-do=start-at-login]")).await;
        looks_right(&window, &format!("settings-{tag}")).await;
        tab_to(&window, "[data-do=start-at-login]").await;
        window.frames().await;
        looks_right(&window, &format!("settings-end-{tag}")).await;
        window.eval("(location.hash = '#/awaiting')").await;
    }
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r41_a_mail_for_later_and_the_form_of_a_sign_in_look_right() {
    let dir = Scratch::new("");
    let (window, cli) = sandbox(&dir.join("home")).await;
    let mut later = story::conversations(1_793_610_900).remove(2).proposal;
    later["event_id"] = "later".into();
    later["request_id"] = "later".into();
    // Whole months away from any change of the clocks, and from any day this test runs on.
    later["actions"][0]["payload"]["send_at"] = json!({"local": "2045-07-04T09:30", "zone": "Europe/Berlin"});
    let answer =
        cli.run_input(&["propose", "-", "--source", story::SOURCE], later.to_string().as_bytes()).expect(0).json();
    let id = answer["actions"][0]["id"].as_str().expect("an id").to_owned();
    let hash = cli.ok(&["show", &id])["payload_hash"].as_str().expect("a hash").to_owned();
    let approved = cli.run(&["approve", &id, "--payload-hash", &hash]);
    if approved.code != 0 {
        panic!("{approved:?}");
    }
    window.eval(&format!("(location.hash = '#/on-the-way/{id}')")).await;
    window.until("it is shown", &format!("document.querySelector('[data-shown]')?.dataset.shown === '{id}'")).await;
    looks_right(&window, "02-on-the-way-later").await;

    window.press(&["g", "d"]).await;
    window.until("destinations are shown", &shown("[data-do=add]")).await;
    tab_to(&window, "[data-do=add]").await;
    window.press(&["Enter"]).await;
    window.until("the kinds are shown", &shown("dialog[open]")).await;
    if window.eval(&shown("#m-auth")).await != Value::Bool(true) {
        let mailbox = "dialog[open] [data-kind=mailbox]";
        window.until("a mailbox is offered", &shown(mailbox)).await;
        tab_to(&window, mailbox).await;
        window.press(&["Enter"]).await;
    }
    window.until("the form is open", &shown("#m-auth")).await;
    tab_to(&window, "#m-auth").await;
    window.press(&["Down"]).await;
    window.until("it signs in with OAuth", &shown("#m-token_endpoint")).await;
    looks_right(&window, "10-oauth").await;
    window.close().await;
}
