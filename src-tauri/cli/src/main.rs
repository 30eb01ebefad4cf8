//! `countersign`: the whole job without a window, for servers, scripts and tests (R40). Needs no WebKit and no display.

mod args;
mod commands;
mod mcp;
mod output;
mod session;
mod window;

use args::{Cli, Command, Dispatch};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use countersign_engine::Failure;
use output::Output;
use session::Session;
use std::process::ExitCode;
use std::sync::Arc;

/// Of each of the runtime's threads, in bytes.
const STACK: usize = 16 << 20;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return ExitCode::from(bad_arguments(&e)),
    };
    log_to_stderr(&cli);
    let out = Output { json: cli.global.json };
    let Some(command) = cli.command else {
        return ExitCode::from(window::start(&cli.global).unwrap_or_else(|e| out.failure(&e)));
    };
    // A command is one future, and without optimisation the deepest of them (`demo`) wants more than a thread has by itself.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(e) => return ExitCode::from(out.failure(&Failure::internal(format!("no runtime: {e}")))),
    };
    let code = runtime.block_on(async {
        let session = match Session::new(cli.global) {
            Ok(session) => Arc::new(session),
            Err(failure) => return out.failure(&failure),
        };
        let of_command = Arc::clone(&session);
        // In a task of its own, so that a defect becomes an error with a code and not a torn answer.
        let ended = match tokio::spawn(async move { commands::run(&of_command, command).await }).await {
            Ok(ended) => ended,
            Err(_) => Err(Failure::internal("the command broke off; what was decided before is on disk")),
        };
        let code = ended.unwrap_or_else(|failure| out.failure(&failure));
        session.settled().await;
        code
    });
    ExitCode::from(code)
}

/// Logs go to stderr, where errors are too; without `RUST_LOG` only what a person should know. Where stderr is a document
/// (`--json`) nothing else goes there, except from what runs until it is stopped and has no other way to say something.
fn log_to_stderr(cli: &Cli) {
    let lasting = matches!(&cli.command, Some(Command::Serve(_) | Command::Dispatch(Dispatch { until_idle: false })));
    let level = match (lasting, cli.global.json) {
        // A door that is shut, or what was turned away at it, is told of nowhere else.
        (true, _) => "error,countersign_engine=warn",
        (false, true) => "off",
        (false, false) => "error",
    };
    let mut filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    // At its finest level the IMAP library writes every line down, logins and people's mail among them (F44).
    for silent in ["async_imap=off", "async_imap::imap_stream=off"] {
        filter = filter.add_directive(silent.parse().expect("it is a directive"));
    }
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

/// Help and version are answers; everything else is bad input and names its field.
fn bad_arguments(e: &clap::Error) -> u8 {
    if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = e.print();
        return 0;
    }
    let json = std::env::args_os().any(|a| a == "--json");
    if !json {
        let _ = e.print();
        return 2;
    }
    let field = match (e.get(ContextKind::InvalidArg), e.get(ContextKind::InvalidSubcommand)) {
        (Some(ContextValue::String(arg)), _) => name_of(arg),
        (Some(ContextValue::Strings(args)), _) => args.first().map_or_else(String::new, |arg| name_of(arg)),
        (_, Some(ContextValue::String(name))) => name.clone(),
        _ => "command".to_owned(),
    };
    Output { json }.failure(&Failure::bad_input(field, first_paragraph(&e.render().to_string())))
}

/// What is wrong, without the usage that follows. A list of missing arguments has lines of its own.
fn first_paragraph(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

/// `--payload-hash <HASH>` is the field `payload-hash`, `<ID>` is `id`; a choice of flags is the verdict of `resolve`.
fn name_of(argument: &str) -> String {
    if argument.contains('|') {
        return "verdict".to_owned();
    }
    let first = argument.split([' ', '=']).next().unwrap_or_default();
    first.trim_start_matches('-').trim_matches(['<', '>', '[', ']', '.']).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r40_a_bad_argument_names_its_field() {
        assert_eq!(name_of("--payload-hash <HASH>"), "payload-hash");
        assert_eq!(name_of("<ID>"), "id");
        assert_eq!(name_of("--state"), "state");
        assert_eq!(name_of("<--happened|--did-not-happen|--leave>"), "verdict");
    }
}
