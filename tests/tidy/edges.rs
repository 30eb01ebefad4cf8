//! Which crate may know which.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::{ROOT, none, sources};

/// Our crates, and what each may list of ours.
const EDGES: &[(&str, &[&str])] = &[
    ("countersign-domain", &[]),
    ("countersign-ledger", &["countersign-domain"]),
    ("countersign-connectors", &["countersign-domain"]),
    ("countersign-sandbox", &["countersign-domain"]),
    (
        "countersign-engine",
        &["countersign-domain", "countersign-ledger", "countersign-connectors", "countersign-sandbox"],
    ),
    ("countersign-cli", &["countersign-domain", "countersign-engine"]),
    ("countersign-app", &["countersign-domain", "countersign-engine"]),
    ("countersign-xtask", &[]),
];

/// One owner for each outside thing. A name that ends with `*` stands for all that start so.
const OWNERS: &[(&str, &str)] = &[
    ("sqlx*", "countersign-ledger"),
    ("libsqlite3-sys", "countersign-ledger"),
    ("hyper*", "countersign-connectors"),
    ("reqwest", "countersign-connectors"),
    ("rustls*", "countersign-connectors"),
    ("tokio-rustls", "countersign-connectors"),
    ("async-imap", "countersign-connectors"),
    ("lettre", "countersign-connectors"),
    ("mail-*", "countersign-connectors"),
    ("keyring*", "countersign-engine"),
    ("zbus-secret-service-keyring-store", "countersign-engine"),
    ("age", "countersign-engine"),
    ("notify-rust", "countersign-engine"),
    ("axum*", "countersign-engine"),
    ("utoipa*", "countersign-engine"),
    ("ammonia", "countersign-engine"),
    ("clap*", "countersign-cli"),
    ("rpassword", "countersign-cli"),
    ("rmcp", "countersign-cli"),
    ("tauri*", "countersign-app"),
    ("zbus", "countersign-app"),
];

/// What the pure crate must never list: anything that reads the world.
const NOT_IN_DOMAIN: &[&str] =
    &["tokio", "async-std", "rand", "getrandom", "chrono", "time", "tracing", "tempfile", "dirs", "libc", "rustix"];

/// Names of the dependencies of a package that are in its programs and libraries; tests and their helpers are free.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let out = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(&*ROOT)
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&out.stderr));
    let doc: Value = serde_json::from_slice(&out.stdout).expect("it is JSON");
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let packages = doc["packages"].as_array().expect("packages").iter();
    packages
        .map(|package| {
            let all = package["dependencies"].as_array().expect("dependencies").iter();
            let real = all.filter(|d| d["kind"] != "dev").map(|d| text(&d["name"])).collect();
            (text(&package["name"]), real)
        })
        .collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

#[test]
fn crates_know_each_other_only_along_the_arrows() {
    let all = dependencies();
    let mut wrong = Vec::new();
    for (package, names) in all.iter().filter(|(package, _)| *package != "countersign-tests") {
        match EDGES.iter().find(|(name, _)| name == package) {
            None => wrong.push(format!("{package} has no place in the drawing")),
            Some((_, allowed)) => {
                let ours = names.iter().filter(|name| name.starts_with("countersign-"));
                wrong.extend(
                    ours.filter(|name| !allowed.contains(&name.as_str())).map(|name| format!("{package} lists {name}")),
                );
            }
        }
    }
    none("arrows only as drawn", wrong);
    assert_eq!(all.len(), EDGES.len() + 1, "every crate of the drawing exists");
}

#[test]
fn every_outside_thing_has_one_owner() {
    let mut wrong = Vec::new();
    for (package, names) in dependencies().iter().filter(|(package, _)| *package != "countersign-tests") {
        for name in names {
            let owners: Vec<_> =
                OWNERS.iter().filter(|(pattern, _)| matches(pattern, name)).map(|(_, owner)| *owner).collect();
            // tauri-build is a part of the shell's build; the shell owns both.
            if !owners.is_empty() && !owners.contains(&package.as_str()) {
                wrong.push(format!("{package} lists {name}, which belongs to {}", owners.join(" and ")));
            }
        }
        if package == "countersign-domain" {
            let impure = names.iter().filter(|name| NOT_IN_DOMAIN.contains(&name.as_str()));
            wrong.extend(impure.map(|name| format!("domain lists {name}, and it is pure")));
        }
        if package == "countersign-xtask" {
            wrong.extend(names.iter().map(|name| format!("xtask lists {name}, and it has no dependencies")));
        }
    }
    none("one owner per outside thing", wrong);
}

#[test]
fn only_one_file_of_the_page_knows_tauri() {
    let known = sources("ui/src/", &["ts", "svelte"]).filter(|s| s.text.contains("@tauri-apps/"));
    none(
        "only ui/src/backend/tauri.ts",
        known.map(|s| s.path.clone()).filter(|p| p != "ui/src/backend/tauri.ts").collect(),
    );
}

#[test]
fn screens_do_not_import_screens_and_components_no_state() {
    let mut wrong = Vec::new();
    for source in sources("ui/src/", &["ts", "svelte"]) {
        let imports =
            source.text.lines().filter(|line| line.contains(" from \"") || line.trim_start().starts_with("import \""));
        for line in imports {
            let target = line.rsplit('"').nth(1).unwrap_or_default();
            let parts: Vec<&str> = source.path.split('/').collect();
            let screen =
                |text: &str| text.split("screens/").nth(1).and_then(|rest| rest.split('/').next().map(str::to_owned));
            let foreign = match (parts.get(2).copied(), parts.get(3)) {
                (Some("screens"), Some(own)) => {
                    screen(target).is_some_and(|other| other != **own)
                        || (target.starts_with("../") && !target.starts_with("../../") && parts.len() == 5)
                }
                (Some("components"), _) => {
                    target.contains("/backend") || target.contains("/state/") || target.contains("/screens/")
                }
                _ => false,
            };
            if foreign {
                wrong.push(format!("{}: {}", source.path, line.trim()));
            }
        }
    }
    none("screens and components keep to themselves", wrong);
}
