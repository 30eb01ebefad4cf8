//! Writing what FETCH asks for.

use super::parse::{Item, Section};
use crate::date::imap_date_time;
use crate::message::{fields, first_header, header_values, name_and_value, split};
use crate::world::Stored;

/// Whether one of the items marks the message as read.
pub(super) fn marks_seen(items: &[Item]) -> bool {
    items.iter().any(|item| matches!(item, Item::Body { peek: false, .. }))
}

/// `* n FETCH (…)` with its line end.
pub(super) fn response(sequence: u32, stored: &Stored, items: &[Item]) -> Vec<u8> {
    let mut out = format!("* {sequence} FETCH (").into_bytes();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        match item {
            Item::Flags => out.extend(format!("FLAGS ({})", stored.flags.join(" ")).bytes()),
            Item::Uid => out.extend(format!("UID {}", stored.uid).bytes()),
            Item::InternalDate => {
                out.extend(format!("INTERNALDATE \"{}\"", imap_date_time(stored.internal_date)).bytes());
            }
            Item::Size => out.extend(format!("RFC822.SIZE {}", stored.bytes.len()).bytes()),
            Item::Envelope => out.extend(format!("ENVELOPE {}", envelope(&stored.bytes)).bytes()),
            Item::ModSeq => out.extend(format!("MODSEQ ({})", stored.modseq).bytes()),
            Item::Body { section, partial, label, .. } => {
                let whole = part(&stored.bytes, section);
                let bytes = match partial {
                    Some((from, count)) => whole.into_iter().skip(*from).take(*count).collect(),
                    None => whole,
                };
                out.extend(format!("{label} {{{}}}\r\n", bytes.len()).bytes());
                out.extend(bytes);
            }
        }
    }
    out.extend(b")\r\n");
    out
}

fn part(bytes: &[u8], section: &Section) -> Vec<u8> {
    match section {
        Section::Whole => bytes.to_vec(),
        Section::Text => split(bytes).1.to_vec(),
        Section::Header => [split(bytes).0, b"\r\n"].concat(),
        Section::Fields { names, except } => {
            let wanted = |field: &&[u8]| {
                let named =
                    name_and_value(field).is_some_and(|(name, _)| names.iter().any(|n| n.eq_ignore_ascii_case(&name)));
                named != *except
            };
            let mut out: Vec<u8> = fields(bytes).into_iter().filter(wanted).flatten().copied().collect();
            out.extend(b"\r\n");
            out
        }
    }
}

/// A string as IMAP writes it: quoted when it can be, a literal otherwise.
fn string(text: &str) -> String {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("{{{}}}\r\n{text}", text.len())
    }
}

fn nstring(text: &str) -> String {
    if text.is_empty() { "NIL".to_owned() } else { string(text) }
}

fn envelope(bytes: &[u8]) -> String {
    let text = |name: &str| nstring(&first_header(bytes, name));
    let people = |name: &str| addresses(&header_values(bytes, name).join(", "));
    let from = people("from");
    let or_from = |name: &str| match people(name) {
        none if none == "NIL" => from.clone(),
        some => some,
    };
    let (sender, reply_to) = (or_from("sender"), or_from("reply-to"));
    format!(
        "({} {} {from} {sender} {reply_to} {} {} {} {} {})",
        text("date"),
        text("subject"),
        people("to"),
        people("cc"),
        people("bcc"),
        text("in-reply-to"),
        text("message-id"),
    )
}

/// The address list of a header. Groups and comments are left as they are: enough for a pretend server.
fn addresses(header: &str) -> String {
    let mut parts = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for character in header.chars() {
        match character {
            ',' if !quoted => {
                parts.push(String::new());
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = character == '\\' && !escaped;
        if let Some(last) = parts.last_mut() {
            last.push(character);
        }
    }
    let list: String = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).map(address).collect();
    if list.is_empty() { "NIL".to_owned() } else { format!("({list})") }
}

fn address(part: &str) -> String {
    let (name, address) = match part.rsplit_once('<') {
        Some((name, rest)) => (name.trim().trim_matches('"').replace("\\\"", "\""), rest.trim_end_matches('>')),
        None => (String::new(), part),
    };
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    format!("({} NIL {} {})", nstring(&name), nstring(local), nstring(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"Date: Mon, 02 Nov 2026 09:15:00 +0000\r\nSubject: A \"quoted\" word\r\n\
        From: \"Vale, Robin\" <robin@customer.example>\r\nTo: a@shop.example, B <b@shop.example>\r\n\
        Message-ID: <m1@customer.example>\r\n\r\nbody\r\n";

    #[test]
    fn an_envelope_is_written_as_rfc_3501_section_7_4_2_shows() {
        let expected = "(\"Mon, 02 Nov 2026 09:15:00 +0000\" \"A \\\"quoted\\\" word\" \
            ((\"Vale, Robin\" NIL \"robin\" \"customer.example\")) ((\"Vale, Robin\" NIL \"robin\" \"customer.example\")) \
            ((\"Vale, Robin\" NIL \"robin\" \"customer.example\")) \
            ((NIL NIL \"a\" \"shop.example\")(\"B\" NIL \"b\" \"shop.example\")) NIL NIL NIL \"<m1@customer.example>\")";
        assert_eq!(envelope(MESSAGE), expected);
    }

    #[test]
    fn parts_are_exact() {
        assert_eq!(part(MESSAGE, &Section::Text), b"body\r\n");
        assert_eq!([part(MESSAGE, &Section::Header), part(MESSAGE, &Section::Text)].concat(), MESSAGE);
        let fields = Section::Fields { names: vec!["message-id".to_owned()], except: false };
        assert_eq!(part(MESSAGE, &fields), b"Message-ID: <m1@customer.example>\r\n\r\n");
        let missing = Section::Fields { names: vec!["x-none".to_owned()], except: false };
        assert_eq!(part(MESSAGE, &missing), b"\r\n");
    }
}
