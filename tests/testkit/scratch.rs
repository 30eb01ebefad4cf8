//! Scratch folders that clean up after themselves, whatever becomes of the test process.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A short path under the system's temp folder that every user may enter, and a keeper process that runs the stop
/// commands and removes the folder once this value is dropped or the test process is gone.
///
/// The keeper reads a pipe held by this process; the kernel closes it in every kind of ending, `kill -9` included.
pub struct Scratch {
    path: PathBuf,
    keeper: Option<Child>,
}

impl Scratch {
    /// Makes the folder. `stop` is shell text run at the end, with `$D` set to the folder; it must not fail loudly.
    pub fn new(stop: &str) -> Scratch {
        let path =
            tempfile::Builder::new().prefix("cs-").rand_bytes(6).tempdir_in("/tmp").expect("a scratch folder").keep();
        // The daemons' own users must be able to enter, and Unix socket paths end at 107 bytes.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the scratch folder is ours");
        assert!(path.as_os_str().len() < 40, "{} is too long for the sockets inside it", path.display());
        let script = format!("trap '' INT TERM HUP; read -r _; {stop}\nrm -rf \"$D\"");
        let keeper = Command::new("sh")
            .args(["-c", &script])
            .env("D", &path)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        Scratch { path, keeper: Some(keeper) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file inside, with the folders above it.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("a folder in the scratch folder");
        fs::write(&path, text).expect("a file in the scratch folder");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }
}

/// Shell text that ends the process whose id is in `$D/NAME.pid`, politely, and waits for it.
pub(crate) fn stop_pid_file(name: &str) -> String {
    format!(
        "if [ -s \"$D/{name}.pid\" ]; then p=$(cat \"$D/{name}.pid\"); kill \"$p\"; n=0; \
         while kill -0 \"$p\" && [ $n -lt 60 ]; do sleep 0.05; n=$((n + 1)); done; kill -9 \"$p\"; fi;"
    )
}

/// Notes a child's id where the keeper finds it.
pub(crate) fn note_pid(scratch: &Scratch, name: &str, child: &Child) {
    scratch.write(&format!("{name}.pid"), child.id().to_string());
}
