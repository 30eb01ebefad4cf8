//! What may be typed. The names are those of interfaces.md and fixed; `--help` is written here.

use clap::{Args, Parser, Subcommand, ValueEnum};
use countersign_domain::{State, Timestamp};
use std::path::PathBuf;

/// AI drafts it. A person countersigns it. It goes out once, or it is flagged.
///
/// With no argument the desktop window starts, where one is installed and there is a display.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, disable_help_subcommand = true, arg_required_else_help = false)]
#[command(after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

const EXIT_CODES: &str = "\
Exit codes:
  0 done                      5 not found
  1 internal                  6 outcome unknown
  2 bad input                 7 refused or gave up
  3 conflict                  8 dispatch frozen or not possible
  4 not permitted or locked   9 integrity broken";

/// Options that stand before or after the subcommand.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Where the ledger, config and logs live [default: the platform's data folder]
    #[arg(long, global = true, overrides_with = "home", value_name = "DIR", env = "COUNTERSIGN_HOME")]
    pub home: Option<PathBuf>,
    /// One JSON document on stdout and nothing else there; errors as JSON on stderr
    #[arg(long, global = true, overrides_with = "json")]
    pub json: bool,
    /// Where keys and passwords are kept: `keychain`, or `file:PATH` for an encrypted file outside the home
    #[arg(long, global = true, overrides_with = "secrets", value_name = "WHERE", env = "COUNTERSIGN_SECRETS")]
    pub secrets: Option<String>,
    /// Read the passphrase (first line) from this descriptor instead of the terminal
    #[arg(long, global = true, overrides_with = "passphrase_fd", value_name = "N")]
    pub passphrase_fd: Option<u32>,
    /// A manual clock for scripts and drills; refused once sending in `live` is on
    #[arg(long, global = true, overrides_with = "now", value_name = "RFC3339", value_parser = time)]
    pub now: Option<Timestamp>,
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|e: countersign_domain::time::BadTime| e.to_string())
}

fn state(text: &str) -> Result<State, String> {
    let known = || State::ALL.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
    text.parse().map_err(|_| format!("not a state; they are: {}", known()))
}

/// `180d`, `36h`, `90m` or `30s`.
fn span(text: &str) -> Result<std::time::Duration, String> {
    let bad = || "a number and a unit is expected, such as 180d, 36h, 90m or 30s".to_owned();
    let (number, unit) = text.split_at_checked(text.len().wrapping_sub(1)).ok_or_else(bad)?;
    let number: u64 = number.parse().map_err(|_| bad())?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(bad()),
    };
    number.checked_mul(seconds).map(std::time::Duration::from_secs).ok_or_else(bad)
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a home: ledger, device key, environment `live` with sending off
    Init(Init),
    /// Switch sending on or off; off is also the kill switch
    Sending(Sending),
    /// Where approved actions go
    #[command(subcommand)]
    Destination(Destination),
    /// Who may propose, and what
    #[command(subcommand)]
    Source(Source),
    /// Hand in a proposal; the answer is printed also when it is refused
    Propose(Propose),
    /// Actions, newest first
    List(List),
    /// Full-text search over people, subjects, texts, keys and receipts
    Search(Search),
    /// One action with its whole history
    Show(One),
    /// Store the next payload version of a prepared action
    Edit(Edit),
    /// Complete what needs review
    Confirm(Confirm),
    /// Let an approved action go without the one it waits for
    Release(One),
    /// Countersign exactly this payload
    Approve(Approve),
    /// Decline an action; nothing is sent
    Reject(Reject),
    /// Put an approved action back before it is claimed
    Undo(One),
    /// Run the worker without a window
    Dispatch(Dispatch),
    /// Ask the destination now about what is unknown
    Reconcile(Reconcile),
    /// Hand an unknown action over once more under its own key, where the destination recognises it
    Finish(One),
    /// A person's verdict on an unknown action
    Resolve(Resolve),
    /// A new action, next revision, for the same request and step
    Revise(Revise),
    /// Intake over loopback HTTP, with the worker
    Serve(Serve),
    /// MCP server on stdio for an agent: propose, ask, list its own; no decisions
    Mcp(Mcp),
    /// Prove the ledger: journal chain, signatures, hashes, state replay
    Verify,
    /// The record, as CSV or JSON
    Export(Export),
    /// A verified copy of the ledger, marked as a backup
    Backup(FileName),
    /// Make the home from a backup; dispatch stays frozen until it is unfrozen
    Restore(FileName),
    /// The secrets of this home for another machine, or for the day its secrets store is lost
    #[command(subcommand)]
    Recovery(Recovery),
    /// Remove bodies of settled actions; keys, hashes, states and receipts stay
    Purge(Purge),
    /// Stop all dispatch until `unfreeze`
    Freeze,
    /// Take dispatch up again; after a restore with --adopt: what was open is asked about before its first attempt
    Unfreeze(Unfreeze),
    /// What is in order, what is not, and what to do
    Doctor(Doctor),
    /// The whole job on the sandbox in a throw-away home
    Demo,
}

#[derive(Debug, Args)]
pub struct Init {
    /// The owner's name, as approvals will carry it
    #[arg(long, value_name = "NAME")]
    pub owner: String,
    /// Also make the `sandbox` environment, with an embedded mailbox (the desktop window puts three proposals into it)
    #[arg(long)]
    pub sandbox: bool,
    /// Keep the device key without a passphrase; the command line can then never approve in `live`
    #[arg(long)]
    pub no_passphrase: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

#[derive(Debug, Args)]
pub struct Sending {
    pub switch: Switch,
    /// Which environment
    #[arg(long, value_name = "E", default_value = "live")]
    pub environment: String,
}

#[derive(Debug, Subcommand)]
pub enum Destination {
    /// Add one from a file; its password is never in the file
    Add(DestinationAdd),
    /// All of them
    List,
    /// Connect and log in; sends nothing unless told to
    Test(DestinationTest),
    /// Set up what it needs beforehand, once (at HubSpot the unique property)
    Prepare(Name),
    /// Sign in anew: another password, token or refresh token, in place of one that is not taken any more
    Login(DestinationLogin),
    /// What it promises, in plain words
    Contract(Name),
    /// Whether an unknown outcome there is finished under the same key by itself, where its contract makes that safe
    Repeat(DestinationRepeat),
    /// Remove one; its name is never used again
    Remove(Name),
}

#[derive(Debug, Args)]
pub struct DestinationAdd {
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Read the password or token (first line) from this descriptor instead of the terminal. With auth = "oauth" the first
    /// line is the refresh token, the second one the client secret, if there is one
    #[arg(long, value_name = "N")]
    pub secret_fd: Option<u32>,
}

#[derive(Debug, Args)]
pub struct DestinationLogin {
    pub name: String,
    /// As with `destination add`; without a second line the client secret stays what it was
    #[arg(long, value_name = "N")]
    pub secret_fd: Option<u32>,
}

#[derive(Debug, Args)]
pub struct DestinationTest {
    pub name: String,
    /// Also send one test message to this address
    #[arg(long, value_name = "ADDRESS")]
    pub send_to: Option<String>,
}

#[derive(Debug, Args)]
pub struct DestinationRepeat {
    pub name: String,
    pub to: Switch,
}

#[derive(Debug, Args)]
pub struct Name {
    pub name: String,
}

#[derive(Debug, Subcommand)]
pub enum Source {
    /// Allow one; prints its token, once
    Add(SourceAdd),
    /// All of them, without their tokens
    List,
    /// Its token stops working; what it proposed stays
    Revoke(Name),
    /// What it tried and was refused (at, door, tried, why), and deliveries of which nothing was taken
    Refusals(Name),
    /// Where it is told of outcomes (accepted, unknown, refused, gave up), and how telling it went
    Outcome(SourceOutcome),
}

#[derive(Debug, Args)]
pub struct SourceAdd {
    pub name: String,
    /// The environment its proposals belong to
    #[arg(long, value_name = "E")]
    pub environment: String,
    /// Effects it may propose, such as `email.reply`
    #[arg(long, value_name = "E,…", value_delimiter = ',', required = true)]
    pub effects: Vec<String>,
    /// Destinations it may propose for
    #[arg(long, value_name = "D,…", value_delimiter = ',', required = true)]
    pub destinations: Vec<String>,
    /// Also make a signing secret (Standard Webhooks)
    #[arg(long)]
    pub signed: bool,
}

#[derive(Debug, Args)]
pub struct SourceOutcome {
    pub name: String,
    /// Tell outcomes to this address from now on, signed (Standard Webhooks); https, or http on loopback. Prints its
    /// signing secret, once. For an authority of your own write `outcome_ca_file = "FILE"` into the home's config.toml
    #[arg(long, value_name = "URL", conflicts_with = "remove")]
    pub url: Option<String>,
    /// Tell nothing more
    #[arg(long)]
    pub remove: bool,
}

#[derive(Debug, Args)]
pub struct Propose {
    /// The document, or `-` for stdin
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,
    /// In whose name
    #[arg(long, value_name = "NAME")]
    pub source: String,
}

#[derive(Debug, Args)]
pub struct List {
    /// Only this state
    #[arg(long, value_name = "S", value_parser = state)]
    pub state: Option<State>,
    /// Only this environment
    #[arg(long, value_name = "E")]
    pub environment: Option<String>,
    /// At most so many (1 to 500)
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub limit: u32,
    /// Go on from a page's `next`
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

#[derive(Debug, Args)]
pub struct Search {
    pub text: String,
    /// At most so many (1 to 500)
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub limit: u32,
    /// Go on from a page's `next`
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

#[derive(Debug, Args)]
pub struct One {
    /// Number (`A-17`), idempotency key or canonical key
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Edit {
    /// Number, idempotency key or canonical key
    pub id: String,
    /// The whole new payload; `-` for stdin
    #[arg(long, value_name = "FILE.json")]
    pub payload: PathBuf,
}

#[derive(Debug, Args)]
pub struct Confirm {
    /// Number
    pub id: String,
    /// The request it belongs to, where that was missing
    #[arg(long, value_name = "R")]
    pub request_id: Option<String>,
    /// The event it came with, where that was missing
    #[arg(long, value_name = "E")]
    pub event_id: Option<String>,
}

#[derive(Debug, Args)]
pub struct Approve {
    /// Number, idempotency key or canonical key
    pub id: String,
    /// The payload hash you have read (64 digits); anything else than the current one fails
    #[arg(long, value_name = "HASH")]
    pub payload_hash: String,
    /// You have looked at this check, which holds the approval back; may be repeated. One that does not exist is refused
    #[arg(long, value_name = "CODE:FIELD")]
    pub checked: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Reject {
    /// Number, idempotency key or canonical key
    pub id: String,
    /// Why; kept with the action
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

#[derive(Debug, Args)]
pub struct Dispatch {
    /// End when nothing is due, and tell what was done: 9 if something was changed past the journal, 6 if something is unknown,
    /// else 7 if something was refused or gave up, else 8 if sending is off or frozen
    #[arg(long)]
    pub until_idle: bool,
}

#[derive(Debug, Args)]
pub struct Reconcile {
    /// Only this action
    pub id: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("verdict").required(true))]
pub struct Resolve {
    /// Number, idempotency key or canonical key
    pub id: String,
    /// It happened: becomes accepted, on your word
    #[arg(long, group = "verdict")]
    pub happened: bool,
    /// It did not happen: the same message goes again under the same key
    #[arg(long, group = "verdict")]
    pub did_not_happen: bool,
    /// Leave it unknown and stop asking
    #[arg(long, group = "verdict")]
    pub leave: bool,
    /// What shows it; signed and kept
    #[arg(long, value_name = "TEXT")]
    pub evidence: String,
}

#[derive(Debug, Args)]
pub struct Revise {
    /// Number, idempotency key or canonical key
    pub id: String,
    /// The new payload; without it the old one is the draft. `-` for stdin
    #[arg(long, value_name = "FILE.json")]
    pub payload: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Loopback address and port; port 0 lets the system choose
    #[arg(long, value_name = "127.0.0.1:PORT", default_value = "127.0.0.1:0")]
    pub listen: String,
    /// Folder whose sub-folders, each named like a source, are watched for proposals: a file moves to accepted/ or refused/
    /// there, with the answer or the reason beside it
    #[arg(long, value_name = "DIR")]
    pub watch: Option<PathBuf>,
    /// Destination of the kind mailbox of which one folder (unless named: Countersign) is watched for proposals by mail,
    /// each signed by its source; a message moves to accepted or refused below the folder. May be repeated
    #[arg(long, value_name = "NAME[:FOLDER]")]
    pub watch_mailbox: Vec<String>,
    /// How often it is looked at
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub watch_mailbox_every: u64,
}

#[derive(Debug, Args)]
pub struct Mcp {
    /// In whose name the agent proposes
    #[arg(long, value_name = "NAME")]
    pub source: String,
    /// Read the source's token (first line) from this descriptor instead of COUNTERSIGN_TOKEN
    #[arg(long, value_name = "N")]
    pub token_fd: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    Csv,
    Json,
}

#[derive(Debug, Args)]
pub struct Export {
    #[arg(long, value_enum, default_value_t = Format::Json)]
    pub format: Format,
    /// Changed at or after
    #[arg(long, value_name = "RFC3339", value_parser = time)]
    pub from: Option<Timestamp>,
    /// Changed before
    #[arg(long, value_name = "RFC3339", value_parser = time)]
    pub to: Option<Timestamp>,
    /// Only this state
    #[arg(long, value_name = "S", value_parser = state)]
    pub state: Option<State>,
}

#[derive(Debug, Args)]
pub struct FileName {
    pub file: PathBuf,
}

#[derive(Debug, Subcommand)]
pub enum Recovery {
    /// Write the ledger secret and the keys into a new file, encrypted with the passphrase; keep it apart from the backups.
    /// Passwords and tokens of destinations are not in it
    Export(FileName),
    /// Take them back into the secrets store of this home, where it holds none; afterwards `unfreeze --adopt`
    Import(FileName),
}

#[derive(Debug, Args)]
pub struct Purge {
    /// Age, such as 180d
    #[arg(long, value_name = "AGE", value_parser = span, allow_hyphen_values = true)]
    pub older_than: std::time::Duration,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Show a notification that says that it is a test
    #[arg(long)]
    pub test_notification: bool,
}

#[derive(Debug, Args)]
pub struct Unfreeze {
    /// This home was moved or restored and is now the only one
    #[arg(long)]
    pub adopt: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn r40_the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn r40_options_stand_before_or_after_the_subcommand() {
        for line in [["countersign", "--json", "verify"], ["countersign", "verify", "--json"]] {
            assert!(Cli::try_parse_from(line).unwrap().global.json);
        }
        let twice = ["countersign", "--json", "--home", "a", "verify", "--json", "--home", "b"];
        assert_eq!(Cli::try_parse_from(twice).unwrap().global.home, Some(PathBuf::from("b")));
    }

    #[test]
    fn r40_a_span_is_a_number_and_a_unit() {
        assert_eq!(span("180d").unwrap().as_secs(), 180 * 86_400);
        for bad in ["", "d", "180", "-1d", "1w", "99999999999999999999d", "1é"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }
}
