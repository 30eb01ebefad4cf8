//! What the first start shows: three customers who wrote, and what an agent proposes to answer. Plain data. The people
//! are invented and their domains end in `.example`, which RFC 2606 keeps free of real ones.

use serde_json::{Value, json};

use crate::date::{mail_date, rfc3339};
use crate::message::first_header;
use crate::server::Sandbox;

/// The mailbox the customers wrote to; also its user name.
pub const ADDRESS: &str = "support@shop.example";
/// The destination's name in the sandbox workspace.
pub const DESTINATION: &str = "sandbox-mailbox";
/// The source that proposes the answers.
pub const SOURCE: &str = "sandbox-agent";

/// One customer's message and the proposal that answers it.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Short and stable: `chairs`, `delivery`, `invoice`.
    pub name: &'static str,
    /// The customer's message as it lies in the mailbox.
    pub message: Vec<u8>,
    /// The proposal document (interfaces.md, "Proposal", version 1).
    pub proposal: Value,
    /// The same customer writing once more, for whoever wants to show that a conversation moved on.
    pub writes_again: Vec<u8>,
}

struct Customer {
    name: &'static str,
    person: &'static str,
    email: &'static str,
    minutes_ago: i64,
    subject: &'static str,
    message_id: &'static str,
    /// Earlier messages of the thread, oldest first.
    references: &'static [&'static str],
    text: &'static str,
    again: &'static str,
}

fn message(customer: &Customer, now: i64) -> Vec<u8> {
    let mut out = format!(
        "Return-Path: <{email}>\r\nDate: {date}\r\nFrom: {person} <{email}>\r\nTo: Shop support <{ADDRESS}>\r\n\
         Subject: {subject}\r\nMessage-ID: {id}\r\n",
        email = customer.email,
        date = mail_date(now - customer.minutes_ago * 60),
        person = customer.person,
        subject = customer.subject,
        id = customer.message_id,
    );
    if let Some(parent) = customer.references.last() {
        out.push_str(&format!("In-Reply-To: {parent}\r\nReferences: {}\r\n", customer.references.join("\r\n ")));
    }
    out.push_str(PLAIN);
    out.push_str(&customer.text.replace('\n', "\r\n"));
    out.into_bytes()
}

const PLAIN: &str =
    "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\nContent-Transfer-Encoding: 7bit\r\n\r\n";

fn writes_again(customer: &Customer, now: i64) -> Vec<u8> {
    let id = customer.message_id.replace('@', ".2@");
    let references = [customer.references, &[customer.message_id]].concat().join("\r\n ");
    let mut out = format!(
        "Return-Path: <{email}>\r\nDate: {date}\r\nFrom: {person} <{email}>\r\nTo: Shop support <{ADDRESS}>\r\n\
         Subject: Re: {subject}\r\nMessage-ID: {id}\r\nIn-Reply-To: {parent}\r\nReferences: {references}\r\n",
        email = customer.email,
        date = mail_date(now),
        person = customer.person,
        subject = customer.subject.trim_start_matches("Re: "),
        parent = customer.message_id,
    );
    out.push_str(PLAIN);
    out.push_str(&customer.again.replace('\n', "\r\n"));
    out.into_bytes()
}

struct Draft {
    request_id: &'static str,
    cc: Value,
    text: &'static str,
    reason: &'static str,
}

fn proposal(number: usize, customer: &Customer, draft: Draft, now: i64) -> Value {
    let subject = format!("Re: {}", customer.subject.trim_start_matches("Re: "));
    let references: Vec<&str> = customer.references.iter().copied().chain([customer.message_id]).collect();
    json!({
        "event_id": format!("sandbox-event-{number}"),
        "request_id": draft.request_id,
        "source_version": 1,
        "conversation": {
            "from": { "name": customer.person, "email": customer.email },
            "subject": customer.subject,
            "received_at": rfc3339(now - customer.minutes_ago * 60),
            "message_id": customer.message_id,
            "references": customer.references,
            "text": customer.text,
            "html": null
        },
        "actions": [{
            "step": "first-reply",
            "effect": "email.reply",
            "destination": DESTINATION,
            "payload": {
                "from": { "name": "Shop support", "email": ADDRESS },
                "to": [{ "name": customer.person, "email": customer.email }],
                "cc": draft.cc,
                "bcc": [],
                "reply_to": [],
                "subject": subject,
                "text": draft.text,
                "html": null,
                "in_reply_to": customer.message_id,
                "references": references,
                "attachments": []
            }
        }],
        "draft": { "run_id": format!("sandbox-run-{number}"), "model": "sandbox", "reason": draft.reason }
    })
}

const CHAIRS: Customer = Customer {
    name: "chairs",
    person: "Robin Sample",
    email: "robin@sample.example",
    minutes_ago: 12,
    subject: "Do you repair chairs?",
    message_id: "<chairs-1@sample.example>",
    references: &[],
    text: "Hello,\n\nI have four oak dining chairs with loose joints. Do you repair chairs,\nand roughly what would it cost?\n\n\
           Thank you,\nRobin\n",
    again: "Hello,\n\nplease wait with the chairs: my sister may take two of them. I'll write\nagain on Friday.\n\nRobin\n",
};

const DELIVERY: Customer = Customer {
    name: "delivery",
    person: "Alex Linden",
    email: "alex@linden-cafe.example",
    minutes_ago: 31,
    subject: "Please change my delivery address",
    message_id: "<delivery-1@linden-cafe.example>",
    references: &[],
    text: "Hi,\n\norder 4417 should go to our new place: 8 Mill Lane, rear entrance.\nPlease copy our bookkeeping on the \
           answer.\n\nBest,\nAlex Linden\nLinden Cafe\n",
    again: "Hi,\n\nsorry, number 18, not 8. The rest stays.\n\nAlex\n",
};

const INVOICE: Customer = Customer {
    name: "invoice",
    person: "Mika Fielding",
    email: "mika@fielding-books.example",
    minutes_ago: 54,
    subject: "Re: Invoice 2231",
    message_id: "<invoice-3@fielding-books.example>",
    references: &["<invoice-1@fielding-books.example>", "<invoice-2@shop.example>"],
    text: "Dear team,\n\nthe invoice says 14 days, the order confirmation says 30. Which of the\ntwo counts?\n\n\
           Regards,\nMika Fielding\n",
    again: "Dear team,\n\nfound it: the frame contract says 30 days. No need to answer.\n\nMika\n",
};

/// The three conversations, with times counted back from `now` (seconds since 1970, UTC).
pub fn conversations(now: i64) -> Vec<Conversation> {
    let drafts = [
        Draft {
            request_id: "sandbox-chairs",
            cc: json!([]),
            text: "Hello Robin,\n\nYes, we do. Regluing loose joints is usually 45 EUR a chair, and four chairs take about \
                   a week. Could you send two photos of the joints? Then I can give you a firm price.\n\nKind regards,\n\
                   Shop support\n",
            reason: "answers the question and asks for photos",
        },
        Draft {
            request_id: "sandbox-delivery",
            // The domain begins with the digit one: what a draft made from a forged message would bring.
            cc: json!([{ "name": "Linden Cafe bookkeeping", "email": "books@1inden-cafe.example" }]),
            text: "Hello Alex,\n\nDone: order 4417 now goes to 8 Mill Lane, rear entrance. It leaves us on Thursday.\n\n\
                   Kind regards,\nShop support\n",
            reason: "confirms the new address and copies bookkeeping as asked",
        },
        Draft {
            request_id: "sandbox-invoice",
            cc: json!([]),
            text: "Dear Mika,\n\nThe 30 days of the order confirmation count. A corrected invoice is on its way to you.\n\n\
                   Kind regards,\nShop support\n",
            reason: "settles the term in the customer's favour",
        },
    ];
    let customers = [CHAIRS, DELIVERY, INVOICE];
    let pairs = customers.iter().zip(drafts).zip(1..);
    pairs
        .map(|((customer, draft), number)| Conversation {
            name: customer.name,
            message: message(customer, now),
            proposal: proposal(number, customer, draft, now),
            writes_again: writes_again(customer, now),
        })
        .collect()
}

/// Delivers the messages that the support mailbox does not hold yet.
pub fn deliver(sandbox: &Sandbox, conversations: &[Conversation]) {
    let inbox = sandbox.mailbox(ADDRESS, "INBOX");
    for conversation in conversations {
        let id = first_header(&conversation.message, "message-id");
        if !inbox.iter().any(|stored| first_header(&stored.bytes, "message-id") == id) {
            sandbox.deliver(ADDRESS, &conversation.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_messages_are_plain_mail_and_fit_their_proposals() {
        for conversation in conversations(1_793_610_900) {
            let told = &conversation.proposal["conversation"];
            let payload = &conversation.proposal["actions"][0]["payload"];
            let id = told["message_id"].as_str().unwrap_or_default();
            assert_eq!(first_header(&conversation.message, "message-id"), id);
            assert_eq!(payload["in_reply_to"], told["message_id"]);
            assert_eq!(payload["references"].as_array().and_then(|all| all.last()), Some(&told["message_id"]));
            assert_eq!(first_header(&conversation.message, "subject"), told["subject"].as_str().unwrap_or_default());
            for message in [&conversation.message, &conversation.writes_again] {
                assert!(message.is_ascii());
                assert!(String::from_utf8_lossy(message).lines().all(|line| line.len() <= 78), "{}", conversation.name);
                assert_eq!(String::from_utf8_lossy(message).replace("\r\n", "").find(['\r', '\n']), None);
            }
            assert!(first_header(&conversation.writes_again, "references").ends_with(id));
            let domains = ["sample.example", "linden-cafe.example", "fielding-books.example"];
            let from = told["from"]["email"].as_str().unwrap_or_default();
            assert!(domains.iter().any(|domain| from.ends_with(domain)));
        }
    }

    #[tokio::test]
    async fn a_second_start_delivers_nothing_twice() -> Result<(), Box<dyn std::error::Error>> {
        let sandbox = Sandbox::start(Config::in_memory(&[(ADDRESS, "secret")])).await?;
        let story = conversations(1_793_610_900);
        deliver(&sandbox, &story);
        deliver(&sandbox, &story);
        assert_eq!(sandbox.mailbox(ADDRESS, "INBOX").len(), 3);
        Ok(())
    }
}
