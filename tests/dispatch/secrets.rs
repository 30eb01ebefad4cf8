//! The system keychain: a real one, none, and one that forgets (R39, F43).

use testkit::{Cli, Scratch, Session};

fn home(dir: &Scratch, session: &Session) -> Cli {
    Cli::new(dir.join("home")).with_env(session.env())
}

#[test]
fn r39_a_home_keeps_its_secrets_in_the_system_keychain_and_in_no_file() {
    let session = Session::with_keyring();
    let dir = Scratch::new("");
    let cli = home(&dir, &session).with_passphrase("correct horse battery");
    cli.ok(&["init", "--owner", "Noor Brackley", "--sandbox"]);
    let config = std::fs::read_to_string(dir.join("home/config.toml")).unwrap();
    assert!(config.contains("secrets = \"keychain\""), "{config}");
    // A decision in live needs the passphrase, which unwraps the key that lies in the keychain.
    cli.ok(&["sending", "on", "--environment", "live"]);
    let without = home(&dir, &session);
    without.ok(&["sending", "off", "--environment", "live"]);
    without.run(&["sending", "on", "--environment", "live"]).expect(4);
    let found = session.command("secret-tool").args(["search", "--all", "service", "countersign"]).output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&found.stderr));
    assert!(told.contains("countersign"), "the entries are in the keychain: {told}");
}

#[test]
fn r39_with_no_keychain_it_says_so_and_makes_nothing() {
    let session = Session::start();
    let dir = Scratch::new("");
    let cli = home(&dir, &session).with_passphrase("correct horse battery");
    let refused = cli.run(&["init", "--owner", "Noor Brackley"]).expect(4);
    let message = refused.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("keychain") && message.contains("--secrets file:PATH"), "{message}");
    assert!(!dir.join("home/config.toml").exists());
    assert!(!dir.join("home/ledger.db").exists(), "no ledger without its secrets");
}

#[test]
fn f43_a_keychain_that_forgot_freezes_and_loses_nothing() {
    let dir = Scratch::new("");
    let session = Session::with_keyring();
    home(&dir, &session).with_passphrase("correct horse battery").ok(&["init", "--owner", "Noor", "--sandbox"]);
    drop(session);
    let another = Session::with_keyring();
    let told = home(&dir, &another).run(&["dispatch", "--until-idle"]).expect(8);
    assert!(told.error()["message"].as_str().unwrap().contains("recovery export"), "{told:?}");
    assert!(dir.join("home/ledger.db").exists());
}

#[test]
fn f44_a_password_is_in_no_file_of_the_home() {
    use base64::Engine as _;
    const CANARY: &str = "canary-TOKEN-123";
    let dir = Scratch::new("");
    let secrets = format!("file:{}", dir.join("secrets").display());
    let cli = Cli::new(dir.join("home")).with_args(&["--secrets", &secrets]).with_passphrase("correct horse battery");
    cli.ok(&["init", "--owner", "Noor Brackley", "--sandbox"]);
    // Nobody listens there: the login is tried, and what is told about it goes to the log.
    let file = "name = \"gone\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\n[mailbox]\nfrom = [\"a@shop.example\"]\n\
                smtp = \"smtp+plain://127.0.0.1:9\"\nimap = \"imap+plain://127.0.0.1:9\"\nusername = \"a@shop.example\"\n";
    let file = dir.write("gone.toml", file);
    let add = ["destination", "add", file.to_str().unwrap()];
    let added = cli.run_secret(&add, "--secret-fd", CANARY).expect(0);
    let tested = cli.run(&["destination", "test", "gone"]);
    let encoded = base64::engine::general_purpose::STANDARD.encode(CANARY);
    let plain = base64::engine::general_purpose::STANDARD.encode(format!("\0a@shop.example\0{CANARY}"));
    let mut texts = vec![format!("{added:?}{tested:?}").into_bytes()];
    let mut folders = vec![dir.join("home"), dir.join("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { texts.push(std::fs::read(path).unwrap()) }
        }
    }
    for text in &texts {
        for form in [CANARY, &encoded, &plain] {
            assert!(!text.windows(form.len()).any(|w| w == form.as_bytes()), "the password shows");
        }
    }
}
