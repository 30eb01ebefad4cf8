//! Faults: the ways in which the pretend servers can be told to misbehave.
//!
//! A fault names a stage of a dialogue, whether the server acts there or not, and what it answers. The script is a list;
//! the first fault that fits is used, and used up unless it was set to stay.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

/// A stage of the SMTP dialogue at which a fault can wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmtpStage {
    /// A connection was made; the greeting is due.
    Connect,
    /// EHLO or HELO was read.
    Ehlo,
    /// AUTH was read with its credentials.
    Auth,
    /// MAIL was read.
    Mail,
    /// RCPT was read.
    Rcpt,
    /// DATA, or the first BDAT line of a message, was read.
    Data,
    /// This many bytes of the message were read (or all, if it is shorter), and the final dot was not looked at yet.
    Body {
        /// Bytes of the message before the fault.
        after: usize,
    },
    /// The final dot or `BDAT … LAST` was read.
    End,
}

/// A stage of the IMAP dialogue at which a fault can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImapStage {
    /// A connection was made; the greeting is due.
    Connect,
    /// LOGIN or AUTHENTICATE was read.
    Login,
    /// LIST was read.
    List,
    /// SELECT, EXAMINE or STATUS was read.
    Select,
    /// SEARCH or UID SEARCH was read.
    Search,
    /// FETCH or UID FETCH was read.
    Fetch,
    /// APPEND was read up to its literal, and the literal is not asked for yet.
    AppendStart,
    /// APPEND was read with the whole literal.
    Append,
}

/// What the server says instead of its ordinary answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misbehaviour {
    /// The ordinary answer (useful under `Held`: the late but good one).
    Normal,
    /// This SMTP reply. After 421 the connection is closed, as RFC 5321 3.8 says.
    Reply {
        /// Three digits.
        code: u16,
        /// What follows the code.
        text: String,
    },
    /// This IMAP refusal, tagged.
    No {
        /// What follows `NO`.
        text: String,
    },
    /// These bytes as they are.
    Raw {
        /// The bytes; the caller writes line ends itself.
        text: String,
    },
    /// Nothing, for as long as the client stays.
    Silence,
    /// A TCP reset.
    Reset,
    /// A closed connection.
    Close,
    /// Nothing until `release`, then this.
    Held {
        /// What is said after the release.
        then: Box<Misbehaviour>,
    },
}

/// One way to misbehave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// At the SMTP server.
    Smtp {
        /// Where.
        at: SmtpStage,
        /// Only for this recipient, sender or login; for all when absent.
        #[serde(default)]
        address: Option<String>,
        /// At `End`: whether the message is taken (becomes an effect) before the answer.
        #[serde(default)]
        taken: bool,
        /// The answer.
        answer: Misbehaviour,
    },
    /// At the IMAP server.
    Imap {
        /// Where.
        at: ImapStage,
        /// Only for this folder; for all when absent.
        #[serde(default)]
        folder: Option<String>,
        /// At `Append`: whether the message is stored before the answer.
        #[serde(default)]
        taken: bool,
        /// The answer.
        answer: Misbehaviour,
    },
    /// A message filed or delivered by the server appears in this folder only after `release`. Whether it stays with
    /// one message or many is the script's `Times`. A client's own APPEND is not delayed.
    SlowIndex {
        /// `INBOX`, `Sent` and so on.
        folder: String,
    },
    /// The message is taken with 250 and bounces afterwards: a failure report goes to the envelope sender's INBOX, and
    /// this recipient gets nothing.
    Bounce {
        /// The recipient.
        address: String,
    },
}

/// How often a fault fits before it is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Once.
    Once,
    /// This often.
    Exactly(u32),
    /// Until the script is cleared.
    Always,
}

fn reply(code: u16, text: &str) -> Misbehaviour {
    Misbehaviour::Reply { code, text: text.to_owned() }
}

fn smtp(at: SmtpStage, taken: bool, answer: Misbehaviour) -> Fault {
    Fault::Smtp { at, address: None, taken, answer }
}

fn imap(at: ImapStage, taken: bool, answer: Misbehaviour) -> Fault {
    Fault::Imap { at, folder: None, taken, answer }
}

fn held(then: Misbehaviour) -> Misbehaviour {
    Misbehaviour::Held { then: Box::new(then) }
}

/// The faults of the field, by name. Each is an ordinary value of the types above.
impl Fault {
    /// SMTP takes the connection and resets it before the greeting, as a forwarder does whose server is gone. For a port
    /// where nobody listens see [`crate::Sandbox::go_down`].
    pub fn smtp_down() -> Fault {
        smtp(SmtpStage::Connect, false, Misbehaviour::Reset)
    }
    /// The greeting is this code instead of 220 (421 too busy, 554 no service).
    pub fn greets_with(code: u16) -> Fault {
        smtp(SmtpStage::Connect, false, reply(code, "4.3.2 not now"))
    }
    /// The SMTP login is refused with this code: 535 wrong password, 454 try later.
    pub fn smtp_login_refused(code: u16) -> Fault {
        let text = if code < 500 { "4.7.0 try again later" } else { "5.7.8 authentication failed" };
        smtp(SmtpStage::Auth, false, reply(code, text))
    }
    /// The connection is cut when MAIL arrives.
    pub fn cut_before_mail() -> Fault {
        smtp(SmtpStage::Mail, false, Misbehaviour::Close)
    }
    /// The connection is cut when RCPT arrives.
    pub fn cut_at_rcpt() -> Fault {
        smtp(SmtpStage::Rcpt, false, Misbehaviour::Close)
    }
    /// The connection is cut after RCPT, when DATA or BDAT arrives.
    pub fn cut_after_rcpt() -> Fault {
        smtp(SmtpStage::Data, false, Misbehaviour::Close)
    }
    /// The connection is reset after this many bytes of the message.
    pub fn cut_in_body(after: usize) -> Fault {
        smtp(SmtpStage::Body { after }, false, Misbehaviour::Reset)
    }
    /// MAIL is refused with this code.
    pub fn mail_refused(code: u16) -> Fault {
        smtp(SmtpStage::Mail, false, reply(code, "mail refused by the script"))
    }
    /// RCPT for this address is refused with this code: 550 no such user, 450 or 452 later, 552 full.
    pub fn rcpt_refused(address: &str, code: u16) -> Fault {
        let text = match code {
            550 => "5.1.1 no such user",
            552 => "5.2.2 mailbox full",
            500.. => "5.7.1 recipient refused",
            _ => "4.2.1 mailbox busy",
        };
        Fault::Smtp { at: SmtpStage::Rcpt, address: Some(address.to_owned()), taken: false, answer: reply(code, text) }
    }
    /// DATA (or the first BDAT) is refused with this code.
    pub fn data_refused(code: u16) -> Fault {
        smtp(SmtpStage::Data, false, reply(code, "data refused by the script"))
    }
    /// While the body is still being written, this reply arrives unasked; the message is then taken as ever. F04.
    pub fn stray_reply_in_body(after: usize, code: u16) -> Fault {
        smtp(SmtpStage::Body { after }, false, reply(code, "timeout waiting for input"))
    }
    /// The message is refused with this code at the final dot. F09 with 550.
    pub fn refused_at_end(code: u16) -> Fault {
        let text = if code < 500 { "4.3.0 try again later" } else { "5.7.1 rejected by policy" };
        smtp(SmtpStage::End, false, reply(code, text))
    }
    /// This code at the final dot although the message was taken.
    pub fn refused_after_acting(code: u16) -> Fault {
        smtp(SmtpStage::End, true, reply(code, "4.3.0 queue file write error"))
    }
    /// 421 at the final dot and a closed connection; the message was not taken.
    pub fn closing_at_end() -> Fault {
        smtp(SmtpStage::End, false, reply(421, "4.3.2 service closing"))
    }
    /// The final dot is read and never answered; the message was not taken.
    pub fn hang_before_acting() -> Fault {
        smtp(SmtpStage::End, false, Misbehaviour::Silence)
    }
    /// The message is taken and never answered. F01.
    pub fn hang_after_acting() -> Fault {
        smtp(SmtpStage::End, true, Misbehaviour::Silence)
    }
    /// The message is taken; its 250 comes after `release`.
    pub fn late_answer() -> Fault {
        smtp(SmtpStage::End, true, held(Misbehaviour::Normal))
    }
    /// The message is not taken; a refusal with this code comes after `release`.
    pub fn late_refusal(code: u16) -> Fault {
        smtp(SmtpStage::End, false, held(reply(code, "5.7.1 rejected after scanning")))
    }
    /// The connection is reset at the final dot; the message was not taken.
    pub fn reset_before_acting() -> Fault {
        smtp(SmtpStage::End, false, Misbehaviour::Reset)
    }
    /// The message is taken, then the connection is reset.
    pub fn reset_after_acting() -> Fault {
        smtp(SmtpStage::End, true, Misbehaviour::Reset)
    }
    /// The message is taken, then the connection is closed without a word.
    pub fn close_after_acting() -> Fault {
        smtp(SmtpStage::End, true, Misbehaviour::Close)
    }
    /// The message is taken, and the answer is no SMTP reply.
    pub fn nonsense_after_acting() -> Fault {
        smtp(SmtpStage::End, true, Misbehaviour::Raw { text: "HTTP/1.1 200 OK\r\n".to_owned() })
    }
    /// The final dot is answered by nonsense; the message was not taken.
    pub fn nonsense_before_acting() -> Fault {
        smtp(SmtpStage::End, false, Misbehaviour::Raw { text: "<html>Please sign in</html>\r\n".to_owned() })
    }
    /// The message is taken, and two replies come at once.
    pub fn two_replies() -> Fault {
        smtp(
            SmtpStage::End,
            true,
            Misbehaviour::Raw { text: "451 4.3.0 local error\r\n250 2.0.0 queued\r\n".to_owned() },
        )
    }
    /// IMAP takes the connection and resets it before the greeting.
    pub fn imap_down() -> Fault {
        imap(ImapStage::Connect, false, Misbehaviour::Reset)
    }
    /// The IMAP login is refused.
    pub fn imap_login_refused() -> Fault {
        let text = "[AUTHENTICATIONFAILED] Authentication failed.".to_owned();
        imap(ImapStage::Login, false, Misbehaviour::No { text })
    }
    /// SEARCH is refused.
    pub fn search_refused() -> Fault {
        imap(ImapStage::Search, false, Misbehaviour::No { text: "[UNAVAILABLE] search is down".to_owned() })
    }
    /// The connection is closed in the middle of SEARCH.
    pub fn search_cut() -> Fault {
        imap(ImapStage::Search, false, Misbehaviour::Close)
    }
    /// FETCH is refused.
    pub fn fetch_refused() -> Fault {
        imap(ImapStage::Fetch, false, Misbehaviour::No { text: "[UNAVAILABLE] cannot read now".to_owned() })
    }
    /// The connection is closed in the middle of FETCH.
    pub fn fetch_cut() -> Fault {
        imap(ImapStage::Fetch, false, Misbehaviour::Close)
    }
    /// SEARCH is never answered.
    pub fn search_hangs() -> Fault {
        imap(ImapStage::Search, false, Misbehaviour::Silence)
    }
    /// APPEND is refused because the folder is not there. F06.
    pub fn append_refused() -> Fault {
        imap(ImapStage::Append, false, Misbehaviour::No { text: "[TRYCREATE] no such folder".to_owned() })
    }
    /// APPEND is stored and never answered.
    pub fn append_hangs_after_acting() -> Fault {
        imap(ImapStage::Append, true, Misbehaviour::Silence)
    }
    /// APPEND is stored, then the connection is reset.
    pub fn append_resets_after_acting() -> Fault {
        imap(ImapStage::Append, true, Misbehaviour::Reset)
    }
    /// What the server files in this folder appears after `release`.
    pub fn slow_index(folder: &str) -> Fault {
        Fault::SlowIndex { folder: folder.to_owned() }
    }
    /// Mail to this address is taken and bounces afterwards.
    pub fn bounce(address: &str) -> Fault {
        Fault::Bounce { address: address.to_owned() }
    }
}

/// A fault that is due: whether to act, and what to answer.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) taken: bool,
    pub(crate) answer: Misbehaviour,
}

/// The script of faults.
#[derive(Default)]
pub(crate) struct Script {
    faults: Mutex<Vec<(Fault, Times)>>,
}

impl Script {
    pub(crate) fn add(&self, fault: Fault, times: Times) {
        if times != Times::Exactly(0) {
            self.lock().push((fault, times));
        }
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn list(&self) -> Vec<(Fault, Times)> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Fault, Times)>> {
        self.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn take(&self, fits: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let mut faults = self.lock();
        let index = faults.iter().position(|(fault, _)| fits(fault))?;
        let (fault, times) = &mut faults[index];
        let fault = fault.clone();
        match times {
            Times::Always => {}
            Times::Exactly(left) if *left > 1 => *left -= 1,
            Times::Once | Times::Exactly(_) => {
                faults.remove(index);
            }
        }
        Some(fault)
    }

    /// The fault at this SMTP stage for any of these addresses.
    pub(crate) fn smtp(&self, stage: &SmtpStage, who: &[&str]) -> Option<Due> {
        let fault = self.take(|fault| match fault {
            Fault::Smtp { at, address, .. } => at == stage && fits_any(address.as_deref(), who),
            _ => false,
        });
        fault.and_then(due)
    }

    /// The fault inside the body: after how many bytes, and what.
    pub(crate) fn body(&self) -> Option<(usize, Due)> {
        match self.take(|fault| matches!(fault, Fault::Smtp { at: SmtpStage::Body { .. }, .. }))? {
            Fault::Smtp { at: SmtpStage::Body { after }, taken, answer, .. } => Some((after, Due { taken, answer })),
            _ => None,
        }
    }

    pub(crate) fn imap(&self, stage: ImapStage, folder: &str) -> Option<Due> {
        let fault = self.take(|fault| match fault {
            Fault::Imap { at, folder: only, .. } => *at == stage && fits_any(only.as_deref(), &[folder]),
            _ => false,
        });
        fault.and_then(due)
    }

    pub(crate) fn slow_index(&self, name: &str) -> bool {
        self.take(|fault| matches!(fault, Fault::SlowIndex { folder } if folder.eq_ignore_ascii_case(name))).is_some()
    }

    pub(crate) fn bounces(&self, recipient: &str) -> bool {
        self.take(|fault| matches!(fault, Fault::Bounce { address } if address.eq_ignore_ascii_case(recipient)))
            .is_some()
    }
}

fn fits_any(only: Option<&str>, who: &[&str]) -> bool {
    only.is_none_or(|only| who.iter().any(|name| only.eq_ignore_ascii_case(name)))
}

fn due(fault: Fault) -> Option<Due> {
    match fault {
        Fault::Smtp { taken, answer, .. } | Fault::Imap { taken, answer, .. } => Some(Due { taken, answer }),
        Fault::SlowIndex { .. } | Fault::Bounce { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_used_up_as_often_as_it_was_set() {
        let script = Script::default();
        script.add(Fault::hang_after_acting(), Times::Exactly(2));
        script.add(Fault::refused_at_end(550), Times::Always);
        assert!(script.smtp(&SmtpStage::End, &[]).is_some_and(|due| due.taken));
        assert!(script.smtp(&SmtpStage::End, &[]).is_some_and(|due| due.taken));
        for _ in 0..3 {
            assert!(script.smtp(&SmtpStage::End, &[]).is_some_and(|due| !due.taken));
        }
        assert!(script.smtp(&SmtpStage::Mail, &[]).is_none());
        script.clear();
        assert!(script.smtp(&SmtpStage::End, &[]).is_none());
    }

    #[test]
    fn a_fault_for_one_address_leaves_the_others_alone() {
        let script = Script::default();
        script.add(Fault::rcpt_refused("gone@example.test", 550), Times::Always);
        assert!(script.smtp(&SmtpStage::Rcpt, &["ok@example.test"]).is_none());
        assert!(script.smtp(&SmtpStage::Rcpt, &["GONE@example.test"]).is_some());
    }

    #[test]
    fn a_fault_survives_the_control_channels_json() -> Result<(), serde_json::Error> {
        for fault in [Fault::late_refusal(554), Fault::stray_reply_in_body(100, 451), Fault::slow_index("Sent")] {
            let text = serde_json::to_string(&fault)?;
            assert_eq!(serde_json::from_str::<Fault>(&text)?, fault);
        }
        Ok(())
    }
}
