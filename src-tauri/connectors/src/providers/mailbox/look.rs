//! What happened to an attempt? Asked of the Sent folder and of delivery reports; never changes anything.
//!
//! Presence is proof. Absence is none: a plain submission server files nothing (contract.toml).

use super::MailboxDestination;
use crate::letter::Letter;
use crate::login::Login;
use crate::mailbox::headers::{folded, guarded, parsed};
use crate::mailbox::query::{Query, header};
use crate::mailbox::{Headers, MailboxError, Session};
use crate::mime::KEY_HEADER;
use countersign_domain::email::EmailView;
use countersign_domain::{Countersigned, Receipt, ReceiptKind, Sighting, Strength};
use mailparse::{MailHeaderMap as _, ParsedMail};
use serde_json::Value;

const ORIGINAL_ID: &str = "X-Microsoft-Original-Message-ID";
/// A copy with the same subject and recipients counts as a hint when written so long around the approved date.
const HINT_SECONDS: i64 = 3600;

/// What an action's copy is known by.
pub(super) struct Marks {
    pub message_id: String,
    pub key: String,
}

impl Marks {
    pub fn of(order: &Countersigned, email: &EmailView) -> Marks {
        let key = order.idempotency_key();
        Marks { message_id: crate::mime::message_id(email, key), key: key.as_str().to_owned() }
    }

    pub fn query(&self) -> Option<Query> {
        Query::any([
            header("Message-ID", &self.message_id),
            header(KEY_HEADER, &self.key),
            header(ORIGINAL_ID, &self.message_id),
        ])
    }

    /// How sure it is that these headers are of our message. A search matches parts of words; this compares exactly.
    pub fn strength(&self, h: &Headers) -> Strength {
        if h.message_id.as_deref() == Some(&self.message_id) {
            Strength::Proof
        } else if h.key.as_deref() == Some(&self.key) || h.original_message_id.as_deref() == Some(&self.message_id) {
            Strength::Strong
        } else {
            Strength::None
        }
    }
}

/// From which UID on a folder must be searched, if an earlier attempt noted it and the folder is still the same one.
pub(super) fn floor(noted: &[Value], folder: &str, uid_validity: u32) -> Option<u32> {
    let uid = |note: &Value| {
        let f = &note["mailbox"][folder];
        let same = f["uid_validity"].as_u64() == Some(u64::from(uid_validity));
        f["uid_next"].as_u64().filter(|_| same).and_then(|n| u32::try_from(n).ok())
    };
    // Every attempt must have left a note, or an earlier one could lie below the floor.
    let all: Option<Vec<u32>> = noted.iter().map(uid).collect();
    all?.into_iter().min()
}

/// Searches the open folder for our message.
pub(super) async fn find(
    session: &mut Session,
    marks: &Marks,
    from: Option<u32>,
) -> Result<Option<(Headers, Strength)>, MailboxError> {
    let Some(query) = marks.query() else { return Ok(None) };
    let uids = session.search(from, &query).await?;
    let found = session.headers(&uids).await?;
    let rated = found.into_iter().map(|h| (marks.strength(&h), h)).filter(|(s, _)| *s != Strength::None);
    Ok(rated.max_by_key(|(s, _)| *s).map(|(s, h)| (h, s)))
}

pub(super) async fn look(
    place: &MailboxDestination,
    order: &Countersigned,
    login: &Login,
    noted: &[Value],
) -> Sighting {
    let (Some(mailbox), Some(email)) = (place.mailbox(), order.sealed().payload().email()) else {
        return Sighting::cannot_tell("this destination has no mailbox to look in");
    };
    let seen = async {
        let mut session = mailbox.open(login).await?;
        let sent = mailbox.sent(&mut session).await?;
        let seen = look_around(&mut session, &sent, order, &email, noted).await?;
        session.leave().await;
        Ok::<_, MailboxError>(seen)
    };
    seen.await.unwrap_or_else(|e| Sighting::CannotTell { why: e.text(), signed_out: e.is_login() })
}

async fn look_around(
    session: &mut Session,
    sent: &str,
    order: &Countersigned,
    email: &EmailView,
    noted: &[Value],
) -> Result<Sighting, MailboxError> {
    let marks = Marks::of(order, email);
    let mark = session.open(sent).await?;
    let from = floor(noted, "sent", mark.uid_validity);
    if let Some((headers, strength)) = find(session, &marks, from).await? {
        return Ok(Sighting::Found(in_sent(sent, &headers, strength)));
    }
    let hint = weak(session, order, email, from).await?;
    let inbox = session.open("INBOX").await?;
    let inbox_from = floor(noted, "inbox", inbox.uid_validity);
    if let Some(receipt) = report(session, &marks, inbox_from).await? {
        return Ok(Sighting::Found(receipt));
    }
    if let Some(headers) = hint {
        let text = format!(
            "In {sent} there is a message with the same subject and recipients from the same hour (number {}), under another id.",
            headers.uid
        );
        return Ok(Sighting::Found(receipt(ReceiptKind::Lookup, None, text, Strength::Weak)));
    }
    let since = |n: Option<u32>| n.map_or_else(|| "all of it".to_owned(), |n| format!("from number {n} on"));
    Ok(Sighting::NotSeen {
        looked: format!("{sent} ({}) and delivery reports in the Inbox ({})", since(from), since(inbox_from)),
    })
}

fn receipt(kind: ReceiptKind, reference: Option<String>, text: String, strength: Strength) -> Receipt {
    Receipt { kind, reference, text, strength, by: None }
}

fn in_sent(sent: &str, h: &Headers, strength: Strength) -> Receipt {
    let how = match strength {
        Strength::Proof => "by exactly our Message-ID",
        _ if h.key.is_some() => "by our own header; the provider gave it another Message-ID",
        _ => "by the original Message-ID that the provider kept in a header of its own",
    };
    let text = format!("Found in {sent} (number {}) {how}.", h.uid);
    receipt(ReceiptKind::Lookup, h.message_id.clone(), text, strength)
}

/// A copy that agrees in subject, recipients and hour, where every better mark was taken off. Only searched in what is
/// newer than the attempt.
async fn weak(
    session: &mut Session,
    order: &Countersigned,
    email: &EmailView,
    from: Option<u32>,
) -> Result<Option<Headers>, MailboxError> {
    let Some(from) = from else { return Ok(None) };
    let Some(first) = email.to.first() else { return Ok(None) };
    let Some(query) = crate::mailbox::query::quoted(&first.ascii_email()).map(|a| format!("TO {a}")) else {
        return Ok(None);
    };
    let Some(query) = Query::any([Some(query)]) else { return Ok(None) };
    let uids = session.search(Some(from), &query).await?;
    let mut to: Vec<String> = email.to.iter().map(|m| folded(&m.ascii_email())).collect();
    to.sort();
    let dated = written(order);
    Ok(session.headers(&uids).await?.into_iter().find(|h| {
        let mut theirs = h.to.clone();
        theirs.sort();
        let subject = |t: &str| t.split_whitespace().collect::<Vec<_>>().join(" ");
        let near = |t: i64| dated.is_some_and(|d| (t - d).abs() <= HINT_SECONDS);
        // Another action of ours has its own key and is no hint for this one.
        h.key.is_none() && theirs == to && subject(&h.subject) == subject(&email.subject) && h.written.is_some_and(near)
    }))
}

/// The Date of the wire.
fn written(order: &Countersigned) -> Option<i64> {
    let letter = Letter::open(order.wire()).ok()?;
    Headers::read(0, None, letter.message)?.written
}

/// A delivery status notification about our message: whoever writes one had accepted it, whatever came of it later.
async fn report(session: &mut Session, marks: &Marks, from: Option<u32>) -> Result<Option<Receipt>, MailboxError> {
    let Some(query) = Query::any([header("Content-Type", "multipart/report")]) else { return Ok(None) };
    let uids = session.search(from, &query).await?;
    for uid in uids.iter().rev().take(20) {
        let Some(bytes) = session.message(*uid).await? else { continue };
        if let Some((action, strength)) = guarded(|| report_of(&bytes, marks)) {
            let how = if strength == Strength::Proof { "envelope id" } else { "message" };
            let text = format!("A delivery report in the Inbox (number {uid}) names our {how}: {action}.");
            return Ok(Some(receipt(ReceiptKind::Dsn, None, text, strength)));
        }
    }
    Ok(None)
}

/// What a report says of our message, and how surely it is ours.
fn report_of(bytes: &[u8], marks: &Marks) -> Option<(String, Strength)> {
    let mail = parsed(bytes)?;
    if mail.ctype.mimetype != "multipart/report" {
        return None;
    }
    let status = part(&mail, "message/delivery-status")?.get_body_raw().ok()?;
    let status = String::from_utf8_lossy(&status).into_owned();
    let field = |name: &str| {
        status.lines().find_map(|l| {
            let (key, value) = l.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let action = field("Action").unwrap_or_else(|| "no action named".into()).to_ascii_lowercase();
    let known = ["delivered", "relayed", "expanded", "delayed", "failed"].into_iter().find(|a| action == *a)?;
    if field("Original-Envelope-Id").is_some_and(|id| id.eq_ignore_ascii_case(&marks.key)) {
        return Some((known.to_owned(), Strength::Proof));
    }
    let returned = part(&mail, "text/rfc822-headers").or_else(|| part(&mail, "message/rfc822"))?.get_body_raw().ok()?;
    let theirs = Headers::read(0, None, &returned)?;
    (marks.strength(&theirs) != Strength::None).then(|| (known.to_owned(), Strength::Strong))
}

fn part<'a, 'b>(mail: &'b ParsedMail<'a>, kind: &str) -> Option<&'b ParsedMail<'a>> {
    mail.subparts.iter().find(|p| {
        // RFC 6533 has the same parts for addresses beyond ASCII.
        let found = p.ctype.mimetype.as_str();
        found == kind
            || (kind == "message/delivery-status" && found == "message/global-delivery-status")
            || (kind == "text/rfc822-headers" && found == "message/global-headers")
            || (found.is_empty() && p.headers.get_first_value("Content-Type").is_some_and(|v| v.starts_with(kind)))
    })
}

#[cfg(test)]
#[path = "look_test.rs"]
mod tests;
