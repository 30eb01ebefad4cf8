//! What becomes of an accepted message: an effect, a copy for each recipient, and, if the provider has the habit, a copy
//! in Sent and a report to the sender.

use crate::date::mail_date;
use crate::message::{first_header, split, with_new_message_id};
use crate::signals::Point;
use crate::world::{Effect, Envelope, Filing, World};

/// The pretend provider's own domain; reserved by RFC 2606, so nobody's.
const HOST: &str = "sandbox.example";

/// What a report says about one recipient.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Report {
    Relayed,
    Failed,
}

impl World {
    /// Takes a message: from here on it has happened. Returns the queue id, or `None` when it could not be kept, in
    /// which case nothing has happened.
    pub(crate) fn accept(&self, envelope: Envelope, bytes: Vec<u8>) -> Option<String> {
        let mut inner = self.lock();
        let number = inner.effects.len() + 1;
        let queue_id = format!("SBX{number:06}");
        let effect = Effect { at_seq: inner.next_seq(), queue_id: queue_id.clone(), envelope, bytes };
        if let Some(store) = &self.store
            && let Err(error) = store.save_effect(number, &effect)
        {
            tracing::error!(%error, "the sandbox cannot keep a message and refuses it");
            return None;
        }
        inner.effects.push(effect.clone());

        let copy = if inner.habits.replaces_message_id {
            with_new_message_id(&effect.bytes, &format!("<new-{number}@provider.example>"))
        } else {
            effect.bytes.clone()
        };
        if inner.habits.files_sent
            && let Some(sent) = World::special_folder(&inner, &effect.envelope.login, "\\Sent")
        {
            self.file(&mut inner, &effect.envelope.login, &sent, &copy, Filing::ByServer { seen: true });
        }
        let now = self.clock.unix_seconds();
        for (index, recipient) in effect.envelope.rcpt_to.iter().enumerate() {
            let notify = effect.envelope.notify.get(index).cloned().flatten().unwrap_or_default().to_uppercase();
            if self.script.bounces(recipient) {
                // RFC 3461 4.1: without NOTIFY a failure is reported; NEVER and a null reverse path forbid it.
                if notify.is_empty() || notify.contains("FAILURE") {
                    self.report(&mut inner, &effect, recipient, Report::Failed, now);
                }
                continue;
            }
            let trace = trace_fields(&effect.envelope, recipient, &queue_id, now);
            let delivered = [trace.as_bytes(), &copy].concat();
            self.file(&mut inner, recipient, "INBOX", &delivered, Filing::ByServer { seen: false });
            if inner.habits.sends_reports && notify.contains("SUCCESS") {
                self.report(&mut inner, &effect, recipient, Report::Relayed, now);
            }
        }
        drop(inner);
        self.signals.reached(Point::Acted);
        Some(queue_id)
    }

    /// A message from outside: somebody who is no client of ours writes to this address.
    pub(crate) fn deliver(&self, to: &str, bytes: &[u8]) {
        let mut inner = self.lock();
        self.file(&mut inner, to, "INBOX", bytes, Filing::ByServer { seen: false });
    }

    fn report(&self, inner: &mut crate::world::Inner, effect: &Effect, recipient: &str, report: Report, now: i64) {
        let sender = &effect.envelope.mail_from;
        if sender.is_empty() {
            return;
        }
        let text = report_text(effect, recipient, report, now);
        self.file(inner, sender, "INBOX", text.as_bytes(), Filing::ByServer { seen: false });
    }
}

/// The fields every relay puts on top (RFC 5321 4.4). A comparison of bytes has to look below them.
fn trace_fields(envelope: &Envelope, recipient: &str, queue_id: &str, now: i64) -> String {
    format!(
        "Return-Path: <{}>\r\nReceived: from client.{HOST} (localhost [127.0.0.1])\r\n\tby {HOST} with ESMTPA id {queue_id}\r\n\
         \tfor <{recipient}>; {}\r\n",
        envelope.mail_from,
        mail_date(now)
    )
}

/// A delivery status notification after RFC 3464, with the headers of the original.
fn report_text(effect: &Effect, recipient: &str, report: Report, now: i64) -> String {
    let (action, status, subject, words) = match report {
        Report::Relayed => ("relayed", "2.0.0", "Successful Mail Delivery Report", "was relayed"),
        Report::Failed => ("failed", "5.1.1", "Undelivered Mail Returned to Sender", "could not be delivered"),
    };
    let boundary = format!("report-{}-{action}", effect.queue_id);
    let mut text = format!(
        "Return-Path: <>\r\nDate: {date}\r\nFrom: Mail Delivery System <MAILER-DAEMON@{HOST}>\r\nTo: {sender}\r\n\
         Subject: {subject}\r\nMessage-ID: <{boundary}-{address_hash:016x}@{HOST}>\r\nAuto-Submitted: auto-replied\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status;\r\n\tboundary=\"{boundary}\"\r\n\r\n",
        date = mail_date(now),
        sender = effect.envelope.mail_from,
        address_hash = fnv(recipient.as_bytes()),
    );
    text.push_str(&format!(
        "--{boundary}\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n\
         Your message to {recipient} {words}.\r\n\r\n--{boundary}\r\nContent-Type: message/delivery-status\r\n\r\n\
         Reporting-MTA: dns; {HOST}\r\n"
    ));
    if let Some(envid) = &effect.envelope.envid {
        text.push_str(&format!("Original-Envelope-Id: {envid}\r\n"));
    }
    text.push_str(&format!("Arrival-Date: {}\r\n\r\n", mail_date(now)));
    let index = effect.envelope.rcpt_to.iter().position(|other| other == recipient).unwrap_or(0);
    if let Some(original) = effect.envelope.orcpt.get(index).cloned().flatten() {
        text.push_str(&format!("Original-Recipient: {original}\r\n"));
    }
    text.push_str(&format!(
        "Final-Recipient: rfc822; {recipient}\r\nAction: {action}\r\nStatus: {status}\r\n\r\n\
         --{boundary}\r\nContent-Type: text/rfc822-headers\r\n\r\n"
    ));
    text.push_str(&String::from_utf8_lossy(split(&effect.bytes).0));
    text.push_str(&format!("\r\n--{boundary}--\r\n"));
    debug_assert!(first_header(text.as_bytes(), "subject") == subject);
    text
}

/// FNV-1a: two reports of one message need two Message-IDs, nothing more.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
