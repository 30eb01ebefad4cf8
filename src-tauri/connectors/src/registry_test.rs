use super::*;
use crate::providers::mailbox::config::{FilesSent, MailboxConfig, Security};
use std::time::Duration;

const FILE: &str = r#"
name = "support-mailbox"
kind = "mailbox"
environment = "live"
undo_seconds = 10
[mailbox]
from = ["Shop Support <support@shop.example>", "billing@shop.example"]
smtp = "smtps://smtp.shop.example:465"
imap = "imap+starttls://imap.shop.example"
username = "support@shop.example"
sent_folder = "auto"
files_sent_itself = "auto"
"#;

fn mailbox(text: &str) -> MailboxConfig {
    parse(text).expect("the file is right");
    let file: Table = text.parse().expect("it is TOML");
    MailboxConfig::read(file["mailbox"].as_table().expect("a table"), false).expect("the table is right")
}

fn refused(text: &str) -> FieldError {
    parse(text).expect_err("the file is wrong")
}

#[test]
fn r34_the_file_of_the_interface_is_read() {
    let config = parse(FILE).unwrap();
    assert_eq!((config.name.as_str(), config.kind, config.undo_seconds), ("support-mailbox", "mailbox", Some(10)));
    let m = mailbox(FILE);
    assert_eq!(m.from[0].name.as_deref(), Some("Shop Support"));
    assert_eq!(m.from[1].email, "billing@shop.example");
    assert_eq!(m.smtp.security, Security::Tls);
    let imap = m.imap.unwrap();
    assert_eq!((imap.security, imap.port), (Security::StartTls, 143));
    assert_eq!(m.answer_timeout, Duration::from_secs(600));
    assert_eq!(m.files_sent_itself, FilesSent::Auto);
}

#[test]
fn r34_unknown_keys_are_refused_by_name_and_secrets_have_no_place() {
    assert_eq!(refused(&FILE.replace("smtp =", "smpt =")).field, "mailbox.smpt");
    assert_eq!(refused(&FILE.replace("undo_seconds", "undo")).field, "undo");
    let e = refused(&format!("{FILE}\npassword = \"x\""));
    assert_eq!(e.field, "mailbox.password");
    assert!(e.reason.contains("never in the file"));
}

#[test]
fn r34_plain_text_and_the_sandbox_stay_on_loopback() {
    let e = refused(&FILE.replace("smtps://smtp.shop.example:465", "smtp+plain://smtp.shop.example:25"));
    assert_eq!(e.field, "mailbox.smtp");
    let local = FILE
        .replace("smtps://smtp.shop.example:465", "smtp+plain://127.0.0.1:2525")
        .replace("imap+starttls://imap.shop.example", "imap+plain://localhost:2143");
    assert_eq!(mailbox(&local).smtp.security, Security::Plain);
    assert_eq!(refused(&FILE.replace("\"live\"", "\"sandbox\"")).field, "mailbox.smtp");
    assert!(parse(&local.replace("\"live\"", "\"sandbox\"")).is_ok());
}

#[test]
fn r34_wrong_values_name_their_field() {
    for (from, to, field) in [
        ("smtps://smtp.shop.example:465", "https://smtp.shop.example", "mailbox.smtp"),
        ("smtps://smtp.shop.example:465", "smtps://user@smtp.shop.example", "mailbox.smtp"),
        ("smtps://smtp.shop.example:465", "smtps://smtp.shop.example:0", "mailbox.smtp"),
        ("billing@shop.example", "billing@", "mailbox.from[1]"),
        ("files_sent_itself = \"auto\"", "files_sent_itself = \"maybe\"", "mailbox.files_sent_itself"),
        ("files_sent_itself = \"auto\"", "answer_timeout_seconds = 0", "mailbox.answer_timeout_seconds"),
        ("undo_seconds = 10", "undo_seconds = -1", "undo_seconds"),
        ("kind = \"mailbox\"", "kind = \"pigeon\"", "kind"),
        ("support-mailbox", "Support Mailbox", "name"),
    ] {
        assert_eq!(refused(&FILE.replace(from, to)).field, field, "{to}");
    }
}

#[test]
fn r03_the_account_changes_with_host_login_and_sender_but_not_with_limits() {
    let of = |text: &str| mailbox(text).account();
    let base = of(FILE);
    assert_eq!(base, of(&FILE.replace("sent_folder = \"auto\"", "answer_timeout_seconds = 5")));
    assert_eq!(base, of(&FILE.replace("Shop Support <support@shop.example>", "Other Name <support@SHOP.example>")));
    for (from, to) in [
        ("smtp.shop.example", "smtp.other.example"),
        ("imap.shop.example", "imap.other.example"),
        ("username = \"support@shop.example\"", "username = \"other\""),
        ("billing@", "bills@"),
        (":465", ":466"),
    ] {
        assert_ne!(base, of(&FILE.replace(from, to)), "{to}");
    }
}
