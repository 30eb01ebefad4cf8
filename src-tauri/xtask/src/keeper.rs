//! Services that end when xtask does, whatever ends it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A shell that holds a pipe of ours and runs its stop commands once the pipe closes: when this value goes, or when
/// xtask itself is gone, by Ctrl-C or kill.
pub struct Keeper(Child);

impl Keeper {
    /// `stop` is shell text; `folder` is `$D` in it and is removed at the end.
    pub fn new(folder: &std::path::Path, stop: &str) -> Result<Keeper, String> {
        let script = format!("trap '' INT TERM HUP; read -r _; {stop}\nrm -rf \"$D\"");
        let child = Command::new("sh")
            .args(["-c", &script])
            .env("D", folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("sh does not start: {e}"))?;
        Ok(Keeper(child))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A new folder under the system's temp folder, short enough for the sockets inside it.
pub fn folder(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(format!("/tmp/cs-{name}-{}", std::process::id()));
    // Not `create_dir_all`: a folder that is there already is somebody else's.
    std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
