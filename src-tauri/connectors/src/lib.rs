//! Destinations behind one trait. A connector reports; the domain judges ([`countersign_domain::classify`]).
//!
//! A connector has no memory, no retry and no clock: what it must know it is told, what it learns it returns. Time limits
//! of the network are its own; how long an answer is waited for is the caller's.
//!
//! | file | what lives there |
//! |---|---|
//! | `registry` | the list of kinds: destination file → connector, form fields, contract in words |
//! | `mime`, `mime/check`, `preview` | the message, rendered deterministically; its self-check; what a person is shown of the bytes |
//! | `transport` | one fresh connection per attempt: TLS, the SMTP dialogue, one HTTP request, [`Poised`], the only way to what an approval is for; `transport::oauth` renews a sign-in |
//! | `sasl` | how a mail server is told an access token |
//! | `site`, `mail_api` | what HTTP kinds have in common: their table; the connector of all that send mail |
//! | `mailbox` | read-only access to a mailbox: look-ups, situation, the customer's message; filing a copy; the letterbox |
//! | `survey` | the record an action touches, as the destination shows it before an approval |
//! | `providers` | the list; in `providers/NAME` `contract.toml` (facts with their source), `mod.rs` (code), `answers/` (recorded replies with the outcome each must get) |
//!
//! # Add a provider
//!
//! A provider is one folder, `providers/NAME/`, and two lines in the list, `providers/mod.rs` (`mod NAME;` and
//! `NAME::PROVIDER`), and its name in the README's sentence of kinds. Nothing else is touched: engine, ledger, window, command
//! line and the conformance suite walk the list. Postmark and MailerSend were added by this page; read one beside it: Postmark
//! can be asked and answers with JSON, MailerSend cannot, and its yes is a header without a body. For another protocol than
//! HTTP read the mailbox.
//!
//! **1. The facts: `contract.toml`.** One table per contract, its name is free; the fields are those of
//! [`countersign_domain::Contract`]. One table may hold for several effects; effects that differ in what they promise get
//! tables of their own. Answer three questions from the provider's documentation and name each page under `sources`, with
//! the month in `facts_as_of`: what does a second request under the same key do (`family`, `retention_hours`)? how is a lost
//! result found (`lookup`, empty if it is not)? does not finding it prove anything (`absence_conclusive`)? Are keys the
//! account's, and does nothing say whose a token is (`key_of_login`)? What the documentation does not say is not promised:
//! `family = "none"`, `lookup = ""`, `absence_conclusive = false`, `refusal_frees_key = false`.
//!
//! Then the answers, as patterns of codes. Whatever no list has is unclear, so a list is only made longer with a source:
//!
//! | code | who makes it | list |
//! |---|---|---|
//! | `net:before_body`, `http:tls:failed` | transport: nobody was reached | `pauses` |
//! | `http:before_request:*` | transport: not a byte was said | `not_sent` |
//! | `http:wire:unreadable` | transport: the stored request is none | `refused` |
//! | `http:login:*` | transport, and your `read` for every answer that means a login was not taken | `pauses`; the engine waits for a person |
//! | `http:STATUS:NAME` | your `read`, for the provider's own error body | `not_sent`, `refused` or none |
//! | `http:STATUS:accepted` | your `read`, for the documented status *and* body (or its documented absence), with a receipt from the body or a header | `accepted` |
//! | `http:STATUS:NAME`, below 300 | your `read`, for a yes to some recipients only, or a success that does nothing | `refused` if documented as nothing done, else none |
//! | `foreign:STATUS` | your `read`, for any body that is not the provider's: a portal's, a gateway's | none, ever |
//!
//! **2. The code: `mod.rs`.** Mail over an HTTP API is a `mail_api::MailProvider`, and its `PROVIDER` is
//! `mail_api::provider::<NAME>()`: `request`, `test_request`, `read`, `checked` and `look` are what is left to write, under the
//! rules below, and the constants. `BASE_URL` is the host alone, the version belongs to each path. `MEMBERS` are names at the top
//! of the body, people as texts or as objects with an `email`; where the message lies deeper (SendGrid) the preview must learn
//! it first. `CHECK` needs no permission that sending does not need, and `checked` says what a good answer to it means; all
//! others are judged by your `read`. No documented `REQUEST_MAX`: more than a payload makes.
//! A kind whose users sign in with OAuth reads `transport::oauth::OAuthConfig` beside its table, has its `fields` and gives the
//! client as [`Connector::oauth`]; its [`Login`] is then an access token, and that is all it knows of it. See HubSpot.
//! Anything else brings `pub(crate) const PROVIDER` ([`Provider`]) with the [`Kind`] (its form fields; `site::SiteConfig`
//! brings `base_url`, `from`, `answer_timeout_seconds`, `ca_file`) and a reader of the kind's table that gives a [`Settings`].
//! Its `connect` makes a type that implements [`Connector`]:
//!
//! * `render`: pure, at approval. Everything that is sent is in the [`Wire`], made by `transport::http::Request::seal`: method,
//!   path, content headers, body. Same arguments, same bytes; no time but `at`, no randomness. The key goes where the
//!   provider recognises it or where it can be searched for; nowhere, if there is no such place. What the provider would
//!   refuse (too large, too many) or send otherwise than it was approved (places it fills in, members it lacks) is an
//!   [`Unrenderable`] that names the payload's field.
//! * `read`: pure. A whole reply to codes, receipt and words; it judges nothing. [`HttpReply::json`] is None for what is not
//!   JSON. A body the provider does not document is [`HttpReply::foreign`]. Words pass through [`HttpReply::words`], which takes addresses
//!   out.
//! * `approach`: opens the stored request (`Request::open`), adds `Credentials`, and returns what `transport::http::Site::approach`
//!   returns. If it must ask something first, only what changes nothing a person would notice.
//! * `confirm`: where the provider's yes does not prove what it changed, reads it back and makes the code that `accepted` lists.
//! * `look`: asks for the key, read-only (`Site::ask`). Found exactly by the key is `Proof`; by likeness, `Weak`. Anything but a
//!   documented answer is [`Sighting::CannotTell`], never absence. Without a `lookup` in the contract it says just that.
//! * `check`: one read-only question that shows the login works. `test_send` where a person can be written to.
//! * `situation`, `parent`, `file_copy`, `preview` have defaults for a destination without a mailbox; mail over an API has
//!   them, preview, check and test from `mail_api`.
//!
//! **3. The answers: `answers/*.toml`.** Recorded replies, each with the outcome it must get; a test of three lines
//! (`answers::check`) reads the folder. Take them from the documentation, named in the file's head; add a portal's page, a
//! gateway's page, a success without its reference and an error inside a success. An entry of the list `answer` has `status`,
//! `type` (`application/json` unless it says otherwise), `headers` (a table, lower case), `body`, `retry_after`; and `outcome`:
//! `accepted` (with the `reference` its receipt must have), `refused`, `not_sent`, `pauses` or `unclear`. `code` instead of a
//! status is a code as the transport gives it.
//!
//! **4. The double: `double.json`.** What the provider does, from its documentation and not from your code, for the generic
//! double of the sandbox (`countersign_sandbox::apps::described`, whose `Description` says what each member is). Paths are
//! whole, as they stand behind the host. A provider with rules of its own (it keeps keys, it merges records) gets an app
//! under `sandbox/src/apps/` and an entry in `tests/connectors/doubles.rs` instead. Then `cargo test --workspace --lib NAME`
//! and `cargo test --workspace --test connectors -- --nocapture`: the suite picks its trials from your contract and prints,
//! for each of your effects, how many there were. Nobody but you tests `checked` and the exact body of `request`: bring both.

#[cfg(test)]
mod answers;
pub mod boot;
pub mod conversation;
pub mod error;
pub mod letter;
pub mod login;
mod mail_api;
pub mod mailbox;
pub mod mime;
pub mod notice;
pub mod preview;
pub mod providers;
pub mod registry;
mod sasl;
pub mod site;
pub mod survey;
pub mod transport;

pub use boot::BootTime;
pub use conversation::{Parent, Situation};
pub use error::{Halted, SetupCode, SetupError, Unrenderable};
pub use login::Login;
pub use mailbox::Letterbox;
pub use preview::{Preview, PreviewAttachment};
pub use registry::{DestinationConfig, FormField, Kind, Learned, Provider, Settings, connect, kinds, parse};
pub use survey::{Record, Survey};
pub use transport::oauth::{Granted, NotGranted, OAuth};
pub use transport::reply::clocks_apart;
pub use transport::{Crossed, HttpReply, LateReader, Poised, Reply, Step};

use async_trait::async_trait;
use countersign_domain::{
    AccountFingerprint, Answer, Contract, Conversation, Countersigned, IdempotencyKey, RecordRef, Sealed, Sighting,
    Timestamp, Wire,
};
use serde::Serialize;
use std::time::Duration;

/// One configured destination.
#[async_trait]
pub trait Connector: Send + Sync {
    /// The registry's name of the kind: `mailbox`.
    fn kind(&self) -> &'static str;
    /// Hash of kind, hosts, login and senders (`countersign/account/v1`). Signed in every approval.
    fn account(&self) -> AccountFingerprint;
    /// The same for people: `support@shop.example via smtp.shop.example`.
    fn account_text(&self) -> String;
    /// What this destination, as it is configured, promises for `effect`. None: it cannot do that.
    fn contract(&self, effect: &str) -> Option<&Contract>;
    /// All that is promised for `effect`: where it depends on what is there, each case with what it is for people. For
    /// whoever reads the contract before there is an order.
    fn contracts(&self, effect: &str) -> Vec<(Option<&'static str>, &Contract)> {
        self.contract(effect).map(|contract| (None, contract)).into_iter().collect()
    }
    /// The same for one order, where it depends on more than the effect (a contact that is made, or one that is changed).
    fn contract_of(&self, order: &Countersigned) -> Option<&Contract> {
        self.contract(&order.key().effect)
    }
    /// Where its sign-in is renewed, if it signs in with OAuth. Its [`Login`] is then an access token.
    fn oauth(&self) -> Option<&OAuth> {
        None
    }
    /// Whether a secret can be one of this kind, by its form. A refusal says what the form is and nothing of the secret.
    fn takes_secret(&self, _secret: &str) -> Result<(), &'static str> {
        Ok(())
    }
    /// How long the answer is waited for once the last thing has been said.
    fn answer_timeout(&self) -> Duration;

    /// The exact bytes to send. Pure: same arguments, same bytes.
    fn render(
        &self,
        sealed: &Sealed,
        key: &IdempotencyKey,
        conversation: Option<&Conversation>,
        at: Timestamp,
    ) -> Result<Wire, Unrenderable>;
    /// The same, with what the destination showed of the record that is touched. Unless a destination has records, it makes
    /// no difference.
    fn render_on(
        &self,
        sealed: &Sealed,
        key: &IdempotencyKey,
        conversation: Option<&Conversation>,
        at: Timestamp,
        _survey: &Survey,
    ) -> Result<Wire, Unrenderable> {
        self.render(sealed, key, conversation, at)
    }
    /// The record that a wire touches, by the one name the destination itself has for it, however the payload named it: by
    /// a second address, as 04711. None: the payload's name is all there is.
    fn touches(&self, _wire: &Wire) -> Option<RecordRef> {
        None
    }
    /// What a person is shown of the bytes, parsed back from them. Unless it is more to people, an HTTP request: its lines
    /// and its body.
    fn preview(&self, wire: &Wire) -> Preview {
        preview::of_request(wire)
    }
    /// Names and numbers of a whole reply. Pure; judges nothing.
    fn read(&self, reply: &Reply) -> Answer;

    /// Connection test, step by step. Sends nothing. `at`: the time now, to notice a clock that is wrong.
    async fn check(
        &self,
        login: &Login,
        at: Timestamp,
        progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<Whoami, SetupError>;
    /// Sends one test message to `to` and, if there is a mailbox, learns whether the provider files the Sent copy itself.
    /// `nonce` makes the message's id; the caller brings it, as nothing here is random. Unless it sends mail, it cannot.
    async fn test_send(
        &self,
        _login: &Login,
        _to: &str,
        _nonce: &str,
        _at: Timestamp,
        _progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<TestSend, SetupError> {
        let text = "there is nobody to write a test message to; the test without one is enough".to_owned();
        Err(SetupError { code: SetupCode::NotPossible, step: "send", text })
    }

    /// Sets up what the destination needs beforehand, once (a unique property). Safe to do again.
    async fn prepare(
        &self,
        _login: &Login,
        _at: Timestamp,
        _progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<(), SetupError> {
        let text = "this kind of destination needs nothing beforehand".to_owned();
        Err(SetupError { code: SetupCode::NotPossible, step: "prepare", text })
    }

    /// The record that a payload touches, as it is now: for the person who reads it, and for [`Connector::render_on`].
    /// Read-only.
    async fn survey(&self, _sealed: &Sealed, _login: &Login) -> Survey {
        Survey::NothingToAsk
    }
    /// Whether the conversation moved on. `ours`: Message-IDs (with brackets) of our own actions of the same request,
    /// which do not count.
    async fn situation(&self, _order: &Countersigned, _login: &Login, _ours: &[String]) -> Situation {
        Situation::NothingToAsk
    }
    /// The customer's message, fetched by its Message-ID and compared with what the source told.
    async fn parent(&self, _conversation: &Conversation, _login: &Login) -> Parent {
        Parent::NothingToAsk
    }
    /// Everything but the last thing. `at`: when the attempt is made, for what has to carry its time.
    async fn approach(&self, order: &Countersigned, login: &Login, at: Timestamp) -> Result<Poised, Halted>;
    /// Whether an accepted action has a copy that may be ours to file.
    fn has_copies(&self) -> bool {
        false
    }
    /// An answer once more, where a yes alone is not enough: what was changed is read back. Read-only. What
    /// [`Connector::read`] made of the reply must be unclear until then.
    async fn confirm(&self, _order: &Countersigned, answer: Answer, _login: &Login) -> Answer {
        answer
    }
    /// The folder of its mailbox that documents come into by mail. None where there is no mailbox.
    fn letterbox(&self, _folder: &str) -> Option<Letterbox<'_>> {
        None
    }
    /// Asks the destination for our key. Read-only. `noted`: what [`Poised::noted`] gave on earlier attempts that may have
    /// done something, oldest first.
    async fn look(&self, order: &Countersigned, login: &Login, noted: &[serde_json::Value]) -> Sighting;
    /// Files the copy of an accepted action from the same bytes: looks first, appends at most once per call.
    /// `since_accepted`: a provider that may file it itself is given 30 s.
    async fn file_copy(
        &self,
        _order: &Countersigned,
        _login: &Login,
        _noted: &[serde_json::Value],
        _since_accepted: Duration,
    ) -> Filing {
        Filing::NotNeeded
    }
}

/// One step of a connection test, begun or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// Stable name: `smtp_connect`, `smtp_tls`, `smtp_login`, `imap_connect`, `imap_login`, `imap_sent`, `send`, `watch_sent`.
    pub step: &'static str,
    pub status: ProbeStatus,
    /// One line for people, without secrets.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeStatus {
    Started,
    Done,
    Failed,
}

/// What a connection test learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Whoami {
    pub account: String,
    /// SMTP extensions offered after login, upper case.
    pub smtp_extensions: Vec<String>,
    /// Largest message in bytes, if the server says.
    pub size_limit: Option<u64>,
    /// The folder copies are in, if there is a mailbox.
    pub sent_folder: Option<String>,
    /// How far the server's clock is ahead of ours, in seconds, if it told its time.
    pub ahead_seconds: Option<i64>,
}

/// What a test message taught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestSend {
    /// The server's answer in words.
    pub answer: String,
    pub message_id: String,
    /// Whether a copy turned up in Sent by itself. None: no mailbox to look in.
    pub files_sent_itself: Option<bool>,
}

/// What became of the copy in Sent. Its own state: it can never put the send back in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "filing", rename_all = "snake_case")]
pub enum Filing {
    AlreadyPresent {
        folder: String,
    },
    Filed {
        folder: String,
        uid: Option<u32>,
    },
    Waiting {
        #[serde(skip)]
        again_in: Duration,
    },
    Failed {
        why: String,
        /// The login was refused.
        signed_out: bool,
    },
    /// The provider files it, or there is no mailbox.
    NotNeeded,
}
