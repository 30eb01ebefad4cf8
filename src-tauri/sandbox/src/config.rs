//! How a sandbox is set up, and what its servers claim to be able to do.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::date::Clock;

/// A login. Its user name is its address. Any other address of the sandbox's world has an INBOX too, but nobody can
/// log in to it; `Sandbox::mailbox` looks into it.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Address and user name.
    pub address: String,
    /// The password, for SMTP and IMAP alike.
    pub password: String,
}

impl Account {
    /// An account.
    pub fn new(address: &str, password: &str) -> Account {
        Account { address: address.to_owned(), password: password.to_owned() }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("address", &self.address).field("password", &"…").finish()
    }
}

/// What the SMTP server announces and, accordingly, takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SmtpFeatures {
    /// SIZE with this limit in bytes; not announced and not enforced when absent.
    pub size: Option<u64>,
    /// 8BITMIME. Without it (or without `BODY=8BITMIME`) a message with 8-bit bytes is refused.
    pub eight_bit_mime: bool,
    /// SMTPUTF8.
    pub smtputf8: bool,
    /// CHUNKING, that is BDAT.
    pub chunking: bool,
    /// DSN: ENVID, RET, NOTIFY, ORCPT.
    pub dsn: bool,
    /// ENHANCEDSTATUSCODES.
    pub enhanced_status_codes: bool,
    /// PIPELINING. When off, a client that sends a command before it has the answer to the last one is thrown out.
    pub pipelining: bool,
    /// AUTH PLAIN.
    pub auth_plain: bool,
    /// AUTH LOGIN.
    pub auth_login: bool,
}

impl Default for SmtpFeatures {
    fn default() -> SmtpFeatures {
        SmtpFeatures {
            size: Some(26_214_400),
            eight_bit_mime: true,
            smtputf8: true,
            chunking: true,
            dsn: true,
            enhanced_status_codes: true,
            pipelining: false,
            auth_plain: true,
            auth_login: true,
        }
    }
}

/// What the IMAP server announces and takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImapFeatures {
    /// SPECIAL-USE: LIST shows `\Sent` and the like.
    pub special_use: bool,
    /// UIDPLUS: APPENDUID.
    pub uidplus: bool,
    /// LITERAL+: literals that are not waited for.
    pub literal_plus: bool,
    /// CONDSTORE: HIGHESTMODSEQ and MODSEQ.
    pub condstore: bool,
    /// IDLE.
    pub idle: bool,
}

impl Default for ImapFeatures {
    fn default() -> ImapFeatures {
        ImapFeatures { special_use: true, uidplus: true, literal_plus: true, condstore: true, idle: true }
    }
}

/// Habits of a provider that no capability announces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Habits {
    /// The server files a copy of what is submitted in the sender's `\Sent` folder by itself. F05.
    pub files_sent: bool,
    /// The server replaces the Message-ID and keeps the old one in `X-Microsoft-Original-Message-ID`. F07.
    pub replaces_message_id: bool,
    /// A delivery report is put into the sender's INBOX when `NOTIFY=SUCCESS` asked for it.
    pub sends_reports: bool,
    /// Appending a message whose Message-ID the folder already has replaces that one, as one large provider does.
    pub append_replaces_same_id: bool,
}

/// A folder every account has from the start, beside INBOX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSetup {
    /// Its name.
    pub name: String,
    /// Its SPECIAL-USE attribute with the backslash, or none.
    pub special_use: Option<String>,
}

impl FolderSetup {
    /// A folder with a special use.
    pub fn special(name: &str, special_use: &str) -> FolderSetup {
        FolderSetup { name: name.to_owned(), special_use: Some(special_use.to_owned()) }
    }
}

/// How a sandbox is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who can log in.
    pub accounts: Vec<Account>,
    /// Where mail and effects are kept between starts; in memory only when absent.
    pub directory: Option<PathBuf>,
    /// Folders beside INBOX.
    pub folders: Vec<FolderSetup>,
    /// What SMTP can do.
    pub smtp: SmtpFeatures,
    /// What IMAP can do.
    pub imap: ImapFeatures,
    /// What the provider does unasked.
    pub habits: Habits,
    /// Ports on 127.0.0.1; 0 lets the system choose.
    pub smtp_port: u16,
    /// See `smtp_port`.
    pub imap_port: u16,
    /// The servers' clock.
    pub clock: Clock,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            accounts: Vec::new(),
            directory: None,
            folders: vec![
                FolderSetup::special("Drafts", "\\Drafts"),
                FolderSetup::special("Sent", "\\Sent"),
                FolderSetup::special("Trash", "\\Trash"),
            ],
            smtp: SmtpFeatures::default(),
            imap: ImapFeatures::default(),
            habits: Habits::default(),
            smtp_port: 0,
            imap_port: 0,
            clock: Clock::System,
        }
    }
}

impl Config {
    /// A sandbox in memory with these logins (address, password).
    pub fn in_memory(accounts: &[(&str, &str)]) -> Config {
        let accounts = accounts.iter().map(|(address, password)| Account::new(address, password)).collect();
        Config { accounts, ..Config::default() }
    }
}
