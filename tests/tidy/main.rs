//! The rules of the repository's shape, as tests over `cargo metadata` and the source tree.
//!
//! What Cargo can enforce is enforced by the crates' manifests; these tests keep the manifests, and look for the words
//! that a manifest cannot forbid.

mod edges;
mod names;
mod shell;
mod tree;
mod words;

use std::path::PathBuf;
use std::sync::LazyLock;

/// The repository's root.
static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    // Cargo sets it when it runs a test as well, so a clone that was moved is found.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().expect("the tests are a folder of the repository").to_owned()
});

/// A text file of the repository.
struct Source {
    /// From the root, with `/`.
    path: String,
    text: String,
}

/// What git knows and what it would add, so that an uncommitted file is held to the same rules.
static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let listed = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(&*ROOT)
        .output()
        .expect("git lists the files");
    assert!(listed.status.success(), "git: {}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("our names are plain");
    let read = |path: &str| {
        let text = std::fs::read_to_string(ROOT.join(path)).ok()?;
        Some(Source { path: path.to_owned(), text })
    };
    names.split('\0').filter(|name| !name.is_empty()).filter_map(read).collect()
});

fn sources(under: &str, endings: &[&str]) -> impl Iterator<Item = &'static Source> {
    let endings: Vec<String> = endings.iter().map(|e| format!(".{e}")).collect();
    let under = under.to_owned();
    SOURCES.iter().filter(move |s| s.path.starts_with(&under) && endings.iter().any(|e| s.path.ends_with(e.as_str())))
}

fn file(path: &str) -> &'static str {
    SOURCES.iter().find(|s| s.path == path).map_or_else(|| panic!("{path} is missing"), |s| &s.text)
}

/// Fails with every finding at once.
#[track_caller]
fn none(rule: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}
