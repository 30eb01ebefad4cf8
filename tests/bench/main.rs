//! The measurements behind `cargo xtask bench`: ratios and counts against a stated peer in the same run.
//!
//! `product lifecycle|sending|search|window DIR` prints one measurement; `product actions DIR N PHASES` is the child whose
//! syncs strace counts. Times are medians over rounds in which anchor and product take turns, because the disk and the
//! machine drift; what is only scheduler noise by the clock is given as CPU time.

mod copies;
mod fill;
mod lifecycle;
mod process;
mod raw;
mod search;
mod sending;
mod sink;
mod stage;
mod statements;
mod stats;
mod window;
mod words;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let at = |text: &str| std::path::absolute(text);
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    runtime.block_on(async {
        match words.as_slice() {
            ["lifecycle", dir] => lifecycle::run(&at(dir)?).await,
            ["sending", dir] => sending::run(&at(dir)?).await,
            ["search", dir] => search::run(&at(dir)?, 1_000_000).await,
            ["search", dir, n] => search::run(&at(dir)?, n.parse()?).await,
            ["window", dir, n, app, bare] => window::run(&at(dir)?, n.parse()?, app, bare).await,
            ["fill", dir, n, "keychain"] => window::fill(&at(dir)?, n.parse()?).await,
            ["actions", dir, n, phases] => lifecycle::child(&at(dir)?, n.parse()?, phases).await,
            ["statements", dir] => lifecycle::statements(&at(dir)?, true).await,
            ["phases", dir] => lifecycle::phases(&at(dir)?).await,
            // `cargo test --benches` starts it without a word: there is nothing to test here.
            [] => Ok(()),
            other => anyhow::bail!("no such measurement: {}", other.join(" ")),
        }
    })
}
