//! `cargo xtask bench [NAME…]`: ratios and counts, never wall times alone (the machine may be busy).
//!
//! Each measurement is one function in [`ALL`]; it prints what it found and its target, and fails if it could not
//! measure. They run on the optimised build (profile `bench`), on a real disk.

use std::ffi::OsStr;
use std::path::Path;

use crate::node::Node;
use crate::sh::{self, cargo};
use crate::{packages, page, setup};

/// Gets an empty folder on the disk that holds the repository; the programs are in `sh::TARGET/release`.
type Measurement = (&'static str, fn(&Path) -> Result<(), String>);

/// Name and function, in the order they run.
const ALL: &[Measurement] = &[
    ("lifecycle", |dir| product(&["lifecycle".as_ref(), dir.as_os_str()])),
    ("sending", |dir| product(&["sending".as_ref(), dir.as_os_str()])),
    ("search", |dir| product(&["search".as_ref(), dir.as_os_str()])),
    ("window", |dir| {
        let program = |name: &str| sh::TARGET.join("release").join(name);
        let (app, bare) = (program("countersign-app"), program("examples/bare"));
        product(&["window".as_ref(), dir.as_os_str(), "100000".as_ref(), app.as_os_str(), bare.as_os_str()])
    }),
];

/// One measurement of the test crate's bench program, built by the run before.
fn product(words: &[&OsStr]) -> Result<(), String> {
    sh::run("measurement", cargo().args(["bench", "--quiet", "--workspace", "--bench", "product", "--"]).args(words))
}

pub fn run(names: &[&str]) -> Result<(), String> {
    let node: Node = setup(packages::Needs::Test)?;
    page::build(&node)?;
    // One build for all: the programs and what measures them.
    let what = ["--bins", "--example", "bare", "--bench", "product"];
    sh::run("optimised build", cargo().args(["build", "--profile", "bench", "--workspace", "--quiet"]).args(what))?;
    packages::peers();
    let scratch = sh::TARGET.join("bench");
    let chosen: Vec<&Measurement> = ALL.iter().filter(|(name, _)| names.is_empty() || names.contains(name)).collect();
    if chosen.is_empty() {
        return Err(format!(
            "no such measurement; there are: {}",
            ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
        ));
    }
    for (name, measure) in chosen {
        sh::say(name);
        let _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        measure(&scratch)?;
    }
    let _ = std::fs::remove_dir_all(&scratch);
    Ok(())
}
