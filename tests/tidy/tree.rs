//! Files: their size, and the sets that must be complete.

use std::collections::BTreeSet;

use crate::{SOURCES, file, none, sources};

const LONGEST: usize = 600;

#[test]
fn no_source_file_is_longer_than_one_can_hold_in_the_head() {
    let long = SOURCES.iter().filter(|s| [".rs", ".ts", ".svelte", ".css", ".mjs"].iter().any(|e| s.path.ends_with(e)));
    let long = long.filter(|s| !s.path.starts_with("ui/src/styles/")).map(|s| (s.text.lines().count(), &s.path));
    none(
        "at most 600 lines",
        long.filter(|(lines, _)| *lines > LONGEST).map(|(lines, path)| format!("{path}: {lines}")).collect(),
    );
}

#[test]
fn every_provider_has_its_three_parts_and_is_registered() {
    let at = "src-tauri/connectors/src/providers/";
    let inside: Vec<&str> =
        SOURCES.iter().filter_map(|s| s.path.strip_prefix(at)).filter(|p| p.contains('/')).collect();
    let names: BTreeSet<&str> = inside.iter().filter_map(|p| p.split('/').next()).collect();
    assert!(!names.is_empty(), "there is at least the mailbox");
    let registry = file("src-tauri/connectors/src/providers/mod.rs");
    let mut wrong = Vec::new();
    for name in names {
        for part in ["contract.toml", "mod.rs", "answers/"] {
            if !inside
                .iter()
                .any(|p| p.strip_prefix(name).and_then(|p| p.strip_prefix('/')).is_some_and(|p| p.starts_with(part)))
            {
                wrong.push(format!("{name} has no {part}"));
            }
        }
        if !registry.contains(name) {
            wrong.push(format!("{name} is not in the list of providers"));
        }
    }
    none("a provider is three parts and one line", wrong);
}

#[test]
fn both_migration_folders_have_the_same_files_and_tables() {
    let of = |engine: &str| -> Vec<(String, BTreeSet<String>)> {
        let under = format!("migrations/{engine}/");
        let mut files: Vec<_> =
            sources(&under, &["sql"]).map(|s| (s.path[under.len()..].to_owned(), tables(&s.text))).collect();
        files.sort();
        files
    };
    let (sqlite, postgres) = (of("sqlite"), of("postgres"));
    assert!(!sqlite.is_empty(), "there are migrations");
    let names = |files: &[(String, BTreeSet<String>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&sqlite), names(&postgres), "the same files in both folders");
    for ((name, one), (_, other)) in sqlite.iter().zip(&postgres) {
        assert_eq!(one, other, "{name} makes the same tables");
    }
}

/// The tables a migration makes. The search index differs honestly and is named so.
fn tables(sql: &str) -> BTreeSet<String> {
    let words: Vec<&str> = sql
        .lines()
        .filter(|l| !l.trim_start().starts_with("--"))
        .flat_map(|l| l.split(|c: char| !(c.is_alphanumeric() || c == '_')))
        .filter(|w| !w.is_empty())
        .collect();
    let makes = |w: &[&str]| w[0].eq_ignore_ascii_case("create") && w[1].eq_ignore_ascii_case("table");
    let names =
        words.windows(6).filter(|w| makes(w)).map(|w| if w[2].eq_ignore_ascii_case("if") { w[5] } else { w[2] });
    names.map(str::to_owned).filter(|name| !name.contains("search") && !name.contains("fts")).collect()
}

#[test]
fn every_error_code_is_told_in_the_window() {
    let failure = file("src-tauri/engine/src/failure.rs");
    let words: Vec<&str> = failure
        .lines()
        .filter(|l| l.contains("Code::") && l.contains("=> \""))
        .filter_map(|l| l.split('"').nth(1))
        .collect();
    assert!(words.len() >= 5, "failure.rs names its codes as `Code::Name => \"word\"`");
    let page: String = sources("ui/src/", &["ts", "svelte"])
        .filter(|s| !s.path.starts_with("ui/src/bindings/"))
        .map(|s| s.text.as_str())
        .collect();
    let silent =
        words.iter().filter(|word| !page.contains(&format!("\"{word}\"")) && !page.contains(&format!("{word}:")));
    none("codes without words in the window", silent.map(|word| (*word).to_owned()).collect());
}
