//! A message that hands something in: the one part that is the document, byte for byte as it was before it was encoded for
//! the way, and the header fields that vouch for it. Whether they do is the caller's to judge; who wrote the message proves
//! nothing and is not read.

use super::headers::parsed;
use mailparse::{MailHeaderMap as _, ParsedMail};

/// What a document may be called. `application/json` is what any program attaches a `.json` file as.
const KINDS: [&str; 2] = ["application/json", "application/vnd.countersign.proposal+json"];

/// What a message hands in.
#[derive(Debug, PartialEq, Eq)]
pub struct Handed {
    /// Those of the fields asked for that the message has, unfolded, in its order. A field may be there twice.
    pub fields: Vec<(String, String)>,
    pub document: Vec<u8>,
}

/// Why a message hands nothing in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDocument {
    TooLarge,
    Unreadable,
    None,
    /// Which of them is meant would be a guess.
    Several,
}

impl NoDocument {
    pub const fn text(self) -> &'static str {
        match self {
            NoDocument::TooLarge => "it is larger than a proposal may be",
            NoDocument::Unreadable => "it cannot be read as a message",
            NoDocument::None => "no part of it is a JSON document",
            NoDocument::Several => "more than one part of it is a JSON document",
        }
    }
}

/// Reads a whole message. `fields`: names of header fields; only the message's own count, not those of its parts. What a
/// forwarded message holds is not looked into: it was not sent to this folder.
pub(super) fn read(message: &[u8], fields: &[&str], document_max: usize) -> Result<Handed, NoDocument> {
    let mail = parsed(message).ok_or(NoDocument::Unreadable)?;
    let mut documents = mail.parts().filter(|part| is_document(part));
    let document = match (documents.next(), documents.next()) {
        (Some(one), None) => one.get_body_raw().map_err(|_| NoDocument::Unreadable)?,
        (Some(_), Some(_)) => return Err(NoDocument::Several),
        (None, _) => return Err(NoDocument::None),
    };
    if document.len() > document_max {
        return Err(NoDocument::TooLarge);
    }
    let mut found = Vec::new();
    for name in fields {
        for header in mail.headers.get_all_headers(name) {
            // A field is folded at its blanks, and by whatever blank the program on the way likes.
            let value = header.get_value().split_whitespace().collect::<Vec<_>>().join(" ");
            found.push(((*name).to_owned(), value));
        }
    }
    Ok(Handed { fields: found, document })
}

fn is_document(part: &ParsedMail<'_>) -> bool {
    KINDS.iter().any(|kind| part.ctype.mimetype.eq_ignore_ascii_case(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 2] = ["webhook-id", "webhook-signature"];
    const MAX: usize = 1000;

    fn read(message: &str) -> Result<Handed, NoDocument> {
        super::read(message.as_bytes(), &FIELDS, MAX)
    }

    fn document(message: &str) -> String {
        String::from_utf8(read(message).unwrap().document).unwrap()
    }

    #[test]
    fn r09_the_document_is_decoded_from_wherever_in_the_tree_it_is() {
        let nested = "Content-Type: multipart/mixed; boundary=\"out er\"\r\n\r\nfor old readers\r\n--out er\r\n\
            Content-Type: multipart/alternative; boundary=in\r\n\r\n--in\r\n\r\ntext\r\n--in\r\nContent-Type: text/html\r\n\r\n\
            <p>\r\n--in--\r\n--out er\r\nContent-Type: Application/JSON; name=proposal.json\r\nContent-Transfer-Encoding: \
            BASE64\r\nContent-Disposition: attachment; filename=proposal.json\r\n\r\neyJhIjoi\r\nw7wifQ==\r\n--out er--\r\n";
        assert_eq!(document(nested), "{\"a\":\"ü\"}");
        let quoted = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\
            Content-Type: application/vnd.countersign.proposal+json\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
            {\"a\":=\r\n\"=C3=BC\"}\r\n--b--\r\n";
        assert_eq!(document(quoted), "{\"a\":\"ü\"}", "and the line end before the boundary is the boundary's");
        let plain = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/json\r\n\r\n{\"a\":\r\n1}\r\n\r\n--b--\r\n";
        assert_eq!(document(plain), "{\"a\":\r\n1}\r\n", "unencoded: the line ends are those of mail");
        assert_eq!(
            document("Content-Type: application/json\r\nContent-Transfer-Encoding: base64\r\n\r\ne30=\r\n"),
            "{}",
            "the message itself is the part"
        );
    }

    #[test]
    fn r09_only_the_messages_own_fields_count_and_a_folded_one_is_unfolded() {
        let message = "WEBHOOK-ID: msg_1\r\nWebhook-Signature: v1,aaaa\r\n\tv1,bbbb\r\n  v1,cccc\r\nwebhook-id: msg_2\r\n\
            Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nwebhook-signature: v1,zzzz\r\n\
            Content-Type: application/json\r\n\r\n{}\r\n--b--\r\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read(message).unwrap().fields,
            [
                pair("webhook-id", "msg_1"),
                pair("webhook-id", "msg_2"),
                pair("webhook-signature", "v1,aaaa v1,bbbb v1,cccc")
            ]
        );
    }

    #[test]
    fn r09_a_message_with_no_document_or_with_two_or_a_large_one_hands_nothing_in() {
        assert_eq!(read("Subject: hello\r\n\r\n{}\r\n"), Err(NoDocument::None));
        let part = "--b\r\nContent-Type: application/json\r\n\r\n{}\r\n";
        let two = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{part}{part}--b--\r\n");
        assert_eq!(read(&two), Err(NoDocument::Several));
        let forwarded = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n\
            Content-Type: application/json\r\n\r\n{}\r\n--b--\r\n";
        assert_eq!(read(forwarded), Err(NoDocument::None), "it was sent to somebody else");
        let large = format!("Content-Type: application/json\r\n\r\n{}", "1".repeat(MAX + 1));
        assert_eq!(read(&large), Err(NoDocument::TooLarge));
        let broken = "Content-Type: application/json\r\nContent-Transfer-Encoding: base64\r\n\r\n%%%\r\n";
        assert_eq!(read(broken), Err(NoDocument::Unreadable));
        assert_eq!(read(""), Err(NoDocument::None));
    }
}
