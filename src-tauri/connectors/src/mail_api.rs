//! Mail over an HTTP API: one connector for all providers of it. What a provider has of its own is a [`MailProvider`]: how it
//! writes a message, names its answers, shows that a login works, and is asked for a message.

use crate::error::{Halted, SetupCode, SetupError, Unrenderable};
use crate::login::Login;
use crate::preview::{Preview, PreviewAttachment, of_request};
use crate::registry::{Kind, Learned, Provider, Settings};
use crate::site::SiteConfig;
use crate::transport::http::{Credentials, NoAnswer, Request, Site, fits_a_header};
use crate::transport::reply::{answer, is_foreign, refuses_login};
use crate::transport::tls::Unreached;
use crate::transport::trial::{NoReply, deliver, is_unclear, may_have_gone};
use crate::transport::{HttpReply, Poised, Reply};
use crate::{Connector, Probe, ProbeStatus, TestSend, Whoami};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::canonical::sha256;
use countersign_domain::email::{EmailView, Mailbox};
use countersign_domain::explain::sentence;
use countersign_domain::json::FieldError;
use countersign_domain::size::size_in_words;
use countersign_domain::{
    AccountFingerprint, Answer, Contract, Conversation, Countersigned, IdempotencyKey, Sealed, Sighting, Timestamp,
    Wire,
};
use serde_json::{Value, json};
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;
use toml::Table;

pub(crate) type Progress<'a> = &'a (dyn Fn(Probe) + Send + Sync);

/// What one provider has of its own.
#[async_trait]
pub(crate) trait MailProvider: Sized + Send + Sync + 'static {
    /// The registry's name.
    const KIND: &'static str;
    /// As people write it.
    const TITLE: &'static str;
    const BASE_URL: &'static str;
    /// What its form calls the secret.
    const SECRET: &'static str;
    /// Longest body of a request.
    const REQUEST_MAX: usize;
    const MEMBERS: Members;
    /// Path of a read-only question that shows that a login works.
    const CHECK: &'static str;
    /// What to do where the secret is not taken.
    const NEW_SECRET: &'static str;

    fn contracts() -> &'static [(String, Contract)];
    fn credentials(login: &Login) -> Credentials;
    /// The request of a message, its key in it.
    fn request(
        config: &SiteConfig,
        email: &EmailView,
        key: &IdempotencyKey,
        conversation: Option<&Conversation>,
    ) -> Result<Request, Unrenderable>;
    /// The request of a test message.
    fn test_request(config: &SiteConfig, to: &str, nonce: &str) -> Request;
    fn read(reply: &HttpReply) -> Answer;
    /// What the login is good for, by the answer to [`MailProvider::CHECK`]. None where it is no yes.
    fn checked(reply: &HttpReply) -> Option<&'static str>;
    async fn look(api: &MailApi<Self>, order: &Countersigned, login: &Login, noted: &[Value]) -> Sighting;
}

/// Its line in the list of providers.
pub(crate) const fn provider<P: MailProvider>() -> Provider {
    Provider {
        kind: || Kind {
            name: P::KIND,
            title: P::TITLE,
            effects: vec!["email.send", "email.reply"],
            fields: SiteConfig::fields(P::BASE_URL, true),
            secret: P::SECRET,
        },
        read: read_table::<P>,
    }
}

fn read_table<P: MailProvider>(table: &Table, loopback_only: bool) -> Result<Box<dyn Settings>, FieldError> {
    let config = SiteConfig::read(table, loopback_only, Some(P::BASE_URL), true)?;
    Ok(Box::new(MailSettings::<P> { config, provider: PhantomData }))
}

struct MailSettings<P> {
    config: SiteConfig,
    provider: PhantomData<fn() -> P>,
}

impl<P: MailProvider> fmt::Debug for MailSettings<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", P::KIND, self.config)
    }
}

impl<P: MailProvider> Settings for MailSettings<P> {
    fn connect(&self, base_dir: &Path, _: &Learned) -> Result<Box<dyn Connector>, FieldError> {
        let (site, config) = (self.config.site(base_dir)?, self.config.clone());
        Ok(Box::new(MailApi::<P> { site, config, provider: PhantomData }))
    }
}

/// A destination that takes mail over the provider's API.
pub(crate) struct MailApi<P> {
    site: Site,
    config: SiteConfig,
    provider: PhantomData<fn() -> P>,
}

impl<P: MailProvider> MailApi<P> {
    /// Asks; `rest`: the path, which changes nothing at the provider.
    pub(crate) async fn ask(&self, rest: &str, login: &Login) -> Result<HttpReply, NoAnswer> {
        self.site.ask(&Request::get(self.config.base.join(rest)), &P::credentials(login)).await
    }
}

#[async_trait]
impl<P: MailProvider> Connector for MailApi<P> {
    fn kind(&self) -> &'static str {
        P::KIND
    }
    fn account(&self) -> AccountFingerprint {
        self.config.account(P::KIND)
    }
    fn account_text(&self) -> String {
        self.config.account_text(P::TITLE)
    }
    fn contract(&self, effect: &str) -> Option<&Contract> {
        P::contracts().iter().map(|(_, c)| c).find(|c| c.effects.iter().any(|e| e == effect))
    }
    fn takes_secret(&self, secret: &str) -> Result<(), &'static str> {
        fits_a_header(secret)
    }
    fn answer_timeout(&self) -> Duration {
        self.config.answer_timeout
    }

    fn render(
        &self,
        sealed: &Sealed,
        key: &IdempotencyKey,
        conversation: Option<&Conversation>,
        _at: Timestamp,
    ) -> Result<Wire, Unrenderable> {
        let email = email(sealed, &self.config)?;
        let request = P::request(&self.config, &email, key, conversation)?;
        at_most(&request, &email, P::REQUEST_MAX, P::TITLE)?;
        Ok(request.seal())
    }

    fn preview(&self, wire: &Wire) -> Preview {
        preview(wire, &P::MEMBERS)
    }

    fn read(&self, reply: &Reply) -> Answer {
        reply.read_as_http(P::read)
    }

    async fn check(&self, login: &Login, at: Timestamp, progress: Progress<'_>) -> Result<Whoami, SetupError> {
        let steps = Steps(progress);
        reach(&self.site, &steps).await?;
        let request = Request::get(self.config.base.join(P::CHECK));
        let reply = question(&self.site, &request, &P::credentials(login), at, &steps).await?;
        let Some(good_for) = P::checked(&reply) else {
            let answer = P::read(&reply);
            let told = said_by(P::TITLE, &answer);
            return Err(if refuses_login(&answer) {
                let text = format!("The {} is not taken. {told} {}", P::SECRET, P::NEW_SECRET);
                steps.fail("http_login", SetupCode::Login, text)
            } else {
                steps.fail("http_login", SetupCode::Protocol, told)
            });
        };
        steps.done("http_login", good_for);
        let size_limit = Some(P::REQUEST_MAX as u64);
        let (account, ahead_seconds) = (self.account_text(), reply.ahead_seconds);
        Ok(Whoami { account, size_limit, ahead_seconds, ..Whoami::default() })
    }

    async fn test_send(
        &self,
        login: &Login,
        to: &str,
        nonce: &str,
        at: Timestamp,
        progress: Progress<'_>,
    ) -> Result<TestSend, SetupError> {
        let request = P::test_request(&self.config, to, nonce);
        let when = (at, self.config.answer_timeout);
        let read = |reply: &Reply| reply.read_as_http(P::read);
        let judged = (P::TITLE, self.contract("email.send"), read);
        send_test(&self.site, request, &P::credentials(login), when, judged, &Steps(progress)).await
    }

    async fn approach(&self, order: &Countersigned, login: &Login, at: Timestamp) -> Result<Poised, Halted> {
        let halted = |answer| Halted { answer };
        let request =
            Request::open(order.wire()).map_err(|no| halted(answer("http:wire:unreadable", no.to_string())))?;
        let poised = self.site.approach(request, &P::credentials(login), at, Value::Null).await;
        poised.map(Poised::Http).map_err(halted)
    }

    async fn look(&self, order: &Countersigned, login: &Login, noted: &[Value]) -> Sighting {
        P::look(self, order, login, noted).await
    }
}

/// The email of a payload, if its sender is one of the destination's.
fn email(sealed: &Sealed, config: &SiteConfig) -> Result<EmailView, Unrenderable> {
    let email = sealed.payload().email();
    let email =
        email.ok_or_else(|| Unrenderable::new("effect", format!("`{}` is not an email", sealed.payload().effect())))?;
    if !config.may_send_as(&email.from.email) {
        let reason = format!("{} is not among the senders of this destination", email.from.email);
        return Err(Unrenderable::new("from.email", reason));
    }
    Ok(email)
}

/// `Name <address>`, or the address alone. A name that a header would take apart is quoted (RFC 5322, 3.2.4); what is not
/// ASCII stays as it is, for a JSON text needs no encoding of it (F24).
pub(crate) fn address(mailbox: &Mailbox) -> String {
    let address = mailbox.ascii_email();
    let Some(name) = mailbox.name.as_deref().filter(|n| !n.trim().is_empty()) else { return address };
    let plain = |c: char| c.is_alphanumeric() || c == ' ' || "!#$%&'*+-/=?^_`{|}~".contains(c);
    if name.chars().all(plain) {
        return format!("{name} <{address}>");
    }
    let quoted: String =
        name.chars().flat_map(|c| (c == '"' || c == '\\').then_some('\\').into_iter().chain([c])).collect();
    format!("\"{quoted}\" <{address}>")
}

pub(crate) fn addresses(list: &[Mailbox]) -> Vec<String> {
    list.iter().map(address).collect()
}

/// What is larger than the provider takes is said before anybody approves it (F36).
fn at_most(request: &Request, email: &EmailView, limit: usize, provider: &str) -> Result<(), Unrenderable> {
    if request.body.len() <= limit {
        return Ok(());
    }
    let of = |bytes: usize| size_in_words(bytes as u64);
    let (whole, most) = (of(request.body.len()), of(limit));
    let Some(largest) = email.attachments.iter().max_by_key(|file| file.content.bytes.len()) else {
        let reason = format!("makes the message {whole} large; {provider} takes at most {most}. Shorten it");
        return Err(Unrenderable::new(if email.html.is_some() { "html" } else { "text" }, reason));
    };
    let reason = format!(
        "make the message {whole} large as it is sent, since base64 makes files a third larger; {provider} takes at most \
         {most}. The largest is `{}` ({}): leave it out, or send a link to it",
        largest.filename,
        of(largest.content.bytes.len())
    );
    Err(Unrenderable::new("attachments", reason))
}

/// An answer that is none to a look.
pub(crate) fn unseen(answer: Answer) -> Sighting {
    let signed_out = refuses_login(&answer);
    Sighting::CannotTell { why: answer.words, signed_out }
}

/// Names of the members that hold what a person is to see.
pub(crate) struct Members {
    pub from: &'static str,
    /// To, Cc and Bcc.
    pub people: [&'static str; 3],
    pub subject: &'static str,
    pub text: &'static str,
    pub html: &'static str,
    pub attachments: &'static str,
    /// Of an attachment: its name, its base64.
    pub file: [&'static str; 2],
}

/// What a person is shown of a request that is a mail.
fn preview(wire: &Wire, members: &Members) -> Preview {
    let plain = of_request(wire);
    let Ok(body) = Request::open(wire).map(|r| serde_json::from_slice::<Value>(&r.body).unwrap_or(Value::Null)) else {
        return plain;
    };
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let people = |name: &str| -> Vec<String> {
        // One text with commas, a list of texts, or objects with an `email`: APIs differ.
        let one = |person: &Value| person.as_str().or_else(|| person["email"].as_str()).map(str::to_owned);
        let all = match &body[name] {
            Value::Array(list) => list.iter().filter_map(one).collect::<Vec<_>>().join(", "),
            other => one(other).unwrap_or_default(),
        };
        let parsed = mailparse::addrparse(&all).map(|list| list.into_inner()).unwrap_or_default();
        parsed
            .into_iter()
            .filter_map(|a| if let mailparse::MailAddr::Single(s) = a { Some(s.addr) } else { None })
            .collect()
    };
    let [to, cc, bcc] = members.people.map(people);
    let mut rcpt_to = [to, cc, bcc.clone()].concat();
    rcpt_to.sort();
    rcpt_to.dedup();
    let attachments = body[members.attachments].as_array().into_iter().flatten().map(|file| {
        let [name, content] = members.file.map(|member| file[member].as_str().unwrap_or_default());
        let bytes = STANDARD.decode(content).unwrap_or_default();
        PreviewAttachment {
            filename: name.to_owned(),
            content_type: ["content_type", "ContentType"]
                .iter()
                .find_map(|m| file[m].as_str())
                .unwrap_or_default()
                .into(),
            size: bytes.len() as u64,
            sha256: hex::encode(sha256(&bytes)),
        }
    });
    Preview {
        mail_from: people(members.from).pop().unwrap_or_default(),
        rcpt_to,
        bcc,
        subject: text(members.subject).unwrap_or_default(),
        text: text(members.text),
        html: text(members.html),
        attachments: attachments.collect(),
        ..plain
    }
}

/// Tells a step when it begins and when it has ended.
pub(crate) struct Steps<'a>(pub Progress<'a>);

impl Steps<'_> {
    fn tell(&self, step: &'static str, status: ProbeStatus, text: impl Into<String>) {
        (self.0)(Probe { step, status, text: text.into() });
    }
    pub(crate) fn begin(&self, step: &'static str, text: &str) {
        self.tell(step, ProbeStatus::Started, text);
    }
    pub(crate) fn done(&self, step: &'static str, text: &str) {
        self.tell(step, ProbeStatus::Done, text);
    }
    pub(crate) fn fail(&self, step: &'static str, code: SetupCode, text: impl Into<String>) -> SetupError {
        let text = text.into();
        self.tell(step, ProbeStatus::Failed, text.clone());
        SetupError { code, step, text }
    }
}

/// Reaches the server, and says nothing to it.
pub(crate) async fn reach(site: &Site, steps: &Steps<'_>) -> Result<(), SetupError> {
    steps.begin("http_connect", "Reaching the server");
    match site.greet().await {
        Ok(()) => {
            steps.done("http_connect", "");
            Ok(())
        }
        Err(why) => Err(not_reached("http_connect", &why, steps)),
    }
}

fn not_reached(step: &'static str, why: &Unreached, steps: &Steps<'_>) -> SetupError {
    let (code, advice) = match why {
        Unreached::Offline(_) => (SetupCode::Unreachable, " Check the address."),
        Unreached::Timeout => (SetupCode::Timeout, ""),
        Unreached::Tls(_) => (SetupCode::Tls, " Check the address, or name a ca_file."),
    };
    steps.fail(step, code, format!("The server: {}.{advice}", why.text()))
}

/// What a provider said, as a sentence of its own; of an answer that is not the provider's, just that.
pub(crate) fn said_by(title: &str, answer: &Answer) -> String {
    if is_foreign(answer) { sentence(&answer.words) } else { sentence(&format!("{title}: {}", answer.words)) }
}

/// Asks one read-only question and hands on what the provider said.
async fn question(
    site: &Site,
    request: &Request,
    credentials: &Credentials,
    at: Timestamp,
    steps: &Steps<'_>,
) -> Result<HttpReply, SetupError> {
    steps.begin("http_login", "Signing in");
    site.ask_at(request, credentials, at).await.map_err(|no| match &no {
        NoAnswer::Unreached(why) => not_reached("http_login", why, steps),
        NoAnswer::Unusable => steps.fail("http_login", SetupCode::Login, no.text()),
        NoAnswer::Timeout => steps.fail("http_login", SetupCode::Timeout, no.text()),
        NoAnswer::Broken(_) => steps.fail("http_login", SetupCode::Protocol, no.text()),
    })
}

/// A test message to `to`.
pub(crate) fn test_payload(to: &str) -> Value {
    json!({
        "to": [to],
        "subject": "Countersign test message",
        "text": "This is a test message of Countersign. It was sent because somebody tried this destination.\n",
    })
}

/// Sends a test message once. `judged`: the provider's name, the contract, and its reading of the reply.
async fn send_test(
    site: &Site,
    request: Request,
    credentials: &Credentials,
    test: (Timestamp, Duration),
    judged: (&str, Option<&Contract>, impl Fn(&Reply) -> Answer),
    steps: &Steps<'_>,
) -> Result<TestSend, SetupError> {
    let ((at, limit), (title, contract, read)) = (test, judged);
    steps.begin("send", "Sending the test message");
    let failed = |answer: Answer| {
        let code = if refuses_login(&answer) { SetupCode::Login } else { SetupCode::Protocol };
        steps.fail("send", code, said_by(title, &answer))
    };
    let poised = site.approach(request, credentials, at, Value::Null).await.map_err(failed)?;
    let unclear = |answer: &Answer| {
        let (code, text) = may_have_gone(&answer.words);
        steps.fail("send", code, text)
    };
    let answer = match deliver(Poised::Http(poised), limit).await {
        Ok(reply) => read(&reply),
        Err(NoReply::Unclear(answer)) => return Err(unclear(&answer)),
        Err(NoReply::Unsent(answer)) => return Err(failed(answer)),
    };
    let Some(reference) = answer.receipt.as_ref().and_then(|r| r.reference.clone()) else {
        return Err(if is_unclear(contract, &answer) { unclear(&answer) } else { failed(answer) });
    };
    steps.done("send", &answer.words);
    Ok(TestSend { answer: answer.words, message_id: reference, files_sent_itself: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f24_a_name_with_a_comma_and_what_is_not_ascii_stays_one_name() {
        let of =
            |name: Option<&str>, email: &str| address(&Mailbox { name: name.map(str::to_owned), email: email.into() });
        assert_eq!(of(None, "robin@customer.example"), "robin@customer.example");
        assert_eq!(of(Some("Robin Vale"), "robin@customer.example"), "Robin Vale <robin@customer.example>");
        assert_eq!(of(Some("Müller, Jörg"), "j@customer.example"), "\"Müller, Jörg\" <j@customer.example>");
        assert_eq!(of(Some("a \"b\" \\c"), "a@b.example"), "\"a \\\"b\\\" \\\\c\" <a@b.example>");
        assert_eq!(of(None, "j@müller.example"), "j@xn--mller-kva.example");
        let list = mailparse::addrparse("\"Müller, Jörg\" <j@customer.example>").unwrap();
        assert_eq!(list.len(), 1, "a parser of others sees one address");
    }
}
