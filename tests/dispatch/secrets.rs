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
