//! The window's border: one list of commands, in four places that must agree, and a policy that cannot loosen by itself.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{file, none};

/// Texts between `open` and `close` that are in quotes.
fn quoted(text: &str, open: &str, close: &str) -> BTreeSet<String> {
    let inside =
        text.split(open).nth(1).and_then(|rest| rest.split(close).next()).unwrap_or_else(|| panic!("no {open}"));
    inside.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn commands() -> BTreeSet<String> {
    quoted(file("src-tauri/build.rs"), "const COMMANDS", "];")
}

fn json(path: &str) -> Value {
    serde_json::from_str(file(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn every_command_is_listed_for_the_build_or_it_would_be_open_to_any_page() {
    let mut written = BTreeSet::new();
    for text in
        ["src-tauri/src/commands.rs", "src-tauri/src/commands/set_up.rs", "src-tauri/src/commands/desktop.rs"].map(file)
    {
        for (at, _) in text.match_indices("#[tauri::command") {
            let name = text[at..].split("fn ").nth(1).and_then(|rest| rest.split(['(', '<']).next());
            written.insert(name.expect("an attribute stands before a function").to_owned());
        }
    }
    assert_eq!(written, commands(), "the commands' files and build.rs");
    let handler =
        file("src-tauri/src/lib.rs").split("generate_handler![").nth(1).and_then(|rest| rest.split(']').next());
    let handled: BTreeSet<String> = handler
        .expect("lib.rs names the commands")
        .split(',')
        .map(|c| c.trim().rsplit("::").next().unwrap_or_default().to_owned())
        .filter(|c| !c.is_empty())
        .collect();
    assert_eq!(handled, commands(), "the handler and build.rs");
}

#[test]
fn the_page_may_listen_and_call_our_commands_and_nothing_else() {
    let capability = json("src-tauri/capabilities/main.json");
    let allowed: BTreeSet<String> = capability["permissions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|p| p.as_str().expect("plain names").to_owned())
        .collect();
    let ours = commands().into_iter().map(|name| format!("allow-{}", name.replace('_', "-")));
    let wanted: BTreeSet<String> =
        ours.chain(["core:event:allow-listen", "core:event:allow-unlisten"].map(str::to_owned)).collect();
    assert_eq!(allowed, wanted);
    assert_eq!(capability["windows"], serde_json::json!(["main"]));
    assert!(capability.get("remote").is_none(), "no other page has any of it");
}

#[test]
fn the_page_calls_only_commands_that_exist_and_every_command_is_called() {
    let page = file("ui/src/backend/tauri.ts");
    let known = commands();
    let called: BTreeSet<String> =
        page.split(['"', '\'', '`']).filter(|word| known.contains(*word)).map(str::to_owned).collect();
    none("commands nobody calls", known.difference(&called).cloned().collect());
}

#[test]
fn the_policy_of_the_window_is_strict_and_the_preview_is_served_under_the_same() {
    let conf = json("src-tauri/tauri.conf.json");
    let security = &conf["app"]["security"];
    let csp = security["csp"].as_str().expect("one line");
    assert!(csp.starts_with("default-src 'none'; script-src 'self';"), "{csp}");
    for word in ["unsafe-inline", "unsafe-eval", "*", "https:", "blob:"] {
        assert!(!csp.contains(word), "{word} in {csp}");
    }
    assert_eq!(security["freezePrototype"], true);
    assert_eq!(security["capabilities"], serde_json::json!(["main"]));
    assert_eq!(conf["app"]["withGlobalTauri"], false);
    assert_eq!(
        conf["app"]["windows"],
        serde_json::json!([]),
        "the window is made in Rust, where it is kept from going elsewhere"
    );
    let preview: String = file("ui/vite.config.ts")
        .split("const policy =")
        .nth(1)
        .and_then(|rest| rest.split(';').next().map(|_| rest))
        .expect("a policy")
        .split('"')
        .skip(1)
        .step_by(2)
        .take_while(|part| part.contains("-src") || part.contains("-uri") || part.contains("-action"))
        .collect();
    assert!(preview.starts_with(csp), "the page's tests run under another policy:\n{preview}\n{csp}");
}
