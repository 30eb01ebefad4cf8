//! A whole reply of a destination.

use countersign_domain::{Answer, AnswerCode};

/// A reply, complete and unjudged. [`crate::Connector::read`] makes names and numbers of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Smtp(SmtpReply),
}

/// Where in the dialogue a reply was given. The name is the middle of an answer code: `smtp:rcpt:550`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    Mail,
    Rcpt,
    /// `DATA`, or the body in `BDAT n`.
    Data,
    /// The final dot, or `BDAT 0 LAST`.
    FinalDot,
}

impl Step {
    pub const fn name(self) -> &'static str {
        match self {
            Step::Greeting => "connect",
            Step::Ehlo => "ehlo",
            Step::StartTls => "tls",
            Step::Auth => "auth",
            Step::Mail => "mail",
            Step::Rcpt => "rcpt",
            Step::Data => "data",
            Step::FinalDot => "final_dot",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtpReply {
    pub step: Step,
    pub code: u16,
    /// `[5, 1, 1]` of `5.1.1`.
    pub enhanced: Option<[u8; 3]>,
    /// The words, lines joined by a space.
    pub text: String,
}

impl SmtpReply {
    pub fn is(&self, class: u16) -> bool {
        self.code / 100 == class
    }
    /// `250 2.1.5 Ok`, shortened and without addresses.
    pub fn words(&self) -> String {
        let enhanced = self.enhanced.map(|[a, b, c]| format!("{a}.{b}.{c} ")).unwrap_or_default();
        format!("{} {enhanced}{}", self.code, without_addresses(&self.text)).trim_end().to_owned()
    }
}

/// Longest text of a server that is kept.
const WORDS_MAX: usize = 240;

/// A server's words without anything that looks like an address, control characters gone, shortened.
pub fn without_addresses(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = clean.split_whitespace().map(|w| if w.contains('@') { "<address>" } else { w }).collect();
    let mut out = words.join(" ");
    if out.len() > WORDS_MAX {
        let cut = (0..=WORDS_MAX).rev().find(|i| out.is_char_boundary(*i)).unwrap_or(0);
        out.truncate(cut);
        out.push('…');
    }
    out
}

/// An answer of one code.
pub(crate) fn answer(code: impl Into<String>, words: impl Into<String>) -> Answer {
    Answer { codes: vec![AnswerCode::new(code)], receipt: None, retry_after: None, words: words.into() }
}
