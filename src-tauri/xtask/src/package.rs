//! `cargo xtask package`: a Debian package of the window that was built, without a second build.

use std::fs;
use std::path::PathBuf;

use crate::node::Node;
use crate::sh::{self, ROOT, TARGET, cargo, say};
use crate::{packages, page, setup};

/// Where the tests look for it.
fn folder() -> PathBuf {
    TARGET.join("package")
}

pub fn run() -> Result<(), String> {
    let node = setup(packages::Needs::App)?;
    page::build(&node)?;
    sh::run("build", cargo().args(["build", "--workspace"]))?;
    build(&node)?;
    say("The package, of the debug build:");
    for file in fs::read_dir(folder().join("debug/bundle/deb")).into_iter().flatten().flatten() {
        if file.path().extension().is_some_and(|kind| kind == "deb") {
            println!("   {}", file.path().display());
        }
    }
    Ok(())
}

/// Packs what `cargo build` made. The bundler writes its kind into the program, so it gets a copy.
pub fn build(node: &Node) -> Result<(), String> {
    let folder = folder();
    let _ = fs::remove_dir_all(&folder);
    let programs = folder.join("debug");
    fs::create_dir_all(&programs).map_err(|e| format!("{}: {e}", programs.display()))?;
    let name = "countersign-app";
    fs::copy(TARGET.join("debug").join(name), programs.join(name)).map_err(|e| format!("{name}: {e}"))?;
    let mut bundle = node.script("@tauri-apps/cli/tauri.js");
    bundle.args(["bundle", "--ci", "--debug", "--bundles", "deb"]).current_dir(ROOT.join("src-tauri"));
    sh::run("package", bundle.env("CARGO_TARGET_DIR", &folder))
}
