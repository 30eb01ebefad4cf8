//! Messages that no person wrote: automatic answers, lists, addresses that nobody reads (F41). Two systems that answer each
//! other never stop, so such a message is marked, is approved by itself only, and its thread takes only so many a day.

use crate::address::Mailbox;
use crate::proposal::Conversation;

/// So many messages of ours a thread takes in 24 hours while what it answers was written by no person.
pub const A_DAY: usize = 3;

/// Why a message counts as automatic: a stable word, and how it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Automatic {
    /// `Auto-Submitted` other than `no` (RFC 3834, 5), or what answering programs wrote before there was that.
    Answer,
    /// `Precedence` of `bulk`, `junk` or `list` (RFC 2076, 3.9).
    Bulk,
    /// A header of mailing lists (RFC 2369, RFC 2919).
    List,
    /// The empty return path of reports and of automatic answers (RFC 5321, 4.5.5).
    NoReturn,
    /// Its sender says that nobody reads there.
    NoReply,
}

impl Automatic {
    pub const ALL: [Automatic; 5] =
        [Automatic::Answer, Automatic::Bulk, Automatic::List, Automatic::NoReturn, Automatic::NoReply];

    pub const fn name(self) -> &'static str {
        match self {
            Automatic::Answer => "answer",
            Automatic::Bulk => "bulk",
            Automatic::List => "list",
            Automatic::NoReturn => "no_return",
            Automatic::NoReply => "no_reply",
        }
    }

    pub fn named(name: &str) -> Option<Automatic> {
        Automatic::ALL.into_iter().find(|a| a.name() == name)
    }

    pub const fn says(self) -> &'static str {
        match self {
            Automatic::Answer => "it says of itself that a program wrote it",
            Automatic::Bulk => "it was sent in bulk",
            Automatic::List => "it came over a mailing list",
            Automatic::NoReturn => "it came from an empty return path, as reports and automatic answers do",
            Automatic::NoReply => "its sender’s address takes no answers",
        }
    }
}

/// What the headers of a message say; names in any case, values unfolded.
pub fn of_headers<'h>(headers: impl IntoIterator<Item = (&'h str, &'h str)>) -> Option<Automatic> {
    let found = headers.into_iter().filter_map(|(name, value)| {
        let name = name.trim().to_ascii_lowercase();
        let value = value.trim().to_ascii_lowercase();
        let first = value.split([';', ' ', '\t']).next().unwrap_or_default();
        match name.as_str() {
            "auto-submitted" => (!first.is_empty() && first != "no").then_some(Automatic::Answer),
            "x-autoreply" | "x-autorespond" | "x-autoresponder" => Some(Automatic::Answer),
            "precedence" => match first {
                "auto_reply" => Some(Automatic::Answer),
                "bulk" | "junk" | "list" => Some(Automatic::Bulk),
                _ => None,
            },
            "return-path" => (value == "<>").then_some(Automatic::NoReturn),
            list if list.starts_with("list-") => Some(Automatic::List),
            _ => None,
        }
    });
    // The strongest word of several.
    found.min_by_key(|a| Automatic::ALL.iter().position(|b| a == b))
}

/// Whether an address says that nobody reads there.
pub fn takes_no_answers(address: &Mailbox) -> bool {
    const LETTERS_ONLY: [&str; 4] = ["noreply", "donotreply", "mailerdaemon", "postmaster"];
    let local = address.email.rsplit_once('@').map_or("", |(local, _)| local).to_lowercase();
    let local = local.split('+').next().unwrap_or_default();
    let letters: String = local.chars().filter(char::is_ascii_alphanumeric).collect();
    LETTERS_ONLY.contains(&letters.as_str())
        || local.split(['.', '_']).any(|part| ["noreply", "no-reply", "donotreply", "do-not-reply"].contains(&part))
}

/// What a source told of the message: its headers, or else where an answer to it would go.
pub fn of_conversation(told: &Conversation) -> Option<Automatic> {
    let headers = told.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    of_headers(headers).or_else(|| {
        let nobody = match told.reply_to.as_slice() {
            [] => told.from.as_ref().is_some_and(takes_no_answers),
            asked => asked.iter().all(takes_no_answers),
        };
        nobody.then_some(Automatic::NoReply)
    })
}
