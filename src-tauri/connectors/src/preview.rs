//! What a person is shown of a wire, parsed back from its bytes by a parser that did not write them.

use crate::letter::Letter;
use crate::transport::http::Request;
use countersign_domain::Wire;
use countersign_domain::canonical::sha256;
use mailparse::{DispositionType, MailAddr, MailHeaderMap as _, ParsedMail};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Preview {
    pub mail_from: String,
    /// Everyone who gets it, sorted.
    pub rcpt_to: Vec<String>,
    /// Those of `rcpt_to` that no header names.
    pub bcc: Vec<String>,
    /// Unfolded and decoded, in order.
    pub headers: Vec<(String, String)>,
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    pub attachments: Vec<PreviewAttachment>,
    /// Bytes of the message as it is sent.
    pub size: u64,
    /// Set if the wire cannot be read; then all else is empty.
    pub unreadable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewAttachment {
    /// The name a receiver will likely see.
    pub filename: String,
    pub content_type: String,
    pub size: u64,
    pub sha256: String,
}

/// Opens a wire.
pub fn preview(wire: &Wire) -> Preview {
    let read = Letter::open(wire)
        .map_err(|e| e.to_string())
        .and_then(|letter| read(letter.message).map(|message| (letter, message)));
    let (letter, message) = match read {
        Ok(both) => both,
        Err(why) => return Preview { unreadable: Some(why), ..Preview::default() },
    };
    let named = |r: &String| message.to.contains(r) || message.cc.contains(r);
    let bcc = letter.rcpt_to.iter().filter(|r| !named(r)).cloned().collect();
    Preview {
        mail_from: letter.mail_from,
        bcc,
        rcpt_to: letter.rcpt_to,
        headers: message.headers,
        subject: message.subject,
        text: message.text,
        html: message.html,
        attachments: message.attachments,
        size: letter.message.len() as u64,
        unreadable: None,
    }
}

/// Opens a wire that is an HTTP request: its headers with method and path before them, its JSON with one member a line.
pub fn of_request(wire: &Wire) -> Preview {
    let Ok(request) = Request::open(wire) else {
        let why = "the stored request is not a request of HTTP".to_owned();
        return Preview { unreadable: Some(why), ..Preview::default() };
    };
    let json = serde_json::from_slice::<serde_json::Value>(&request.body);
    let text = match json.and_then(|value| serde_json::to_string_pretty(&value)) {
        Ok(text) => text,
        Err(_) => String::from_utf8_lossy(&request.body).into_owned(),
    };
    let first = (request.method, request.path);
    Preview {
        headers: std::iter::once(first).chain(request.headers).collect(),
        size: request.body.len() as u64,
        text: Some(text).filter(|t| !t.is_empty()),
        ..Preview::default()
    }
}

/// A message as a stranger reads it.
pub(crate) struct Read {
    pub headers: Vec<(String, String)>,
    pub from: Vec<String>,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub reply_to: Vec<String>,
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    pub attachments: Vec<PreviewAttachment>,
}

pub(crate) fn read(bytes: &[u8]) -> Result<Read, String> {
    let mail = mailparse::parse_mail(bytes).map_err(|e| format!("the message cannot be read back: {e}"))?;
    let headers: Vec<_> = mail.headers.iter().map(|h| (h.get_key(), h.get_value())).collect();
    let mut read = Read {
        from: addresses(&mail, "From"),
        to: addresses(&mail, "To"),
        cc: addresses(&mail, "Cc"),
        reply_to: addresses(&mail, "Reply-To"),
        subject: mail.headers.get_first_value("Subject").unwrap_or_default(),
        headers,
        text: None,
        html: None,
        attachments: Vec::new(),
    };
    collect(&mail, &mut read)?;
    Ok(read)
}

fn collect(part: &ParsedMail<'_>, into: &mut Read) -> Result<(), String> {
    if part.ctype.mimetype.starts_with("multipart/") {
        return part.subparts.iter().try_for_each(|p| collect(p, into));
    }
    let disposition = part.get_content_disposition();
    let unreadable = |e: mailparse::MailParseError| format!("a part of the message cannot be read back: {e}");
    if disposition.disposition == DispositionType::Attachment {
        let bytes = part.get_body_raw().map_err(unreadable)?;
        let name = disposition.params.get("filename").or_else(|| part.ctype.params.get("name"));
        into.attachments.push(PreviewAttachment {
            filename: name.cloned().unwrap_or_default(),
            content_type: part.ctype.mimetype.clone(),
            size: bytes.len() as u64,
            sha256: hex::encode(sha256(&bytes)),
        });
        return Ok(());
    }
    let body = part.get_body().map_err(unreadable)?;
    let slot = if part.ctype.mimetype == "text/html" { &mut into.html } else { &mut into.text };
    // A second part of one kind would be text that nobody approved.
    if slot.replace(body).is_some() {
        return Err("the message has more than one text of a kind".into());
    }
    Ok(())
}

/// Addresses of a header, groups as their members.
pub(crate) fn addresses(mail: &ParsedMail<'_>, header: &str) -> Vec<String> {
    let parsed = mail.headers.get_all_headers(header).into_iter().filter_map(|h| mailparse::addrparse_header(h).ok());
    parsed
        .flat_map(|list| {
            list.into_inner().into_iter().flat_map(|a| match a {
                MailAddr::Single(s) => vec![s.addr],
                MailAddr::Group(g) => g.addrs.into_iter().map(|s| s.addr).collect(),
            })
        })
        .collect()
}
