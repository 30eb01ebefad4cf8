//! What is about to be approved is read back by another hand: an independent parser must find the payload in the bytes.

use super::{KEY_HEADER, normal_lines};
use crate::error::Unrenderable;
use crate::preview::{self, Read};
use countersign_domain::email::{EmailView, Mailbox};

/// RFC 5322, 2.1.1.
const LINE_MAX: usize = 998;
const ONCE: [&str; 7] = ["from", "to", "subject", "date", "message-id", "mime-version", "content-type"];
const AT_MOST_ONCE: [&str; 5] = ["cc", "reply-to", "in-reply-to", "references", "content-transfer-encoding"];

pub(super) fn check(bytes: &[u8], email: &EmailView) -> Result<(), Unrenderable> {
    check_bytes(bytes).map_err(|why| Unrenderable::new("", why))?;
    let read = preview::read(bytes).map_err(|why| Unrenderable::new("", why))?;
    check_headers(&read)?;
    check_content(&read, email)
}

/// 7-bit, CRLF only, no long line: the form that every server passes on byte for byte.
pub fn check_bytes(bytes: &[u8]) -> Result<(), String> {
    if !bytes.ends_with(b"\r\n") {
        return Err("the message does not end with a line end".into());
    }
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let Some(text) = line.strip_suffix(b"\r\n") else {
            return Err("the message has a bare line feed".into());
        };
        if text.contains(&b'\r') {
            return Err("the message has a bare carriage return".into());
        }
        if text.len() > LINE_MAX {
            return Err(format!("the message has a line of {} bytes; at most {LINE_MAX} may be", text.len()));
        }
        if text.iter().any(|b| *b == 0 || *b >= 0x80) {
            return Err("the message has bytes that not every server passes on".into());
        }
    }
    Ok(())
}

fn check_headers(read: &Read) -> Result<(), Unrenderable> {
    let key = KEY_HEADER.to_ascii_lowercase();
    let count = |name: &str| read.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).count();
    for name in ONCE.into_iter().chain([key.as_str()]) {
        if count(name) != 1 {
            return Err(Unrenderable::new("", format!("the header {name} is there {} times", count(name))));
        }
    }
    for (name, _) in &read.headers {
        let lower = name.to_ascii_lowercase();
        let known = ONCE.contains(&lower.as_str()) || lower == key;
        if !known && (!AT_MOST_ONCE.contains(&lower.as_str()) || count(&lower) > 1) {
            // A header nobody asked for: something in the payload was read as one.
            return Err(Unrenderable::new("", "the message would get a header that is not in the draft"));
        }
    }
    Ok(())
}

fn check_content(read: &Read, email: &EmailView) -> Result<(), Unrenderable> {
    let differs = |field: &str| Unrenderable::new(field, "would not arrive as it is written; change it");
    let addresses = |list: &[Mailbox]| list.iter().map(Mailbox::ascii_email).collect::<Vec<_>>();
    if read.from != [email.from.ascii_email()] {
        return Err(differs("from"));
    }
    for (field, found, wanted) in
        [("to", &read.to, &email.to), ("cc", &read.cc, &email.cc), ("reply_to", &read.reply_to, &email.reply_to)]
    {
        if *found != addresses(wanted) {
            return Err(differs(field));
        }
    }
    if squeezed(&read.subject) != squeezed(&email.subject) {
        return Err(differs("subject"));
    }
    let same = |found: &Option<String>, wanted: &Option<String>| match (found, wanted) {
        (Some(f), Some(w)) => lines(f) == lines(w),
        (None, None) => true,
        _ => false,
    };
    if !same(&read.text, &email.text) {
        return Err(differs("text"));
    }
    if !same(&read.html, &email.html) {
        return Err(differs("html"));
    }
    if read.attachments.len() != email.attachments.len() {
        return Err(differs("attachments"));
    }
    for (i, (found, wanted)) in read.attachments.iter().zip(&email.attachments).enumerate() {
        if found.sha256 != wanted.content.sha256 {
            return Err(differs(&format!("attachments[{i}]")));
        }
        if squeezed(&found.filename) != squeezed(&wanted.filename) {
            return Err(differs(&format!("attachments[{i}].filename")));
        }
    }
    Ok(())
}

/// Line ends are written as CRLF, and a line end at the very end may be added.
fn lines(text: &str) -> String {
    normal_lines(text).trim_end_matches("\r\n").to_owned()
}

/// Folding may turn one white space into another.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
