//! `cargo xtask app`, `cargo xtask test`, `cargo xtask bench`, `cargo xtask setup`: install what is missing, build, run.
//!
//! Rust is the one thing that must be there before (with the linker it needs, `cc`, which this program could not have
//! been built without). No dependencies, so that it builds in seconds.

mod app;
mod bench;
mod deny;
mod keeper;
mod node;
mod package;
mod packages;
mod page;
mod peers;
mod pictures;
mod postgres;
mod sh;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask app      installs what is missing, builds and starts Countersign; without a display in a virtual one, on the
                     sandbox, with a screenshot and the demo
cargo xtask test     the same for every test, with the real servers they need
cargo xtask bench    measures what the targets are about, in a release build
cargo xtask package  packs the window that was built as a Debian package, which the tests start as well
cargo xtask pictures takes the pictures that README shows, of the real window
cargo xtask setup    only installs what is missing (add `test` for what the tests need as well)

Packages are installed on Debian and Ubuntu, as root or through sudo, and that is said before. Elsewhere you are told
what to install.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["app"] => app::run(),
        ["test"] => test::run(),
        ["bench", rest @ ..] => bench::run(rest),
        ["package"] => package::run(),
        ["pictures"] => pictures::run(),
        ["setup"] => setup(packages::Needs::App).map(|_| ()),
        ["setup", "test"] => setup(packages::Needs::Test).map(|_| ()),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        [] => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
        other => {
            eprintln!("`{}` is none of these:\n\n{HELP}", other.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\nxtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Packages and Node: what everything else stands on.
fn setup(needs: packages::Needs) -> Result<node::Node, String> {
    let install_node = !node::system_is_new_enough();
    packages::install(needs, install_node)?;
    if needs == packages::Needs::Test {
        peers::install()?;
    }
    node::find()
}
