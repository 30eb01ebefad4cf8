//! The door for files: a watched folder with one sub-folder per source, named like it. Whoever may write there hands in as
//! that source, which is what the command `propose --source NAME` grants to the same user; so the folders must be the
//! user's own and writable by nobody else.
//!
//! A file `NAME.json` moves to `accepted/` or `refused/`, with the answer or the reason in `NAME.answer.json` beside it.
//! Whoever writes a file either renames it into place or finishes it within one round: it is taken once it stayed as it was
//! from one round to the next. Taken and not yet moved when the process ended, it is taken again, and is a duplicate.

use super::http::{BODY_LIMIT, too_large_in_words};
use super::{Intake, is_ours, turned_down};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(1);
/// Files taken in one round; the others come in the next one.
const AT_ONCE: usize = 50;
const ACCEPTED: &str = "accepted";
const REFUSED: &str = "refused";

/// How a file looks: its length, and when it was written.
type Look = (u64, Option<SystemTime>);

/// What one round did.
#[derive(Debug, Default, PartialEq)]
pub struct Round {
    pub accepted: usize,
    pub refused: usize,
    /// What kept a file or a whole sub-folder where it is; it is tried again.
    pub failures: Vec<Failure>,
}

/// A watched folder.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    intake: Intake,
    /// How each waiting file looked in the last round.
    seen: HashMap<PathBuf, Look>,
    /// Files that were handed in and could not be moved, as they looked then: only that is tried again.
    handled: HashMap<PathBuf, Handled>,
}

/// What became of a file.
#[derive(Debug)]
struct Handled {
    look: Look,
    taken: bool,
    told: Value,
}

impl Folder {
    /// # Errors
    /// Bad input where it is no folder, where it belongs to another user, or where others than its owner may write in it.
    pub fn open(dir: &Path, intake: Intake) -> Result<Folder, Failure> {
        own(dir)?;
        Ok(Folder { dir: dir.to_owned(), intake, seen: HashMap::new(), handled: HashMap::new() })
    }

    /// Looks every second until told to stop. Failures are logged once, not every second.
    pub async fn watch(mut self, stop: CancellationToken) {
        let mut told: Vec<Failure> = Vec::new();
        loop {
            let round = self.round().await;
            for failure in round.failures.iter().filter(|f| !told.contains(f)) {
                tracing::warn!(code = ?failure.code, "the watched folder: {}", failure.message);
            }
            told = round.failures;
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(ROUND) => {}
            }
        }
    }

    /// One look at every source's sub-folder.
    pub async fn round(&mut self) -> Round {
        let mut done = Round::default();
        let mut waiting = HashMap::new();
        match sub_folders(&self.dir) {
            Ok(sources) => {
                for (source, dir) in sources {
                    if let Err(failure) = self.source(&source, &dir, &mut waiting, &mut done).await {
                        done.failures.push(failure);
                    }
                }
            }
            Err(failure) => done.failures.push(failure),
        }
        self.handled.retain(|file, _| waiting.contains_key(file));
        self.seen = waiting;
        done
    }

    async fn source(
        &mut self,
        source: &str,
        dir: &Path,
        waiting: &mut HashMap<PathBuf, Look>,
        done: &mut Round,
    ) -> Result<(), Failure> {
        own(dir)?;
        let mut room = AT_ONCE;
        for (file, look) in files(dir)? {
            let handled = self.handled.get(&file).is_some_and(|handled| handled.look == look);
            // Those that only wait to be moved keep no other waiting.
            if self.seen.get(&file) != Some(&look) || (room == 0 && !handled) {
                waiting.insert(file, look);
                continue;
            }
            room -= usize::from(!handled);
            match self.take(source, &file, look).await {
                Ok(true) => done.accepted += 1,
                Ok(false) => done.refused += 1,
                Err(failure) => {
                    waiting.insert(file, look);
                    done.failures.push(failure);
                }
            }
        }
        Ok(())
    }

    /// Hands one file in and moves it. True where its delivery was taken.
    async fn take(&mut self, source: &str, file: &Path, look: Look) -> Result<bool, Failure> {
        let (taken, told) = match self.handled.remove(file).filter(|handled| handled.look == look) {
            Some(handled) => (handled.taken, handled.told),
            None => self.answer(source, file).await?,
        };
        match put_away(file, if taken { ACCEPTED } else { REFUSED }, &told) {
            Ok(()) => Ok(taken),
            Err(failure) => {
                self.handled.insert(file.to_owned(), Handled { look, taken, told });
                Err(failure)
            }
        }
    }

    /// Whether its delivery is taken, and what is told of it.
    async fn answer(&self, source: &str, file: &Path) -> Result<(bool, Value), Failure> {
        let answer = match read(file)? {
            Some(document) => self.hand_in(source, &document).await,
            None => Err(Failure::bad_input("document", too_large_in_words())),
        };
        match answer {
            Err(failure) if !is_ours(&failure) => Ok((false, json!({ "error": failure.doc() }))),
            answer => answer,
        }
    }

    async fn hand_in(&self, source: &str, document: &[u8]) -> Result<(bool, Value), Failure> {
        let source = self.intake.by_name(source).await?;
        let answer = self.intake.propose(&source, document).await?;
        let told = serde_json::to_value(&answer).map_err(|e| Failure::internal(e.to_string()))?;
        Ok((!turned_down(&answer), told))
    }
}

/// The folder must be the user's own: whoever can write in it, or may allow others to, can propose.
fn own(dir: &Path) -> Result<(), Failure> {
    let bad = |why: &str| Err(Failure::bad_input("watch", format!("{}: {why}", name_of(dir))));
    let meta = match fs::symlink_metadata(dir) {
        Ok(meta) if meta.is_dir() => meta,
        Ok(_) => return bad("is not a folder"),
        Err(e) => return bad(&format!("cannot be read: {}", e.kind())),
    };
    if is_another_users(&meta) {
        return bad("belongs to another user, who could hand in; make one of your own");
    }
    if writable_by_others(&meta) {
        return bad("others may write in it, so anybody could hand in");
    }
    Ok(())
}

/// Whoever owns a folder writes in it, or opens it to others at any time, whatever its mode says now.
#[cfg(unix)]
fn is_another_users(meta: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(meta) != rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_another_users(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn writable_by_others(meta: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o022 != 0
}

/// Elsewhere the folder lies in the user's profile, whose permissions the system keeps.
#[cfg(not(unix))]
fn writable_by_others(_: &Metadata) -> bool {
    false
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn unread(e: &std::io::Error) -> Failure {
    Failure::bad_input("watch", format!("the folder cannot be read: {}", e.kind()))
}

/// The sub-folders by name; each is a source's.
fn sub_folders(dir: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| unread(&e))?.flatten() {
        // No links: they lead where somebody else may write.
        if entry.file_type().is_ok_and(|t| t.is_dir())
            && let Ok(name) = entry.file_name().into_string()
        {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Waiting files, oldest name first: `*.json`, no hidden ones, no links.
fn files(dir: &Path) -> Result<Vec<(PathBuf, Look)>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| unread(&e))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let (false, true, Ok(meta)) = (name.starts_with('.'), name.ends_with(".json"), entry.metadata()) else {
            continue;
        };
        if meta.is_file() {
            found.push((entry.path(), (meta.len(), meta.modified().ok())));
        }
    }
    found.sort();
    Ok(found)
}

/// None where it is larger than a proposal may be.
fn read(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let mut bytes = Vec::new();
    fs::File::open(file)
        .and_then(|f| f.take(BODY_LIMIT as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| Failure::internal(format!("a file in the watched folder cannot be read: {}", e.kind())))?;
    Ok((bytes.len() <= BODY_LIMIT).then_some(bytes))
}

/// Writes the answer beside where the file goes, then moves it there. A name that is taken gets a number: nothing that was
/// put away before is written over.
fn put_away(file: &Path, to: &str, told: &Value) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::internal(format!("a file cannot be moved to {to}/: {}", e.kind()));
    let Some(dir) = file.parent().map(|d| d.join(to)) else { return Ok(()) };
    match fs::create_dir(&dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let free = (0_u32..)
        .map(|n| if n == 0 { stem.clone() } else { format!("{stem}-{n}") })
        .find(|stem| !dir.join(format!("{stem}.json")).exists())
        .unwrap_or_else(|| stem.clone());
    let text = serde_json::to_vec_pretty(told).map_err(|e| Failure::internal(e.to_string()))?;
    fs::write(dir.join(format!("{free}.answer.json")), text).map_err(failed)?;
    fs::rename(file, dir.join(format!("{free}.json"))).map_err(failed)
}
