//! Files a person attaches while they edit. Until the edit is saved they are here, in memory only; the editor names them by
//! digest, so that each keystroke does not carry them.

use super::Desk;
use crate::failure::Failure;
use crate::view::FileDoc;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::payload::Attachment;
use countersign_domain::size::size_in_words;
use countersign_domain::{ActionId, Payload};
use countersign_ledger::Detail;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that wait for one edit, at most: what one message may carry.
const WAITING_MAX: usize = 35 << 20;

#[derive(Clone, Default)]
pub(super) struct Attached(Arc<Mutex<HashMap<ActionId, Vec<Attachment>>>>);

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Attached(…)")
    }
}

impl Attached {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<ActionId, Vec<Attachment>>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn forget(&self, id: ActionId) {
        self.with(|all| all.remove(&id));
    }
}

impl Desk {
    /// Takes a file for the edit of an action. It becomes part of the action with the edit that names it.
    ///
    /// # Errors
    /// Bad input for what is not base64, for a name or type that no message can carry, and for more than 35 MiB.
    pub async fn attach(
        &self,
        id: ActionId,
        filename: &str,
        content_type: &str,
        base64: &str,
    ) -> Result<FileDoc, Failure> {
        let record = self.record(id).await?;
        let bytes = STANDARD.decode(base64).map_err(|_| Failure::bad_input("file", "is not base64").on(id))?;
        let file = Attachment::new(bytes);
        let doc = FileDoc {
            filename: filename.to_owned(),
            content_type: content_type.to_owned(),
            size: file.bytes.len() as u64,
            sha256: file.sha256.clone(),
        };
        check_name(&record.row.effect, &doc, &file).map_err(|e| e.on(id))?;
        self.attached.with(|all| {
            let mine = all.entry(id).or_default();
            if mine.iter().any(|known| known.sha256 == file.sha256) {
                return Ok(());
            }
            let waiting: usize = mine.iter().map(|known| known.bytes.len()).sum();
            if waiting + file.bytes.len() > WAITING_MAX {
                let (name, most) = (&doc.filename, size_in_words(WAITING_MAX as u64));
                let why = format!("with `{name}` the files that wait here would be larger than {most} together");
                return Err(Failure::bad_input("file", why).on(id));
            }
            mine.push(file);
            Ok(())
        })?;
        Ok(doc)
    }

    /// The bytes of a file of an action, in base64, for looking at it before approval.
    pub async fn file(&self, id: ActionId, sha256: &str) -> Result<String, Failure> {
        let detail = self.ledger().detail(id).await?;
        let all = self.files_of(&detail);
        let file = all.iter().find(|file| file.sha256 == sha256);
        let file = file.ok_or_else(|| Failure::not_found("this action has no such file").at("sha256").on(id))?;
        Ok(STANDARD.encode(&file.bytes))
    }

    /// The files a payload of this action may name: those of its versions and those that wait for an edit.
    pub(super) fn files_of(&self, detail: &Detail) -> Vec<Attachment> {
        let waiting = self.attached.with(|all| all.get(&detail.record.id()).cloned().unwrap_or_default());
        detail.attachments.iter().cloned().chain(waiting).collect()
    }
}

/// Asks the same rules that an edit asks, on the smallest message that carries the file, so that a bad name is told when
/// it is chosen.
fn check_name(effect: &str, doc: &FileDoc, file: &Attachment) -> Result<(), Failure> {
    if !effect.starts_with("email.") {
        return Err(Failure::bad_input("file", "only a message carries files"));
    }
    let at = serde_json::json!({"email": "a@b.example"});
    let message = serde_json::json!({
        "from": at, "to": [at], "subject": "", "text": "x",
        "attachments": [{"filename": doc.filename, "content_type": doc.content_type, "sha256": doc.sha256, "size": doc.size}],
    });
    match Payload::parse("email.send", message, std::slice::from_ref(file)) {
        Ok(_) => Ok(()),
        Err(e) => Err(Failure::bad_input("file", e.to_string())),
    }
}
