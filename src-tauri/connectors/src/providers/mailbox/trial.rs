//! The connection test, and the test message that teaches whether the provider files the Sent copy itself.

use super::MailboxDestination;
use crate::letter::Letter;
use crate::login::Login;
use crate::mailbox::MailboxError;
use crate::mailbox::query::{Query, header};
use crate::mime;
use crate::transport::smtp::{self, Envelope};
use crate::transport::trial::{NoReply, deliver, is_unclear, may_have_gone};
use crate::{Connector, Poised, Probe, ProbeStatus, Reply, SetupCode, SetupError, TestSend, Whoami};
use countersign_domain::email::Mailbox;
use countersign_domain::{Answer, Timestamp};
use serde_json::Value;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::{Instant, sleep};

type Progress<'a> = &'a (dyn Fn(Probe) + Send + Sync);

/// How long the copy is waited for that a provider may file itself.
const WATCH: Duration = Duration::from_secs(30);

/// Tells each step when it begins, and when it has ended.
struct Steps<'a> {
    progress: Progress<'a>,
    bearer: bool,
    open: Mutex<Option<&'static str>>,
}

impl<'a> Steps<'a> {
    fn new(login: &Login, progress: Progress<'a>) -> Self {
        Steps { progress, bearer: login.bearer, open: Mutex::new(None) }
    }
    fn swap(&self, step: Option<&'static str>) -> Option<&'static str> {
        std::mem::replace(&mut *self.open.lock().unwrap_or_else(|e| e.into_inner()), step)
    }
    fn begin(&self, step: &'static str) {
        if let Some(before) = self.swap(Some(step)) {
            self.tell(before, ProbeStatus::Done, String::new());
        }
        self.tell(step, ProbeStatus::Started, words(step).to_owned());
    }
    fn end(&self, text: String) {
        if let Some(step) = self.swap(None) {
            self.tell(step, ProbeStatus::Done, text);
        }
    }
    fn fail(&self, code: SetupCode, text: String) -> SetupError {
        let step = self.swap(None).unwrap_or("smtp_connect");
        self.tell(step, ProbeStatus::Failed, text.clone());
        SetupError { code, step, text }
    }
    fn tell(&self, step: &'static str, status: ProbeStatus, text: String) {
        (self.progress)(Probe { step, status, text });
    }
    fn smtp(&self, answer: Answer) -> SetupError {
        let code = answer.codes.first().map(|c| c.0.as_str()).unwrap_or_default();
        let meaning = match code {
            "net:before_body" => SetupCode::Unreachable,
            "smtp:before_final_dot:timeout" | "smtp:connect:timeout" => SetupCode::Timeout,
            c if c.starts_with("smtp:tls:") => SetupCode::Tls,
            c if c.starts_with("smtp:auth:") => SetupCode::Login,
            _ => SetupCode::Protocol,
        };
        let advice = match meaning {
            SetupCode::Unreachable => " Check the server's name and port.",
            SetupCode::Tls => {
                " Check the port and the form of the address (smtps or smtp+starttls), or name a ca_file."
            }
            SetupCode::Login if self.bearer => {
                " Check the user name, and that the sign-in was given the right to send and read mail."
            }
            SetupCode::Login => {
                " Check user name and password; some providers want a password of its own for programs."
            }
            SetupCode::Timeout | SetupCode::Protocol | SetupCode::Unclear | SetupCode::NotPossible => "",
        };
        self.fail(meaning, format!("Sending server: {}.{advice}", answer.words.trim_end_matches('.')))
    }
    fn imap(&self, e: MailboxError) -> SetupError {
        use crate::transport::tls::Unreached;
        if matches!(e, MailboxError::Login(_)) {
            self.begin("imap_login");
        }
        let meaning = match &e {
            MailboxError::Unreached(Unreached::Tls(_)) => SetupCode::Tls,
            MailboxError::Unreached(Unreached::Offline(_)) => SetupCode::Unreachable,
            MailboxError::Unreached(Unreached::Timeout) | MailboxError::Timeout => SetupCode::Timeout,
            MailboxError::Login(_) => SetupCode::Login,
            MailboxError::NoSentFolder | MailboxError::Reserved => SetupCode::NotPossible,
            MailboxError::Lost | MailboxError::Refused(_) | MailboxError::Odd => SetupCode::Protocol,
        };
        let text = e.text();
        let mut chars = text.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        self.fail(meaning, format!("{first}{}.", chars.as_str()))
    }
}

fn words(step: &str) -> &'static str {
    match step {
        "smtp_connect" => "Reaching the sending server",
        "smtp_tls" => "Encrypting",
        "smtp_login" => "Signing in to send",
        "imap_connect" => "Reaching the mailbox",
        "imap_login" => "Signing in to the mailbox",
        "imap_sent" => "Finding the Sent folder",
        "send" => "Sending the test message",
        "watch_sent" => "Watching Sent for a copy",
        _ => "",
    }
}

pub(super) async fn check(
    place: &MailboxDestination,
    login: &Login,
    progress: Progress<'_>,
) -> Result<Whoami, SetupError> {
    let steps = Steps::new(login, progress);
    let begin = |step| steps.begin(step);
    let session = smtp::log_in(&place.smtp, login, place.patience(), &begin).await.map_err(|a| steps.smtp(a))?;
    let offers = session.offers.clone();
    session.leave().await;
    let mut who = Whoami {
        account: place.config.account_text(),
        smtp_extensions: offers.keywords,
        size_limit: offers.size,
        ..Whoami::default()
    };
    if let Some(mailbox) = place.mailbox() {
        steps.begin("imap_connect");
        let mut session = mailbox.open(login).await.map_err(|e| steps.imap(e))?;
        steps.begin("imap_login");
        steps.begin("imap_sent");
        let sent = async {
            let name = mailbox.sent(&mut session).await?;
            session.open(&name).await.map(|_| name)
        };
        let sent = sent.await.map_err(|e| steps.imap(e))?;
        session.leave().await;
        steps.end(format!("Copies are in {sent}"));
        who.sent_folder = Some(sent);
    } else {
        steps.end("No mailbox: a lost answer cannot be looked up".into());
    }
    Ok(who)
}

pub(super) struct TestMessage<'a> {
    pub to: &'a str,
    pub nonce: &'a str,
    pub at: Timestamp,
}

pub(super) async fn test_send(
    place: &MailboxDestination,
    login: &Login,
    test: TestMessage<'_>,
    progress: Progress<'_>,
) -> Result<TestSend, SetupError> {
    let steps = Steps::new(login, progress);
    let not_possible = |text: String| SetupError { code: SetupCode::NotPossible, step: "send", text };
    let to: Mailbox = test.to.parse().map_err(|e| not_possible(format!("The address to send to: {e}.")))?;
    let from = &place.config.from[0];
    let message_id = format!("<test-{}@{}>", test.nonce, from.ascii_domain());
    if !mime::is_message_id(&message_id) {
        return Err(not_possible("The test message's id cannot be written.".into()));
    }
    let bytes = mime::test_message(from, &to, &message_id, test.at).map_err(|e| not_possible(e.to_string()))?;
    let rcpt_to = vec![to.ascii_email()];
    let letter = Letter::new(from.ascii_email(), rcpt_to, &bytes);

    let before = match place.mailbox() {
        None => None,
        Some(mailbox) => {
            steps.begin("imap_connect");
            let noted = mailbox.note(login).await.map_err(|e| steps.imap(e))?;
            Some((mailbox, noted))
        }
    };
    let begin = |step| steps.begin(step);
    let session = smtp::log_in(&place.smtp, login, place.patience(), &begin).await.map_err(|a| steps.smtp(a))?;
    steps.begin("send");
    let envelope = Envelope {
        mail_from: &letter.mail_from,
        rcpt_to: &letter.rcpt_to,
        message: letter.message,
        envelope_id: test.nonce,
    };
    let poised = session.approach(&envelope, Value::Null).await.map_err(|a| steps.smtp(a))?;
    let unclear = |answer: &Answer| {
        let (code, text) = may_have_gone(&answer.words);
        steps.fail(code, text)
    };
    let answer = match deliver(Poised::Smtp(poised), place.config.answer_timeout).await {
        Ok(Reply::Smtp(reply)) if reply.is(2) => reply.words(),
        Ok(other) => {
            let answer = super::read(&other);
            let open = is_unclear(place.contract("email.send"), &answer);
            return Err(if open { unclear(&answer) } else { steps.smtp(answer) });
        }
        Err(NoReply::Unclear(answer)) => return Err(unclear(&answer)),
        Err(NoReply::Unsent(answer)) => return Err(steps.smtp(answer)),
    };
    steps.end(answer.clone());
    let Some((mailbox, noted)) = before else {
        return Ok(TestSend { answer, message_id, files_sent_itself: None });
    };

    steps.begin("watch_sent");
    let deadline = Instant::now() + WATCH;
    let watch = async {
        let folder = noted["sent"]["folder"].as_str().unwrap_or_default().to_owned();
        let from = noted["sent"]["uid_next"].as_u64().and_then(|n| u32::try_from(n).ok());
        let Some(query) = Query::any([header("Message-ID", &message_id)]) else { return Ok(false) };
        let mut session = mailbox.open(login).await?;
        loop {
            // Opening it again is what every server takes as a wish to see news.
            session.open(&folder).await?;
            let uids = session.search(from, &query).await?;
            if session.headers(&uids).await?.iter().any(|h| h.message_id.as_ref() == Some(&message_id)) {
                session.leave().await;
                return Ok(true);
            }
            if Instant::now() + Duration::from_secs(1) > deadline {
                session.leave().await;
                return Ok(false);
            }
            sleep(Duration::from_secs(1)).await;
        }
    };
    let files = match watch.await {
        Ok(files) => files,
        Err(e) => {
            // It went, whatever became of the look afterwards; only what was to be learnt from it is not known.
            let _told: SetupError = steps.imap(e);
            return Ok(TestSend { answer, message_id, files_sent_itself: None });
        }
    };
    steps.end(if files { "The provider files the copy itself" } else { "No copy by itself; we file it" }.to_owned());
    Ok(TestSend { answer, message_id, files_sent_itself: Some(files) })
}
