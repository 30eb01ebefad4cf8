//! Who gets it, and who was asked.

use super::{Finding, Known, Weight};
use crate::address::{Mailbox, ascii_domain};
use crate::email::EmailView;
use crate::proposal::Conversation;

/// A known address or domain, brought to the form in which addresses are compared.
pub(super) fn folded_domain(domain: &str) -> String {
    ascii_domain(domain).unwrap_or_else(|_| domain.to_lowercase())
}

fn folded(email: &str) -> String {
    Mailbox { name: None, email: email.to_owned() }.folded()
}

/// Whether a domain is one of the owner's or below one of them.
pub(super) fn is_own(domain: &str, known: &Known) -> bool {
    known
        .own_domains
        .iter()
        .map(|own| folded_domain(own))
        .any(|own| domain.strip_suffix(own.as_str()).is_some_and(|front| front.is_empty() || front.ends_with('.')))
}

pub(super) fn findings(email: &EmailView, conversation: Option<&Conversation>, known: &Known) -> Vec<Finding> {
    let mut all = Vec::new();
    let people: Vec<String> = conversation.iter().flat_map(|c| c.people()).map(Mailbox::folded).collect();
    let told_people = conversation.is_some_and(|c| c.from.is_some());

    for (path, person) in email.recipients() {
        let field = format!("{path}.email");
        let address = person.folded();
        let domain = person.ascii_domain();
        let own = is_own(&domain, known);
        let in_conversation = people.contains(&address);

        match known.recipients.iter().find(|(known, _)| folded(known) == address) {
            Some((_, count)) => {
                let how_often = if *count == 1 { "1 message".to_owned() } else { format!("{count} messages") };
                let text = format!("Known: {how_often} to this address accepted so far.");
                all.push(Finding::new("known_recipient", &field, Weight::Fact, text));
            }
            None => {
                let text = "First time: you have never written to this address.";
                all.push(Finding::new("first_time", &field, Weight::Note, text));
            }
        }
        if path.starts_with("bcc") {
            let text = "Hidden from the others: the other recipients won't see this one.";
            all.push(Finding::new("bcc_present", &field, Weight::Note, text));
        }
        // Customers are outside by nature; it says something only about those whom the conversation does not bring in.
        if !known.own_domains.is_empty() && !own && !in_conversation {
            let text = format!("Outside {}.", known.own_domains.join(", "));
            all.push(Finding::new("outside_domain", &field, Weight::Note, text));
        }
        if told_people && !in_conversation && !own {
            let text = "Not in the conversation: the customer didn't include this person.";
            all.push(Finding::new("not_in_conversation", &field, Weight::Look, text));
        }
    }

    let from = email.from.folded();
    for (i, other) in email.reply_to.iter().enumerate().filter(|(_, m)| m.folded() != from) {
        let elsewhere = if other.ascii_domain() == email.from.ascii_domain() { "" } else { ", in another domain" };
        let text = format!("Reply-to differs: answers go to {}{elsewhere}, not to {}.", other.email, email.from.email);
        all.push(Finding::new("reply_to_differs", format!("reply_to[{i}].email"), Weight::Look, text).holding());
    }
    all.extend(conversation.and_then(|c| customers_reply_to(c, email)));
    all
}

/// The customer asked for the answer at another address than the one the message came from (F33).
fn customers_reply_to(conversation: &Conversation, email: &EmailView) -> Option<Finding> {
    let from = conversation.from.as_ref()?;
    let asked = conversation.reply_to.iter().find(|m| m.folded() != from.folded())?;
    let goes_to = |wanted: &Mailbox| email.recipients().any(|(_, m)| m.folded() == wanted.folded());
    let uses = match (goes_to(asked), goes_to(from)) {
        (true, true) => "The draft goes to both.",
        (true, false) => "The draft goes to the reply-to address.",
        (false, true) => "The draft goes to the sender's address, not to the reply-to address.",
        (false, false) => "The draft goes to neither.",
    };
    let elsewhere = if asked.ascii_domain() == from.ascii_domain() { "" } else { ", in another domain" };
    let text = format!(
        "Reply-to differs: it came from {}, answers are asked for at {}{elsewhere}. {uses}",
        from.email, asked.email
    );
    Some(Finding::new("reply_to_differs", "conversation.reply_to", Weight::Look, text).holding())
}
