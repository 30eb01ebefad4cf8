//! `countersign` alone: starts the desktop window, where one is installed and there is a display.

use crate::args::Global;
use countersign_engine::{Code, Failure};
use std::path::PathBuf;
use std::process::Command;

const APP: &str = "countersign-app";

pub fn start(global: &Global) -> Result<u8, Failure> {
    let app = installed().ok_or_else(|| {
        Failure::bad_input(
            "command",
            "no window is installed beside this program; `countersign --help` lists the commands",
        )
    })?;
    if !has_display() {
        return Err(Failure::bad_input(
            "command",
            "there is no display here; `countersign --help` lists the commands that need none",
        ));
    }
    let mut command = Command::new(&app);
    if let Some(home) = &global.home {
        command.env("COUNTERSIGN_HOME", home);
    }
    if let Some(secrets) = &global.secrets {
        command.env("COUNTERSIGN_SECRETS", secrets);
    }
    let status = command
        .status()
        .map_err(|e| Failure::new(Code::Internal, format!("{} does not start: {}", app.display(), e.kind())))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(Code::Internal.exit()))
}

/// Beside this program, else on the path.
fn installed() -> Option<PathBuf> {
    let name = format!("{APP}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|p| p.parent().map(|dir| dir.join(&name)));
    let on_path = std::env::var_os("PATH").into_iter().flat_map(|p| std::env::split_paths(&p).collect::<Vec<_>>());
    beside.into_iter().chain(on_path.map(|dir| dir.join(&name))).find(|p| p.is_file())
}

fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    cfg!(any(windows, target_os = "macos")) || set("DISPLAY") || set("WAYLAND_DISPLAY")
}
