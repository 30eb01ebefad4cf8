//! A whole reply of a destination.

use countersign_domain::json::parse_answer;
use countersign_domain::{Answer, AnswerCode};
use serde_json::Value;
use std::time::Duration;

/// A reply, complete and unjudged. [`crate::Connector::read`] makes names and numbers of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Smtp(SmtpReply),
    Http(HttpReply),
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

/// A whole HTTP answer: nothing was cut off, and it is not larger than what is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    pub status: u16,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// How far its `Date` lies after our clock, in seconds; a server's clock and ours rarely differ by minutes. None where
    /// it has no `Date`, or nobody told what our clock says.
    pub ahead_seconds: Option<i64>,
}

impl Reply {
    /// The names and numbers of an HTTP answer.
    pub(crate) fn read_as_http(&self, read: impl Fn(&HttpReply) -> Answer) -> Answer {
        match self {
            Reply::Http(reply) => read(reply),
            Reply::Smtp(_) => answer("http:foreign", "an answer of another protocol"),
        }
    }

    /// How far the destination's clock is ahead of ours, if it told its time.
    pub fn ahead_seconds(&self) -> Option<i64> {
        match self {
            Reply::Http(reply) => reply.ahead_seconds,
            Reply::Smtp(_) => None,
        }
    }
}

/// A difference of clocks, in seconds, up to which nobody needs to know of it (F40).
const CLOCKS_MAY_DIFFER: u64 = 120;

/// How far this computer's clock and that of a server which is so many seconds ahead are apart, as the end of a sentence
/// about both. None where they agree well enough.
pub fn clocks_apart(ahead_seconds: i64) -> Option<String> {
    let apart = ahead_seconds.unsigned_abs();
    if apart <= CLOCKS_MAY_DIFFER {
        return None;
    }
    let much = match apart {
        0..7_200 => format!("{} minutes", apart / 60),
        7_200..172_800 => format!("{} hours", apart / 3_600),
        _ => format!("{} days", apart / 86_400),
    };
    Some(format!("{much} apart: this computer's is {}", if ahead_seconds > 0 { "behind" } else { "ahead" }))
}

/// Longest wait that a server may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

impl HttpReply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// `application/json` of `application/json; charset=utf-8`, lower case; empty when it is not said.
    pub fn content_type(&self) -> String {
        let all = self.header("content-type").unwrap_or_default();
        all.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The body as JSON, if it says that it is and it is. A portal's or a gateway's page is not, nor is one in which a name
    /// occurs twice: parsers differ on which of the two counts.
    pub fn json(&self) -> Option<Value> {
        let kind = self.content_type();
        let is_json = kind == "application/json" || kind.ends_with("+json");
        is_json.then(|| parse_answer(&self.body).ok()).flatten()
    }

    /// `Retry-After` in seconds, or as a date that is counted from the answer's own `Date` (RFC 9110, 10.2.3): our clock
    /// may be wrong. None where it is neither, and where it asks for no wait at all: then our own backoff holds.
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.header("retry-after")?.trim();
        let wait = if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            // More digits than fit is more than anybody may ask for.
            Duration::from_secs(text.parse().unwrap_or(u64::MAX))
        } else {
            let date = |text: &str| httpdate::parse_http_date(text.trim()).ok();
            date(text)?.duration_since(date(self.header("date")?)?).ok()?
        };
        (!wait.is_zero()).then(|| wait.min(RETRY_AFTER_MAX))
    }

    /// What people read of it: the status and the destination's own words, without addresses.
    pub fn words(&self, said: &str) -> String {
        let said = without_addresses(said);
        let said =
            if said.is_empty() { format!("it answered {}", self.status) } else { format!("{} {said}", self.status) };
        said + &self.clocks()
    }

    /// An answer that is not the destination's: a network's sign-in page, a gateway's, or a body that it does not document.
    /// Of what it says nothing is kept. `who`: who was asked, as people call it.
    pub(crate) fn foreign(&self, who: &str) -> Answer {
        Answer { retry_after: self.retry_after(), ..answer(format!("foreign:{}", self.status), self.not_of(who)) }
    }

    /// What people read of such an answer: who it is not, that nothing follows from it, and what to do.
    pub fn not_of(&self, who: &str) -> String {
        let status = self.status;
        let text = if self.content_type().contains("html") {
            format!(
                "a web page answered with status {status}, and not {who}: this network's sign-in page, or a gateway on \
                 the way. Nothing can be concluded from it. See in a browser whether the network asks for a sign-in, \
                 and check the destination's address"
            )
        } else {
            format!(
                "what answered with status {status} is not {who}, or was damaged on the way. Nothing can be concluded \
                 from it. Check the destination's address, and whether a proxy or gateway answers in its place"
            )
        };
        text + &self.clocks()
    }

    /// Tokens and signatures have a time, so a refusal tells of clocks that are apart.
    fn clocks(&self) -> String {
        let apart = self.ahead_seconds.filter(|_| self.status >= 400).and_then(clocks_apart);
        apart.map(|apart| format!("; its clock and this computer's are {apart}")).unwrap_or_default()
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

/// Whether an answer says that the login was not taken.
pub(crate) fn refuses_login(answer: &Answer) -> bool {
    answer.codes.iter().any(|code| code.0.starts_with("http:login:"))
}

/// Whether it is not the destination's own: see [`HttpReply::foreign`].
pub(crate) fn is_foreign(answer: &Answer) -> bool {
    answer.codes.iter().any(|code| code.0.starts_with("foreign:"))
}

/// An answer of one code.
pub(crate) fn answer(code: impl Into<String>, words: impl Into<String>) -> Answer {
    Answer { codes: vec![AnswerCode::new(code)], receipt: None, retry_after: None, words: words.into() }
}
