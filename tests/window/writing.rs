//! Writing in it: snippets that outlive the window, and looking at a file before it goes.

use fantoccini::Locator;
use serde_json::Value;
use testkit::{Scratch, Window};

use crate::set_up::sandbox;
use crate::story::{ARMED, looks_right, state, tab_to, until_state};

const NO_DIALOG: &str = "document.querySelector('dialog[open]') === null";
const EDITOR: &str = "[data-draft] [data-text]";

fn shown(css: &str) -> String {
    format!("document.querySelector({}) !== null", serde_json::json!(css))
}

/// One page that says `Delivery note`; without a table of where its objects are, which a reader makes for itself.
const PDF: &str = "%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R
  /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >> endobj
4 0 obj << /Length 44 >> stream
BT /F1 18 Tf 40 140 Td (Delivery note) Tj ET
endstream endobj
trailer << /Root 1 0 R >>
%%EOF
";

#[tokio::test(flavor = "multi_thread")]
async fn r13_a_snippet_outlives_the_window_and_a_pdf_is_looked_at_before_it_goes() {
    let dir = Scratch::new("");
    let home = dir.join("home");
    let (window, cli) = sandbox(&home).await;
    window.press(&["ctrl+,"]).await;
    window.until("settings are shown", &shown("[data-do=add-snippet]")).await;
    tab_to(&window, "[data-do=add-snippet]").await;
    window.press(&["Enter"]).await;
    window.until("the form is open", &shown("#snip-name")).await;
    window.type_text("Thanks").await;
    window.press(&["Tab"]).await;
    window.type_text("Thank you, {name}. It costs {price}.").await;
    looks_right(&window, "13-snippet").await;
    tab_to(&window, "[data-do=save-snippet]").await;
    window.press(&["Enter"]).await;
    window.until("it is kept", &shown("[data-snippet=Thanks]")).await;
    let (session, display) = window.close().await;

    let window = Window::open_in(session, display, &home, Vec::new()).await;
    window.until("what is shown can be approved", ARMED).await;
    window.press(&["e"]).await;
    window.until("the editor is open", &shown(EDITOR)).await;
    let id = window.eval("location.hash.split('/').pop()").await.as_str().expect("an action").to_owned();
    tab_to(&window, EDITOR).await;
    window.press(&["ctrl+End", "Enter", "ctrl+j"]).await;
    window.until("the snippets are shown", &shown("#snips [role=option]")).await;
    window.press(&["Enter"]).await;
    window.until("its open field has the focus", "document.activeElement.id === 'fill-1'").await;
    looks_right(&window, "03-snippet").await;
    let name = window.eval("document.querySelector('#fill-0').value").await;
    let name = name.as_str().filter(|name| !name.is_empty()).expect("the conversation names the customer").to_owned();
    window.type_text("45 €").await;
    window.press(&["Enter"]).await;
    window.until("it was put in", NO_DIALOG).await;
    window.until("the focus is in the draft", "document.activeElement.hasAttribute('data-text')").await;

    let file = dir.write("note.pdf", PDF);
    let chooser = window.client().find(Locator::Css("[data-file]")).await.expect("there is a file field");
    chooser.send_keys(file.to_str().expect("a plain path")).await.expect("it takes a file");
    window.until("the file is there", &shown(".att[title='note.pdf']")).await;
    tab_to(&window, ".att[title='note.pdf'] [data-do=file]").await;
    window.press(&["Enter"]).await;
    window.until("its page is drawn", &shown("[data-pdf='1']")).await;
    let said = window.eval("document.querySelector('.fileview').textContent.includes('Delivery note')").await;
    assert_eq!(said, Value::Bool(true), "{}", window.page().await);
    looks_right(&window, "03-pdf").await;
    window.press(&["Escape"]).await;
    window.until("the dialog has closed", NO_DIALOG).await;
    window.press(&["ctrl+s"]).await;
    window.until("it is in Awaiting again", "location.hash.startsWith('#/awaiting')").await;
    let saved = until_state(&cli, &id, "prepared").await;
    let text = saved["payload"]["text"].as_str().expect("a text");
    assert!(text.ends_with(&format!("Thank you, {name}. It costs 45 €.")), "{text}");
    assert_eq!(state(&cli, &id), "prepared", "saving decides nothing");
    window.close().await;
}
