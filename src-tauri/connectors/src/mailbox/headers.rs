//! Headers of somebody's message. Strangers write them, so everything is read with suspicion.

use countersign_domain::email::Mailbox;
use mailparse::{MailHeader, MailHeaderMap as _, ParsedMail};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    pub uid: u32,
    /// When it arrived, by the server's clock: seconds since 1970.
    pub arrived: Option<i64>,
    /// When it was written, by its own word.
    pub written: Option<i64>,
    pub message_id: Option<String>,
    /// In-Reply-To and References, in order.
    pub references: Vec<String>,
    pub in_reply_to: Vec<String>,
    /// Folded addresses: lower case, domain in ASCII.
    pub from: Vec<String>,
    pub reply_to: Vec<String>,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub subject: String,
    pub key: Option<String>,
    pub original_message_id: Option<String>,
    /// A vacation note, a delivery report and their like.
    pub automatic: bool,
    /// It matched a search, and no parser can say more about it.
    pub unreadable: bool,
}

impl Headers {
    /// Reads raw header bytes. None if they are none.
    pub fn read(uid: u32, arrived: Option<i64>, bytes: &[u8]) -> Option<Headers> {
        let mut h = guarded(|| {
            let (headers, _) = mailparse::parse_headers(bytes).ok()?;
            Some(of(&headers))
        })?;
        h.uid = uid;
        h.arrived = arrived;
        Some(h)
    }

    /// Whether it belongs to the thread of any of `ids`.
    pub fn refers_to(&self, ids: &[String]) -> bool {
        self.in_reply_to.iter().chain(&self.references).any(|r| ids.contains(r))
    }
}

/// Runs a parser over a stranger's bytes. A panic in it is "cannot be read", not the end of the program.
pub(crate) fn guarded<T>(parse: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(parse)).ok().flatten()
}

/// Lines that begin as a boundary does, in one message. Every multipart inside another and every part needs one.
const BOUNDARIES_MAX: usize = 250;
/// Lines of one message; each header field needs one.
const LINES_MAX: usize = 1_000_000;

/// A stranger's message, parsed. The parser calls itself for each multipart inside another, and running out of stack cannot
/// be caught; so what it would have to go through is counted first.
pub(crate) fn parsed(bytes: &[u8]) -> Option<ParsedMail<'_>> {
    let (mut lines, mut boundaries) = (0_usize, 0_usize);
    for line in bytes.split(|b| *b == b'\n') {
        lines += 1;
        boundaries += usize::from(line.starts_with(b"--"));
    }
    if lines > LINES_MAX || boundaries > BOUNDARIES_MAX {
        return None;
    }
    guarded(|| mailparse::parse_mail(bytes).ok())
}

pub(crate) fn of(headers: &[MailHeader<'_>]) -> Headers {
    let text = |name: &str| headers.get_first_value(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
    let automatic = text("Auto-Submitted").is_some_and(|v| !v.to_ascii_lowercase().starts_with("no"))
        || text("Content-Type").is_some_and(|v| v.to_ascii_lowercase().starts_with("multipart/report"));
    Headers {
        uid: 0,
        arrived: None,
        written: text("Date").and_then(|d| mailparse::dateparse(&d).ok()),
        message_id: text("Message-ID").and_then(|v| ids(&v).into_iter().next()),
        references: text("References").map(|v| ids(&v)).unwrap_or_default(),
        in_reply_to: text("In-Reply-To").map(|v| ids(&v)).unwrap_or_default(),
        from: addresses(headers, "From"),
        reply_to: addresses(headers, "Reply-To"),
        to: addresses(headers, "To"),
        cc: addresses(headers, "Cc"),
        subject: text("Subject").unwrap_or_default(),
        key: text(crate::mime::KEY_HEADER),
        original_message_id: text("X-Microsoft-Original-Message-ID").and_then(|v| ids(&v).into_iter().next()),
        automatic,
        unreadable: false,
    }
}

/// Well-formed ids in a header value, unfolded; anything else between them is skipped.
pub fn ids(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    for piece in value.split('<').skip(1) {
        let Some((inner, _)) = piece.split_once('>') else { continue };
        let id = format!("<{}>", inner.split_whitespace().collect::<String>());
        if crate::mime::is_message_id(&id) {
            found.push(id);
        }
    }
    found
}

fn addresses(headers: &[MailHeader<'_>], name: &str) -> Vec<String> {
    let values = headers.get_all_headers(name).into_iter().filter_map(|h| mailparse::addrparse_header(h).ok());
    let singles = values.flat_map(|list| {
        list.into_inner().into_iter().flat_map(|a| match a {
            mailparse::MailAddr::Single(s) => vec![s],
            mailparse::MailAddr::Group(g) => g.addrs,
        })
    });
    singles.map(|s| folded(&s.addr)).collect()
}

/// Two spellings of one mailbox are the same text.
pub fn folded(address: &str) -> String {
    Mailbox { name: None, email: address.to_owned() }.folded()
}

/// A subject without its answer marks and list tags, for comparing threads.
pub fn base_subject(subject: &str) -> String {
    let mut rest = subject.trim();
    loop {
        let lower = rest.to_lowercase();
        let mark = ["re:", "aw:", "sv:", "antw:", "fwd:", "fw:", "wg:"].iter().find(|m| lower.starts_with(**m));
        match mark.and_then(|m| rest.get(m.len()..)) {
            Some(after) => rest = after.trim_start(),
            None => return rest.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f22_a_folded_id_is_unfolded_and_the_first_well_formed_one_counts() {
        let raw =
            b"Message-ID:\r\n <long-id-0001@mail.example.test>\r\nReferences: junk <a@b>\r\n\t<c@d> <broken\r\n\r\n";
        let h = Headers::read(7, None, raw).unwrap();
        assert_eq!(h.message_id.as_deref(), Some("<long-id-0001@mail.example.test>"));
        assert_eq!(h.references, ["<a@b>", "<c@d>"]);
        assert!(h.refers_to(&["<c@d>".into()]) && !h.refers_to(&["<c@D>".into()]));
    }

    #[test]
    fn f27_groups_parse_to_their_members() {
        let h = Headers::read(
            1,
            None,
            b"From: A <A@Example.Test>\r\nTo: undisclosed-recipients:;\r\nCc: g: x@y.test, Z <z@y.test>;\r\n\r\n",
        )
        .unwrap();
        assert_eq!(h.from, ["a@example.test"]);
        assert!(h.to.is_empty());
        assert_eq!(h.cc, ["x@y.test", "z@y.test"]);
    }

    #[test]
    fn automatic_mail_is_recognised() {
        let is = |raw: &str| Headers::read(1, None, format!("{raw}\r\n\r\n").as_bytes()).unwrap().automatic;
        assert!(is("Auto-Submitted: auto-replied (vacation)"));
        assert!(is("Content-Type: multipart/report; report-type=delivery-status; boundary=x"));
        assert!(!is("Auto-Submitted: no") && !is("Subject: x"));
    }

    #[test]
    fn subjects_of_one_thread_are_the_same() {
        assert_eq!(base_subject("Re: AW:  Delivery  slot"), base_subject("delivery slot"));
        assert_ne!(base_subject("Reply: x"), base_subject("x"));
    }

    #[test]
    fn multiparts_inside_each_other_without_end_do_not_end_the_program() {
        let nested = |depth: usize| {
            let level = |n| format!("Content-Type: multipart/mixed; boundary=b{n}x\r\n\r\n--b{n}x\r\n");
            (0..depth).map(level).collect::<String>() + "Subject: x\r\n\r\nthe innermost"
        };
        let deep = nested(BOUNDARIES_MAX);
        assert_eq!(parsed(deep.as_bytes()).unwrap().parts().count(), BOUNDARIES_MAX + 1);
        assert!(parsed(nested(100_000).as_bytes()).is_none());
        assert!(parsed("a:\n".repeat(LINES_MAX + 1).as_bytes()).is_none());
    }

    #[test]
    fn a_parser_that_panics_is_not_the_end() {
        assert_eq!(guarded::<()>(|| panic!("a stranger's mail")), None);
    }
}
