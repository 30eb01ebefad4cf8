//! Peers from PyPI that the tests speak with: the official MCP SDK, the Standard Webhooks library.

use std::process::Command;

use crate::sh::{self, ROOT, TARGET};

const LIST: &str = "tests/peers/requirements.txt";

/// Puts the pinned versions into the target folder, unless exactly these are there.
pub fn install() -> Result<(), String> {
    let list = ROOT.join(LIST);
    let wanted = std::fs::read_to_string(&list).map_err(|e| format!("{LIST}: {e}"))?;
    let folder = TARGET.join("peers");
    let stamp = folder.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let python = sh::find("python3").ok_or("Python 3 with pip is needed for the peers of the tests")?;
    // A package of another version that stays behind would be found first.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.args(["--no-deps", "--target"]).arg(&folder).arg("--requirement").arg(&list);
    sh::run("the peers of the tests come from PyPI into the target folder", &mut pip)?;
    sh::write(&stamp, wanted)
}
