//! The SMTP dialogue (RFC 5321, 3030, 3461, 6531), which knows how far it got. One connection per attempt, no pool, no
//! pipelining. [`approach`] ends before the last thing; only [`SmtpPoised::cross`] says it.

use super::poised::{Crossed, Late, LateReader, SLEPT};
use super::reply::{Reply, SmtpReply, Step, answer};
use super::talk::{Interrupted, NoReply, Talk};
use super::tls::{Server, Unreached};
use crate::boot::BootTime;
use crate::login::Login;
use crate::providers::mailbox::config::Security;
use crate::sasl::Bearer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::size::size_in_words;
use countersign_domain::{Answer, Doubt};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a refusal is listened to, in case it was not the answer to the last thing (F04).
const AFTER_REFUSAL: Duration = Duration::from_secs(10);
/// Longest wait for the reply to one command (RFC 5321, 4.5.3.2).
const COMMAND_TIMEOUT: Duration = Duration::from_secs(300);

/// Limit for one command. A destination that waits less for the answer waits no longer for anything else.
pub fn patience(answer_timeout: Duration) -> Duration {
    answer_timeout.min(COMMAND_TIMEOUT)
}

/// Who sends what to whom.
pub struct Envelope<'a> {
    pub mail_from: &'a str,
    pub rcpt_to: &'a [String],
    pub message: &'a [u8],
    /// Comes back in delivery status notifications.
    pub envelope_id: &'a str,
}

/// What the server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Keywords, upper case, in order.
    pub keywords: Vec<String>,
    pub size: Option<u64>,
    pub mechanisms: Vec<String>,
}

impl Offers {
    fn read(reply: &SmtpReply) -> Offers {
        let mut offers = Offers::default();
        for line in reply.text.lines().skip(1) {
            let upper = line.to_ascii_uppercase();
            let mut words = upper.split([' ', '=']).filter(|w| !w.is_empty());
            let Some(keyword) = words.next() else { continue };
            match keyword {
                // Zero and nothing both mean: no fixed limit.
                "SIZE" => offers.size = words.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0),
                "AUTH" => offers.mechanisms.extend(words.map(str::to_owned)),
                _ => {}
            }
            if !offers.keywords.iter().any(|k| k == keyword) {
                offers.keywords.push(keyword.to_owned());
            }
        }
        offers
    }
    fn has(&self, keyword: &str) -> bool {
        self.keywords.iter().any(|k| k == keyword)
    }
}

/// A connection that is encrypted as configured and logged in.
pub struct Session {
    talk: Talk,
    pub offers: Offers,
    host: String,
}

/// A connection lost, or a reply that fits nowhere, before the last thing: certainly not sent.
fn lost(no: NoReply) -> Answer {
    answer(format!("smtp:before_final_dot:{}", no.name()), no.words())
}

/// A whole reply that is not the wanted one.
fn refused(reply: &SmtpReply) -> Answer {
    // 421 may come at any step: the server is closing, and it says nothing about the message.
    let step = if reply.code == 421 { "before_final_dot" } else { reply.step.name() };
    answer(format!("smtp:{step}:{}", reply.code), reply.words())
}

fn unreached(why: &Unreached) -> Answer {
    let code = match why {
        Unreached::Offline(_) | Unreached::Timeout => "net:before_body",
        Unreached::Tls(_) => "smtp:tls:failed",
    };
    answer(code, why.text())
}

/// Connects, encrypts and logs in. `progress` is told each step as it begins.
pub async fn log_in(
    server: &Server,
    login: &Login,
    patience: Duration,
    progress: &(dyn Fn(&'static str) + Send + Sync),
) -> Result<Session, Answer> {
    progress("smtp_connect");
    let stream = server.connect().await.map_err(|e| unreached(&e))?;
    let mut talk = Talk::new(stream, patience);
    // We say nothing before the greeting, so whatever comes instead of it is the server's state and not this message's.
    let unspoken = |how: &str, words: String| answer(format!("smtp:{}:{how}", Step::Greeting.name()), words);
    match talk.reply(Step::Greeting, patience).await {
        Ok(reply) if reply.code == 220 => {}
        Ok(reply) => return Err(unspoken(&reply.code.to_string(), reply.words())),
        Err(no) => return Err(unspoken(no.name(), no.words().to_owned())),
    }
    let mut offers = ehlo(&mut talk).await?;
    if server.endpoint.security == Security::StartTls {
        progress("smtp_tls");
        if !offers.has("STARTTLS") {
            return Err(answer("smtp:tls:not_offered", "the server offers no encryption"));
        }
        let reply = talk.command(Step::StartTls, "STARTTLS").await.map_err(lost)?;
        if reply.code != 220 {
            return Err(refused(&reply));
        }
        let bare = talk.into_stream();
        let bare = bare.ok_or_else(|| answer("smtp:tls:injected", "bytes came before the encryption began"))?;
        let stream = server.encrypt(bare).await.map_err(|e| unreached(&e))?;
        talk = Talk::new(stream, patience);
        // What was offered in the clear may have been altered on the way.
        offers = ehlo(&mut talk).await?;
    }
    if !login.username.is_empty() {
        progress("smtp_login");
        match login.bearer {
            true => authenticate_by_token(&mut talk, &offers, login, server).await?,
            false => authenticate(&mut talk, &offers, login).await?,
        }
    }
    Ok(Session { talk, offers, host: server.endpoint.host.clone() })
}

async fn ehlo(talk: &mut Talk) -> Result<Offers, Answer> {
    // An address literal is always taken at submission, and this one tells nothing about the machine.
    let reply = talk.command(Step::Ehlo, "EHLO [127.0.0.1]").await.map_err(lost)?;
    if reply.is(2) { Ok(Offers::read(&reply)) } else { Err(refused(&reply)) }
}

/// A failed login pauses, whatever code it came with; so it keeps its step even with 421.
fn failed(reply: &SmtpReply) -> Answer {
    answer(format!("smtp:auth:{}", reply.code), reply.words())
}

/// Longest command line (RFC 5321, 4.5.3.1.4). A longer first message of a login follows on a line of its own (RFC 4954, 4).
const COMMAND_LINE: usize = 510;

async fn authenticate_by_token(talk: &mut Talk, offers: &Offers, login: &Login, server: &Server) -> Result<(), Answer> {
    let Some(mechanism) = Bearer::of(|name| offers.mechanisms.iter().any(|m| m == name)) else {
        return Err(answer("smtp:auth:no_mechanism", "the server offers no sign-in with OAuth here"));
    };
    let Some(message) = mechanism.message(login, &server.endpoint) else {
        return Err(answer("smtp:auth:unusable", "the user name or token has a character that no server takes"));
    };
    let (command, word) = (format!("AUTH {}", mechanism.name()), STANDARD.encode(message));
    let mut reply = if command.len() + 1 + word.len() <= COMMAND_LINE {
        talk.command(Step::Auth, &format!("{command} {word}")).await.map_err(lost)?
    } else {
        match talk.command(Step::Auth, &command).await.map_err(lost)? {
            asked if asked.code == 334 => talk.command(Step::Auth, &word).await.map_err(lost)?,
            other => other,
        }
    };
    if reply.code == 334 {
        // What went wrong, for programs; the no itself comes once it was heard.
        let heard = STANDARD.encode(mechanism.after_failure());
        reply = talk.command(Step::Auth, &heard).await.map_err(lost)?;
    }
    if reply.is(2) { Ok(()) } else { Err(failed(&reply)) }
}

async fn authenticate(talk: &mut Talk, offers: &Offers, login: &Login) -> Result<(), Answer> {
    let offered = |m: &str| offers.mechanisms.iter().any(|x| x == m);
    if login.username.contains('\0') || login.secret.contains('\0') {
        return Err(answer("smtp:auth:unusable", "the user name or password has a character that no server takes"));
    }
    let reply = if offered("PLAIN") {
        let word = STANDARD.encode(format!("\0{}\0{}", login.username, login.secret));
        talk.command(Step::Auth, &format!("AUTH PLAIN {word}")).await.map_err(lost)?
    } else if offered("LOGIN") {
        let mut reply = talk.command(Step::Auth, "AUTH LOGIN").await.map_err(lost)?;
        for word in [&login.username, &login.secret] {
            if reply.code != 334 {
                break;
            }
            reply = talk.command(Step::Auth, &STANDARD.encode(word)).await.map_err(lost)?;
        }
        reply
    } else {
        return Err(answer("smtp:auth:no_mechanism", "the server offers no login with user name and password here"));
    };
    if reply.is(2) { Ok(()) } else { Err(failed(&reply)) }
}

impl Session {
    /// Ends a session in which nothing was to be sent.
    pub async fn leave(self) {
        self.talk.leave().await;
    }

    /// Hands over everything but the last thing. `noted` joins what was noted about the mailbox.
    pub async fn approach(mut self, envelope: &Envelope<'_>, noted: Value) -> Result<SmtpPoised, Answer> {
        match self.hand_over(envelope).await {
            Ok(out_of_step) => {
                let chunking = self.offers.has("CHUNKING");
                let noted = json!({
                    "smtp": self.host,
                    "envelope_id": envelope.envelope_id,
                    "dsn": self.offers.has("DSN"),
                    "chunking": chunking,
                    "mailbox": noted,
                });
                let last_thing: &[u8] = match (chunking, envelope.message.ends_with(b"\r\n")) {
                    (true, _) => b"BDAT 0 LAST\r\n",
                    (false, true) => b".\r\n",
                    (false, false) => b"\r\n.\r\n",
                };
                Ok(SmtpPoised { talk: self.talk, last_thing, noted, out_of_step })
            }
            Err(answer) => {
                self.talk.leave().await;
                Err(answer)
            }
        }
    }

    async fn hand_over(&mut self, envelope: &Envelope<'_>) -> Result<Option<String>, Answer> {
        let size = envelope.message.len() as u64;
        if let Some(limit) = self.offers.size.filter(|limit| size > *limit) {
            let words = format!(
                "the message has {} as it is sent, where base64 makes files a third larger; the server takes at most {}. \
                 Leave a file out, or send a link to it",
                size_in_words(size),
                size_in_words(limit)
            );
            return Err(answer("smtp:size:exceeded", words));
        }
        let wide = !envelope.mail_from.is_ascii() || envelope.rcpt_to.iter().any(|r| !r.is_ascii());
        if wide && !self.offers.has("SMTPUTF8") {
            return Err(answer("smtp:smtputf8:missing", "an address needs SMTPUTF8, which the server does not offer"));
        }
        let dsn = self.offers.has("DSN");
        let mut mail = format!("MAIL FROM:<{}>", path(envelope.mail_from).ok_or_else(unusable)?);
        if self.offers.has("SIZE") {
            mail.push_str(&format!(" SIZE={size}"));
        }
        if wide {
            mail.push_str(" SMTPUTF8");
        }
        if dsn {
            mail.push_str(&format!(" RET=HDRS ENVID={}", xtext(envelope.envelope_id)));
        }
        let reply = self.talk.command(Step::Mail, &mail).await.map_err(lost)?;
        if !reply.is(2) {
            return Err(refused(&reply));
        }
        self.recipients(envelope.rcpt_to, dsn).await?;
        self.body(envelope.message).await
    }

    /// All of them, or none: one refused recipient and nothing is sent (F08). Each one's reply is kept.
    async fn recipients(&mut self, rcpt_to: &[String], dsn: bool) -> Result<(), Answer> {
        let mut replies = Vec::with_capacity(rcpt_to.len());
        for recipient in rcpt_to {
            let mut line = format!("RCPT TO:<{}>", path(recipient).ok_or_else(unusable)?);
            if dsn {
                line.push_str(" NOTIFY=SUCCESS,FAILURE");
                if recipient.is_ascii() {
                    line.push_str(&format!(" ORCPT=rfc822;{}", xtext(recipient)));
                }
            }
            let reply = self.talk.command(Step::Rcpt, &line).await.map_err(lost)?;
            if reply.code == 421 {
                return Err(refused(&reply));
            }
            replies.push(reply);
        }
        // The one that weighs most: a lasting no, then a passing one. 552 here is a passing one (RFC 5321, 4.5.3.1.10).
        let weight = |r: &SmtpReply| match r.code {
            200..300 => 0,
            552 => 1,
            500..600 => 2,
            _ => 1,
        };
        let Some(worst) = replies.iter().max_by_key(|r| weight(r)).filter(|r| weight(r) > 0) else {
            return Ok(());
        };
        let each = replies.iter().enumerate().map(|(i, r)| format!("recipient {}: {}", i + 1, r.words()));
        Err(answer(format!("smtp:rcpt:{}", worst.code), each.collect::<Vec<_>>().join("; ")))
    }

    /// The whole body. `Some`: the server spoke out of turn meanwhile, so no later reply of it can be trusted (F04).
    async fn body(&mut self, message: &[u8]) -> Result<Option<String>, Answer> {
        if self.offers.has("CHUNKING") {
            self.talk.say(&format!("BDAT {}", message.len())).await.map_err(lost)?;
            let reply = match self.talk.write_body(Step::Data, message).await {
                Ok(()) => self.talk.reply_in_time(Step::Data).await.map_err(lost)?,
                // A no to this command may come before its last byte; a yes may not.
                Err(Interrupted::Reply(reply)) if !reply.is(2) => reply,
                Err(Interrupted::Reply(reply)) => return Ok(Some(reply.words())),
                Err(Interrupted::No(no)) => return Err(lost(no)),
            };
            return if reply.is(2) { Ok(None) } else { Err(refused(&reply)) };
        }
        let reply = self.talk.command(Step::Data, "DATA").await.map_err(lost)?;
        if reply.code != 354 {
            return Err(refused(&reply));
        }
        match self.talk.write_body(Step::Data, &stuffed(message)).await {
            Ok(()) => Ok(None),
            Err(Interrupted::Reply(reply)) if reply.code == 421 => Err(refused(&reply)),
            Err(Interrupted::Reply(reply)) => Ok(Some(reply.words())),
            Err(Interrupted::No(no)) => Err(lost(no)),
        }
    }
}

/// Everything has been said but the last thing.
pub struct SmtpPoised {
    talk: Talk,
    last_thing: &'static [u8],
    noted: Value,
    /// What the server said out of turn while the body was written.
    out_of_step: Option<String>,
}

impl SmtpPoised {
    pub(crate) fn noted(&self) -> Value {
        self.noted.clone()
    }

    pub(crate) async fn cross(mut self, marked: BootTime, limit: Duration) -> Crossed {
        if marked.elapsed() > SLEPT {
            return Crossed::Unsent(answer("smtp:before_final_dot:slept", "the machine slept before the last step"));
        }
        if let Some(words) = self.out_of_step {
            return Crossed::Broken(out_of_step(&words));
        }
        if self.talk.spoken_to().await {
            return match self.talk.interruption(Step::Data).await {
                Interrupted::Reply(reply) if reply.code != 421 => Crossed::Broken(out_of_step(&reply.words())),
                Interrupted::Reply(reply) => Crossed::Unsent(refused(&reply)),
                Interrupted::No(no) => Crossed::Unsent(lost(no)),
            };
        }
        if let Err(no) = self.talk.write(self.last_thing).await {
            // Some of it may have left, and the server may have acted on it.
            return Crossed::Broken(doubt(no));
        }
        LateSmtp { talk: self.talk }.read_on(limit).await
    }
}

fn out_of_step(words: &str) -> Doubt {
    Doubt { code: "smtp:final_dot:out_of_step".into(), words: format!("the server spoke out of turn: {words}") }
}

fn two_replies(first: &SmtpReply, second: &SmtpReply) -> Doubt {
    Doubt {
        code: "smtp:final_dot:two_replies".into(),
        words: format!("two replies to one step: {}; {}", first.words(), second.words()),
    }
}

fn doubt(no: NoReply) -> Doubt {
    Doubt { code: format!("smtp:final_dot:{}", no.name()), words: no.words().into() }
}

/// The last thing has been said; the reply is awaited.
pub struct LateSmtp {
    talk: Talk,
}

impl LateSmtp {
    pub(crate) fn doubt(&self) -> Doubt {
        doubt(NoReply::Timeout)
    }

    pub(crate) async fn read_on(mut self, limit: Duration) -> Crossed {
        let reply = match self.talk.reply(Step::FinalDot, limit).await {
            Ok(reply) => reply,
            // Closing now would change the outcome at some servers; the caller reads on.
            Err(NoReply::Timeout) => return Crossed::Pending(LateReader(Late::Smtp(self))),
            Err(no) => return Crossed::Broken(doubt(no)),
        };
        if reply.code < 400 || reply.code == 421 {
            // What came in the same breath is a second reply, unless the server only says that it is closing.
            let second = self.talk.buffered(Step::FinalDot).filter(|r| r.code != 421 && r.code != 221);
            self.talk.leave().await;
            return match second {
                Some(second) => Crossed::Broken(two_replies(&reply, &second)),
                None => Crossed::Answered(Reply::Smtp(reply)),
            };
        }
        // A no that belonged to something earlier would be followed by the real answer. So the server is asked one more
        // thing: if the next reply is not the farewell, two replies came for one step (F04).
        let farewell = match self.talk.say("QUIT").await {
            Ok(()) | Err(NoReply::OutOfStep) => self.talk.reply(Step::FinalDot, AFTER_REFUSAL).await,
            Err(no) => Err(no),
        };
        match farewell {
            Ok(bye) if bye.code == 221 => Crossed::Answered(Reply::Smtp(reply)),
            Err(NoReply::Closed | NoReply::Reset) => Crossed::Answered(Reply::Smtp(reply)),
            Ok(second) => Crossed::Broken(two_replies(&reply, &second)),
            Err(_) => Crossed::Broken(Doubt {
                code: "smtp:final_dot:no_farewell".into(),
                words: format!("{}; then the server fell silent", reply.words()),
            }),
        }
    }
}

/// Dot-stuffing, once and here only (RFC 5321, 4.5.2). The message has no bare CR or LF, so a line begins at the start
/// and after each LF.
pub fn stuffed(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + message.len() / 64);
    let mut at_start = true;
    for &b in message {
        if at_start && b == b'.' {
            out.push(b'.');
        }
        out.push(b);
        at_start = b == b'\n';
    }
    out
}

/// An address as it stands between the angle brackets of a command. It was checked long ago; this is the last look.
fn path(address: &str) -> Option<&str> {
    let unfit = |c: char| c.is_control() || c.is_whitespace() || c == '<' || c == '>';
    (!address.is_empty() && address.len() <= 254 && !address.contains(unfit)).then_some(address)
}

fn unusable() -> Answer {
    answer("smtp:address:unusable", "an address cannot be written into a command")
}

/// RFC 3461, 4: printable ASCII without `+` and `=`, the rest as `+` and two hex digits.
pub fn xtext(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, b| {
        match b {
            b'!'..=b'~' if b != b'+' && b != b'=' => out.push(char::from(b)),
            _ => out.push_str(&format!("+{b:02X}")),
        }
        out
    })
}

#[cfg(test)]
#[path = "smtp_test.rs"]
mod tests;
