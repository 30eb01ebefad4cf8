//! Runs a sandbox by hand, in memory or in a directory given as argument: `cargo run -p countersign-sandbox --example
//! serve`. It prints where everything is and stops when standard input ends.

use countersign_sandbox::{Account, Config, Sandbox, story};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).map(Into::into);
    let config = Config { accounts: vec![Account::new(story::ADDRESS, "sandbox")], directory, ..Config::default() };
    let clock = config.clock.clone();
    let sandbox = Sandbox::start(config).await?;
    story::deliver(&sandbox, &story::conversations(clock.unix_seconds()));
    println!("{}", serde_json::to_string(sandbox.running())?);
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    sandbox.stop().await;
    Ok(())
}
