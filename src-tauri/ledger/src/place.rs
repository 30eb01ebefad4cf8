//! Where a ledger may lie. SQLite's WAL needs shared memory and locks that network file systems do not give, and a
//! folder that is synced elsewhere copies the file while it is being written (F46).

use crate::LedgerError;
use std::path::{Component, Path, PathBuf};

/// File systems that are shared with other machines.
const NETWORK: [&str; 19] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "smb2",
    "9p",
    "afs",
    "ceph",
    "lustre",
    "glusterfs",
    "ocfs2",
    "gfs2",
    "davfs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.davfs2",
];

/// Folders that a program on this machine copies elsewhere.
const SYNCED: [&str; 6] = ["Dropbox", "OneDrive", "Google Drive", "iCloud Drive", "Mobile Documents", "Nextcloud"];

/// Refuses a file on a network file system or in a synced folder.
pub(crate) fn check(file: &Path) -> Result<(), LedgerError> {
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    // Elsewhere than on Linux there is no such list; the folder's name is still looked at.
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match refusal(&mounts, &folder) {
        Some(why) => Err(LedgerError::Place { why }),
        None => Ok(()),
    }
}

fn refusal(mounts: &str, folder: &Path) -> Option<String> {
    if let Some(kind) = kind_of(mounts, folder) {
        let root = folder.ancestors().last().is_some_and(|r| mount_of(mounts, folder).is_some_and(|(at, _)| at == r));
        // A machine whose whole disk is 9p is a container: that disk is shared with nobody.
        if NETWORK.contains(&kind.as_str()) && !(kind == "9p" && root) {
            return Some(format!(
                "{} is on a network file system ({kind}), which loses writes and locks; choose a folder on this \
                 machine's own disk. To share the work between machines use a team ledger, not a shared folder",
                folder.display()
            ));
        }
    }
    let synced = folder.components().find_map(|c| match c {
        Component::Normal(name) => SYNCED.into_iter().find(|s| name == std::ffi::OsStr::new(s)),
        _ => None,
    })?;
    Some(format!(
        "{} lies in a synced folder ({synced}), which copies the file while it is being written; choose another folder \
         and use `countersign backup` for copies",
        folder.display()
    ))
}

fn kind_of(mounts: &str, folder: &Path) -> Option<String> {
    mount_of(mounts, folder).map(|(_, kind)| kind)
}

/// The mount that holds `folder`: the longest mount point above it, the last one mounted there.
fn mount_of(mounts: &str, folder: &Path) -> Option<(PathBuf, String)> {
    mounts
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let at = PathBuf::from(unescape(left.split(' ').nth(4)?));
            folder.starts_with(&at).then(|| (at, right.split(' ').next().unwrap_or("").to_owned()))
        })
        .max_by_key(|(at, _)| at.components().count())
}

/// mountinfo writes a space as `\040` and so on.
fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let octal = (bytes[i] == b'\\')
            .then(|| bytes.get(i + 1..i + 4))
            .flatten()
            .and_then(|o| std::str::from_utf8(o).ok())
            .and_then(|o| u8::from_str_radix(o, 8).ok());
        match octal {
            Some(byte) => {
                out.push(byte);
                i += 4;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 253:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:45 / /home/noor/office\\040share rw,relatime shared:1 - cifs //nas/office rw,vers=3.0
31 21 0:46 / /net rw - nfs4 nas:/export rw
32 31 253:1 / /net/local rw - xfs /dev/vdb rw
33 21 0:47 / /mnt/far rw - fuse.sshfs far:/ rw
34 21 0:48 / /c rw - 9p drvfs rw";

    #[test]
    fn f46_a_network_folder_is_refused_with_its_kind() {
        for (folder, kind) in
            [("/home/noor/office share/books", "cifs"), ("/net/x", "nfs4"), ("/mnt/far", "fuse.sshfs"), ("/c/a", "9p")]
        {
            let why = refusal(MOUNTS, Path::new(folder)).expect(folder);
            assert!(why.contains(kind) && why.contains("network"), "{why}");
        }
    }

    #[test]
    fn f46_a_local_disk_is_taken_also_below_a_network_mount() {
        for folder in ["/home/noor", "/net/local/books", "/", "/netbooks"] {
            assert_eq!(refusal(MOUNTS, Path::new(folder)), None, "{folder}");
        }
        assert_eq!(refusal("21 1 0:1 / / rw - 9p root rw", Path::new("/data")), None);
    }

    #[test]
    fn f46_a_synced_folder_is_refused() {
        let why = refusal(MOUNTS, Path::new("/home/noor/Dropbox/books")).expect("refused");
        assert!(why.contains("synced"), "{why}");
        assert_eq!(refusal(MOUNTS, Path::new("/home/noor/Dropbox-old")), None);
    }
}
