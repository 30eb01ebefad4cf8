//! A throw-away PostgreSQL for the ledger suite, on loopback, with a password of its own.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::keeper::{self, Keeper};
use crate::sh;

/// A running cluster. It ends and its files go with this value.
pub struct Postgres {
    url: String,
    _keeper: Keeper,
}

impl Postgres {
    /// For `COUNTERSIGN_TEST_PG`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn start() -> Result<Postgres, String> {
        let bin = newest()?;
        let folder = keeper::folder("pg")?;
        let at = folder.display().to_string();
        // PostgreSQL refuses root; its package brought a user.
        let user = if sh::is_root() { "runuser -u postgres -- " } else { "" };
        let keeper = Keeper::new(
            &folder,
            &format!("cd \"$D\"; {user}{}/pg_ctl stop -m immediate -D \"$D/data\"", bin.display()),
        )?;
        let password =
            fs::read_to_string("/proc/sys/kernel/random/uuid").map_err(|e| format!("no random source: {e}"))?;
        let password = password.trim();
        sh::write(&folder.join("pw"), password)?;
        if sh::is_root() {
            sh::run("PostgreSQL: folder", Command::new("chown").args(["-R", "postgres", &at]))?;
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|l| l.local_addr())
            .map_err(|e| format!("no free port: {e}"))?
            .port();
        let make = format!(
            "cd {at} && {user}{bin}/initdb -D {at}/data -U countersign --pwfile={at}/pw -A scram-sha-256 -E UTF8 --locale=C --no-sync > {at}/log 2>&1 \
             && {user}{bin}/pg_ctl start -w -D {at}/data -l {at}/server.log -o \"-c listen_addresses=127.0.0.1 -p {port} -k {at} -c fsync=off -c max_connections=200\" >> {at}/log 2>&1",
            bin = bin.display(),
        );
        sh::run("PostgreSQL: start", Command::new("sh").args(["-c", &make]))
            .map_err(|e| format!("{e}\n{}", fs::read_to_string(folder.join("log")).unwrap_or_default()))?;
        Ok(Postgres { url: format!("postgres://countersign:{password}@127.0.0.1:{port}/postgres"), _keeper: keeper })
    }
}

/// The folder of the newest server installed. Debian keeps several side by side, off the PATH.
fn newest() -> Result<PathBuf, String> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut bins: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("initdb").exists())
        .collect();
    bins.sort();
    let on_path = || sh::find("initdb").and_then(|file| file.parent().map(Path::to_owned));
    bins.pop().map(|(_, bin)| bin).or_else(on_path).ok_or_else(|| "PostgreSQL's initdb is not installed".to_owned())
}
