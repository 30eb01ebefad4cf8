//! The page: dependencies by the lock file, then built. It must exist before the shell is compiled.

use std::fs;

use crate::node::Node;
use crate::sh::{self, ROOT};

/// `npm ci`, left out while the lock file is the one that was installed, and `vite build`.
pub fn build(node: &Node) -> Result<(), String> {
    let ui = ROOT.join("ui");
    let lock = fs::read(ui.join("package-lock.json")).map_err(|e| format!("ui/package-lock.json: {e}"))?;
    let installed = ui.join("node_modules/.countersign-lock");
    if fs::read(&installed).ok().as_ref() != Some(&lock) {
        sh::run("page: dependencies", node.npm().args(["ci", "--no-audit", "--no-fund"]))?;
        sh::write(&installed, &lock)?;
    }
    sh::run("page: build", node.npm().args(["run", "build"]))
}

/// Types, unit tests and the tests in a browser.
pub fn test(node: &Node) -> Result<(), String> {
    sh::run("page: types", node.npm().args(["run", "check"]))?;
    sh::run("page: unit tests", node.npm().args(["run", "test"]))?;
    sh::run_long("page: in Chromium", "6 minutes", node.npm().args(["run", "e2e"]))
}
