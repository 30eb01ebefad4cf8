//! The file and the memory store; the system keychain is tested against a real one in `tests/dispatch`.

use super::*;
use crate::failure::Code;
use std::path::PathBuf;

struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        let dir = std::env::temp_dir().join(format!("cs-secrets-{}", hex::encode(random::<8>().unwrap())));
        std::fs::create_dir(&dir).unwrap();
        Dir(dir)
    }
    fn file(&self) -> PathBuf {
        self.0.join("secrets")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn word(text: &str) -> Passphrase {
    Passphrase::new(text).unwrap()
}

fn noor() -> PersonId {
    PersonId::from("Noor")
}

fn anchor(seq: i64) -> Anchor {
    Anchor { ledger_id: "id".into(), seq, hash: "00".repeat(32), place: "here".into() }
}

async fn made(dir: &Dir, id: &str) -> Keychain {
    let choice = SecretsChoice::File(dir.file());
    Keychain::create(&choice, id, &noor(), Some(&word("pass"))).await.unwrap().keychain
}

#[tokio::test]
async fn r39_the_file_is_private_and_shows_no_secret() {
    let dir = Dir::new();
    let keychain = made(&dir, "id").await;
    keychain.put_login("mailbox", &LoginSecret::new("canary-TOKEN-123")).await.unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(dir.file()).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let text = String::from_utf8(std::fs::read(dir.file()).unwrap()).unwrap();
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, "canary-TOKEN-123");
    assert!(!text.contains("canary") && !text.contains(&encoded) && !text.contains("mailbox"));
    assert!(!format!("{keychain:?} {:?}", keychain.login("mailbox").await).contains("canary"));
}

#[tokio::test]
async fn r39_without_the_passphrase_every_secret_answers_locked() {
    let dir = Dir::new();
    made(&dir, "id").await;
    let choice = SecretsChoice::File(dir.file());
    let shut = Keychain::open(&choice, "id", None).await.unwrap();
    assert_eq!(shut.ledger_secret().await.unwrap_err().code, Code::Locked);
    assert_eq!(shut.anchor().await.unwrap_err().code, Code::Locked);
    assert_eq!(shut.unlock(None).await.unwrap_err().code, Code::Locked);
    let wrong = Keychain::open(&choice, "id", Some(&word("pas"))).await.unwrap_err();
    assert_eq!(wrong.code, Code::Locked);
    let open = Keychain::open(&choice, "id", Some(&word("pass"))).await.unwrap();
    assert!(open.ledger_secret().await.is_ok());
    assert_eq!(open.unlock(Some(&word("other"))).await.unwrap_err().code, Code::Locked);
    assert!(open.unlock(Some(&word("pass"))).await.is_ok());
}

#[tokio::test]
async fn r39_the_file_is_never_made_without_a_passphrase() {
    let dir = Dir::new();
    let choice = SecretsChoice::File(dir.file());
    let refused = Keychain::create(&choice, "id", &noor(), None).await.err().unwrap();
    assert_eq!(refused.code, Code::BadInput);
    assert!(!dir.file().exists());
}

#[tokio::test]
async fn r39_the_file_must_lie_outside_the_home() {
    let dir = Dir::new();
    let home = dir.0.join("home");
    std::fs::create_dir(&home).unwrap();
    assert!(outside_home(&dir.file(), &home).is_ok());
    assert_eq!(outside_home(&home.join("secrets"), &home).unwrap_err().field.as_deref(), Some("secrets"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&home, dir.0.join("link")).unwrap();
        assert!(outside_home(&dir.0.join("link/secrets"), &home).is_err(), "not through a link either");
    }
}

#[tokio::test]
async fn r27_an_altered_anchor_is_noticed() {
    let dir = Dir::new();
    let keychain = made(&dir, "id").await;
    keychain.set_anchor(&anchor(7)).await.unwrap();
    assert_eq!(keychain.anchor().await.unwrap(), Some(anchor(7)));
    let text = std::fs::read_to_string(dir.file()).unwrap();
    std::fs::write(dir.file(), text.replace("\"seq\":7", "\"seq\":6")).unwrap();
    assert_eq!(keychain.anchor().await.unwrap_err().code, Code::Integrity);
    // Taken out whole it cannot pass for a new home either: see `Frozen::AnchorLost`.
}

#[tokio::test]
async fn r27_the_anchor_is_raised_and_never_lowered() {
    let dir = Dir::new();
    let memory = SecretsChoice::Memory(MemoryStore::default());
    let in_memory = Keychain::create(&memory, "id", &noor(), Some(&word("pass"))).await.unwrap().keychain;
    for keychain in [made(&dir, "id").await, in_memory] {
        assert_eq!(keychain.raise_anchor(&anchor(7)).await.unwrap(), None);
        assert_eq!(keychain.raise_anchor(&anchor(6)).await.unwrap(), Some(anchor(7)));
        let elsewhere = Anchor { place: "there".into(), ..anchor(9) };
        assert_eq!(keychain.raise_anchor(&elsewhere).await.unwrap(), Some(anchor(7)), "not from another place either");
        assert_eq!(keychain.anchor().await.unwrap(), Some(anchor(7)));
        assert_eq!(keychain.raise_anchor(&anchor(8)).await.unwrap(), None);
        assert_eq!(keychain.anchor().await.unwrap(), Some(anchor(8)));
        keychain.set_anchor(&anchor(3)).await.unwrap();
        assert_eq!(keychain.anchor().await.unwrap(), Some(anchor(3)), "a person adopted an older ledger");
    }
}

#[tokio::test]
async fn r27_raising_the_anchor_costs_no_work_of_the_passphrase() {
    let dir = Dir::new();
    let keychain = made(&dir, "id").await;
    let before = std::fs::read_to_string(dir.file()).unwrap();
    keychain.set_anchor(&anchor(1)).await.unwrap();
    let after = std::fs::read_to_string(dir.file()).unwrap();
    let sealed = |text: &str| {
        let doc: serde_json::Value = serde_json::from_str(text).unwrap();
        doc["homes"]["id"]["sealed"].clone()
    };
    assert_eq!(sealed(&before), sealed(&after), "the sealed part was not made anew");
}

#[tokio::test]
async fn r39_two_processes_and_two_homes_keep_each_others_entries() {
    let dir = Dir::new();
    let one = made(&dir, "one").await;
    let choice = SecretsChoice::File(dir.file());
    Keychain::create(&choice, "two", &noor(), Some(&word("another"))).await.unwrap();
    let again = Keychain::open(&choice, "one", Some(&word("pass"))).await.unwrap();
    one.put_login("a", &LoginSecret::new("1")).await.unwrap();
    again.put_login("b", &LoginSecret::new("2")).await.unwrap();
    assert_eq!(one.login("b").await.unwrap().unwrap().expose(), "2", "seen by a process that was open all the time");
    one.set_anchor(&anchor(3)).await.unwrap();
    let fresh = Keychain::open(&choice, "one", Some(&word("pass"))).await.unwrap();
    assert_eq!(fresh.login("a").await.unwrap().unwrap().expose(), "1");
    assert_eq!(fresh.login("b").await.unwrap().unwrap().expose(), "2");
    assert_eq!(fresh.anchor().await.unwrap(), Some(anchor(3)));
    let two = Keychain::open(&choice, "two", Some(&word("another"))).await.unwrap();
    assert_ne!(two.ledger_secret().await.unwrap().0, fresh.ledger_secret().await.unwrap().0);
    assert_eq!(two.login("a").await.unwrap().map(|s| s.expose().to_owned()), None);
}

#[tokio::test]
async fn r12_live_is_signed_only_by_an_unlocked_key() {
    let choice = SecretsChoice::Memory(MemoryStore::default());
    let made = Keychain::create(&choice, "id", &noor(), Some(&word("pass"))).await.unwrap();
    let refused = made.keychain.signer(&noor(), "live", None).await.unwrap_err();
    assert_eq!(refused.code, Code::Locked);
    assert!(made.keychain.signer(&noor(), SANDBOX, None).await.is_ok());
    let presence = made.keychain.unlock(Some(&word("pass"))).await.unwrap();
    assert_eq!(made.keychain.unlock(Some(&word("guess"))).await.unwrap_err().code, Code::Locked);
    let signer = made.keychain.signer(&noor(), "live", Some(&presence)).await.unwrap();
    assert!(made.keychain.roster(&made.certs).await.unwrap().knows(&noor(), &signer.device.id()));
}

#[tokio::test]
async fn r27_the_secrets_move_to_another_machine_by_the_recovery_export() {
    let here = SecretsChoice::Memory(MemoryStore::default());
    let made = Keychain::create(&here, "id", &noor(), Some(&word("pass"))).await.unwrap();
    let presence = made.keychain.unlock(Some(&word("pass"))).await.unwrap();
    let export = made.keychain.export(&presence, Some(&word("sheet"))).await.unwrap();
    let dir = Dir::new();
    let there = SecretsChoice::File(dir.file());
    assert!(Keychain::import(&there, "id", &export, &word("wrong")).await.is_err());
    let moved = Keychain::import(&there, "id", &export, &word("sheet")).await.unwrap();
    assert_eq!(moved.ledger_secret().await.unwrap().0, made.keychain.ledger_secret().await.unwrap().0);
    assert!(moved.unlock(Some(&word("sheet"))).await.is_ok());
}
