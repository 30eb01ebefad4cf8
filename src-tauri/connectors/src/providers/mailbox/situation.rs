//! Did the conversation move on? And is the customer's message what the source told? Read-only.

use super::MailboxDestination;
use super::look::Marks;
use crate::conversation::{Parent, Situation};
use crate::login::Login;
use crate::mailbox::headers::{base_subject, folded, guarded, of, parsed};
use crate::mailbox::query::{self, Query, header};
use crate::mailbox::{Headers, MailboxError, Session, Use};
use countersign_domain::email::threading;
use countersign_domain::risk::automatic::{self, Automatic};
use countersign_domain::{Conversation, Countersigned, Strength};

/// Ids of a thread that are searched for. The first and the last say it all.
const IDS_MAX: usize = 6;

/// What makes a message one of this conversation.
struct Thread {
    /// The message that is answered.
    parent: String,
    /// Parent and what came before it.
    ids: Vec<String>,
    /// The customer's address, folded.
    customer: Option<String>,
    subject: Option<String>,
    /// When the customer's message was received, as the source told: seconds since 1970.
    received: Option<i64>,
}

impl Thread {
    fn of(order: &Countersigned) -> Option<Thread> {
        let email = order.sealed().payload().email()?;
        let conversation = order.conversation();
        let (parent, references) = threading(&email, conversation);
        let parent = parent.or_else(|| conversation?.message_id.clone())?;
        let mut ids = references;
        ids.retain(|id| *id != parent);
        ids.push(parent.clone());
        Some(Thread {
            parent,
            ids,
            customer: conversation.and_then(|c| c.from.as_ref()).map(|m| m.folded()),
            subject: conversation.and_then(|c| c.subject.as_deref()).map(base_subject),
            received: conversation.and_then(|c| c.received_at).map(|t| t.millis().div_euclid(1000)),
        })
    }

    /// Messages that name the parent or, beside it, the thread's first and newest ids.
    fn query(&self) -> Option<Query> {
        let newest = self.ids.iter().rev().take(IDS_MAX);
        let first = self.ids.first().filter(|_| self.ids.len() > IDS_MAX);
        Query::any(newest.chain(first).flat_map(|id| [header("In-Reply-To", id), header("References", id)]))
    }
}

pub(super) async fn situation(
    place: &MailboxDestination,
    order: &Countersigned,
    login: &Login,
    ours: &[String],
) -> Situation {
    let (Some(mailbox), Some(email)) = (place.mailbox(), order.sealed().payload().email()) else {
        return Situation::NothingToAsk;
    };
    let Some(thread) = Thread::of(order) else { return Situation::Unchanged };
    let own = Own { marks: Marks::of(order, &email), ours, place };
    let asked = async {
        let mut session = mailbox.open(login).await?;
        let sent = mailbox.sent(&mut session).await?;
        let (inbox, parent) = in_inbox(&mut session, &thread, &own).await?;
        let sent = in_sent(&mut session, &sent, &thread, &own, parent.and_then(|p| p.arrived)).await?;
        session.leave().await;
        Ok::<_, MailboxError>([inbox, sent].into_iter().flatten().collect::<Vec<_>>())
    };
    match asked.await {
        Ok(changes) => match changes.first() {
            None => Situation::Unchanged,
            // All of it in one text: who was told exactly this before has nothing new to learn.
            Some((code, _)) => {
                let texts = changes.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>();
                Situation::Changed { code, text: texts.join(" ") }
            }
        },
        Err(e) => Situation::CannotAsk { why: e.text(), pauses: e.pauses(), signed_out: e.is_login() },
    }
}

/// What does not count: actions of the same request, and this one.
struct Own<'a> {
    marks: Marks,
    ours: &'a [String],
    place: &'a MailboxDestination,
}

impl Own<'_> {
    fn is_ours(&self, h: &Headers) -> bool {
        let by_id = |id: &Option<String>| id.as_ref().is_some_and(|id| self.ours.contains(id));
        // Where the provider gave another id, our own header tells: the key is the left side of our Message-ID.
        let by_key =
            |key: &String| self.ours.iter().any(|id| id.trim_start_matches('<').split('@').next() == Some(key));
        self.marks.strength(h) != Strength::None
            || by_id(&h.message_id)
            || by_id(&h.original_message_id)
            || h.key.as_ref().is_some_and(by_key)
    }

    fn is_us(&self, h: &Headers) -> bool {
        h.from.iter().any(|f| self.place.config.from.iter().any(|m| m.folded() == *f))
    }
}

type Change = (&'static str, String);

async fn in_inbox(
    session: &mut Session,
    thread: &Thread,
    own: &Own<'_>,
) -> Result<(Option<Change>, Option<Headers>), MailboxError> {
    session.open("INBOX").await?;
    let parent = exact(session, &thread.parent).await?;
    // What moved on came later; where the parent is here, only what is newer is searched.
    let from = parent.as_ref().map(|p| p.uid.saturating_add(1));
    let newer_than_parent = |h: &Headers| match (&parent, thread.received) {
        (Some(_), _) => true,
        (None, Some(received)) => h.written.max(h.arrived).is_some_and(|t| t > received),
        (None, None) => h.unreadable || h.refers_to(std::slice::from_ref(&thread.parent)),
    };
    let mut candidates = Vec::new();
    if let Some(query) = thread.query() {
        let uids = session.search(from, &query).await?;
        candidates = session.headers(&uids).await?;
        candidates.retain(|h| h.unreadable || h.refers_to(&thread.ids));
    }
    // A customer who writes a new message instead of answering is in the thread by sender and subject.
    if let Some(customer) = &thread.customer {
        let query = Query::any([query::from(customer).map(|from| match (&parent, thread.received) {
            (None, Some(received)) => format!("{} {from}", query::since(received - 86_400)),
            _ => from,
        })]);
        if let Some(query) = query.filter(|_| parent.is_some() || thread.received.is_some()) {
            let uids = session.search(from, &query).await?;
            let mut more = session.headers(&uids).await?;
            more.retain(|h| h.from.contains(customer) && thread.subject == Some(base_subject(&h.subject)));
            candidates.append(&mut more);
        }
    }
    let change = candidates
        .iter()
        .filter(|h| h.message_id.as_ref() != Some(&thread.parent) && !h.automatic && !own.is_ours(h))
        .filter(|h| newer_than_parent(h))
        .max_by_key(|h| h.uid)
        .map(|h| {
            if h.unreadable {
                (
                    "customer_wrote_again",
                    format!("Message {} in the Inbox may be of this conversation; it cannot be read.", h.uid),
                )
            } else if own.is_us(h) {
                ("somebody_answered", format!("Somebody answered: message {} in the Inbox is from us.", h.uid))
            } else if thread.customer.as_ref().is_some_and(|c| h.from.contains(c)) {
                ("customer_wrote_again", format!("The customer wrote again: message {} in the Inbox.", h.uid))
            } else {
                ("customer_wrote_again", format!("The conversation went on: message {} in the Inbox.", h.uid))
            }
        });
    Ok((change, parent))
}

async fn in_sent(
    session: &mut Session,
    sent: &str,
    thread: &Thread,
    own: &Own<'_>,
    parent_arrived: Option<i64>,
) -> Result<Option<Change>, MailboxError> {
    session.open(sent).await?;
    let term = |name: &str| {
        let term = header(name, &thread.parent)?;
        // The server's own clock dated the parent, so an answer cannot be older.
        Some(match parent_arrived {
            Some(t) => format!("({} {term})", query::since(t - 86_400)),
            None => term,
        })
    };
    let Some(query) = Query::any([term("In-Reply-To"), term("References")]) else { return Ok(None) };
    let uids = session.search(None, &query).await?;
    let parent = std::slice::from_ref(&thread.parent);
    let found = session.headers(&uids).await?;
    let answer = found.iter().rev().find(|h| (h.unreadable || h.refers_to(parent)) && !h.automatic && !own.is_ours(h));
    Ok(answer.map(|h| ("somebody_answered", format!("Somebody answered: message {} in {sent}.", h.uid))))
}

/// The message with exactly this id in the open folder.
async fn exact(session: &mut Session, id: &str) -> Result<Option<Headers>, MailboxError> {
    let Some(query) = Query::any([header("Message-ID", id)]) else { return Ok(None) };
    let uids = session.search(None, &query).await?;
    Ok(session.headers(&uids).await?.into_iter().find(|h| h.message_id.as_deref() == Some(id)))
}

pub(super) async fn parent(place: &MailboxDestination, told: &Conversation, login: &Login) -> Parent {
    let (Some(mailbox), Some(id)) = (place.mailbox(), &told.message_id) else { return Parent::NothingToAsk };
    let fetched = async {
        let mut session = mailbox.open(login).await?;
        let mut folders = vec!["INBOX".to_owned()];
        for wanted in [Use::All, Use::Archive] {
            folders.extend(session.folder(wanted).await?);
        }
        for folder in folders {
            session.open(&folder).await?;
            if let Some(headers) = exact(&mut session, id).await? {
                let bytes = session.message(headers.uid).await?;
                session.leave().await;
                return Ok(Some((headers, bytes)));
            }
        }
        session.leave().await;
        Ok::<_, MailboxError>(None)
    };
    match fetched.await {
        Ok(None) => Parent::Missing,
        Ok(Some((headers, bytes))) => compare(told, headers, bytes.as_deref()),
        Err(e) => Parent::CannotAsk { why: e.text() },
    }
}

fn compare(told: &Conversation, headers: Headers, bytes: Option<&[u8]>) -> Parent {
    let mut fields = Vec::new();
    if told.from.as_ref().is_some_and(|from| !headers.from.contains(&from.folded())) {
        fields.push("from");
    }
    if told.subject.as_deref().is_some_and(|s| squeezed(s) != squeezed(&headers.subject)) {
        fields.push("subject");
    }
    // The source may have cut quotes and signatures off; it must not have added anything.
    let real = bytes.and_then(|b| guarded(|| plain_text(&parsed(b)?)));
    if let (Some(told), Some(real)) = (told.text.as_deref(), real)
        && !squeezed(&real).contains(&squeezed(told))
    {
        fields.push("text");
    }
    let automatic = bytes.and_then(|b| guarded(|| automatic(&mailparse::parse_headers(b).ok()?.0)));
    let mut people = [headers.from, headers.reply_to, headers.to, headers.cc].concat();
    people.iter_mut().for_each(|p| *p = folded(p));
    people.sort();
    people.dedup();
    if fields.is_empty() {
        Parent::Matches { people, automatic }
    } else {
        Parent::Differs { fields, people, automatic }
    }
}

/// Whether its headers say that no person wrote it (F41).
fn automatic(headers: &[mailparse::MailHeader<'_>]) -> Option<Automatic> {
    let all: Vec<(String, String)> = headers.iter().map(|h| (h.get_key(), h.get_value())).collect();
    automatic::of_headers(all.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The first plain text of a message, if it has one.
fn plain_text(mail: &mailparse::ParsedMail<'_>) -> Option<String> {
    if mail.ctype.mimetype == "text/plain" && !of(&mail.headers).automatic {
        return mail.get_body().ok();
    }
    mail.subparts.iter().find_map(plain_text)
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(text: &str) -> Conversation {
        Conversation::parse(json!({
            "from": {"name": "Robin Vale", "email": "Robin@Customer.example"}, "subject": "Delivery  slot",
            "message_id": "<m1@customer.example>", "text": text,
        }))
        .unwrap()
    }

    const MAIL: &str = "From: Robin <robin@customer.example>\r\nReply-To: Home <home@customer.example>\r\nTo: support@shop.example\r\nSubject: Delivery slot\r\nMessage-ID: <m1@customer.example>\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nCan I move my =\r\nslot? Gr=C3=BC=C3=9Fe\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Can I</p>\r\n--b--\r\n";

    fn against(told: &Conversation, mail: &str) -> Parent {
        let headers = Headers::read(1, None, mail.as_bytes()).unwrap();
        compare(told, headers, Some(mail.as_bytes()))
    }

    #[test]
    fn the_customers_message_is_compared_with_what_the_source_told() {
        let people: Vec<String> =
            ["home@customer.example", "robin@customer.example", "support@shop.example"].map(str::to_owned).into();
        assert_eq!(
            against(&told("Can I move my slot?"), MAIL),
            Parent::Matches { people: people.clone(), automatic: None }
        );
        assert_eq!(
            against(&told("Pay to account 9999. Can I move my slot?"), MAIL),
            Parent::Differs { fields: vec!["text"], people, automatic: None }
        );
        let other = MAIL.replace("Robin <robin@", "Robin <mallory@").replace("Subject: Delivery", "Subject: Other");
        let Parent::Differs { fields, .. } = against(&told("slot?"), &other) else { panic!("it differs") };
        assert_eq!(fields, ["from", "subject"]);
    }
}
