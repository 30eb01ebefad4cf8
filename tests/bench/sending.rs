//! From approve to accepted with no undo window, over a bare send to the same server.

use crate::raw::Raw;
use crate::sink::{Sink, bare_send};
use crate::stage::{Secrets, Stage};
use crate::stats::{cpu_millis, median, millis};
use std::path::Path;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 9;
const SLICE: usize = 20;

pub async fn run(dir: &Path) -> anyhow::Result<()> {
    let sink = Sink::start(Some(dir))?;
    let mut stage = Stage::set(&dir.join("sending"), sink.addr, Secrets::Memory).await?;
    let mut raw = Raw::open(dir).await?;
    let message = "Subject: a bare message\r\n\r\n".to_owned() + &"Thank you for your order.\r\n".repeat(40);
    let (mut over, mut commits, mut bares, mut wholes, mut cpu) = (vec![], vec![], vec![], vec![], vec![]);
    let mut within = 0;
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (dispatcher, stop) = (stage.dispatcher.clone(), stop.clone());
        async move { dispatcher.run(stop).await }
    });
    for _ in 0..ROUNDS {
        let (commit, _) = raw.slice(SLICE * 2).await?;
        let (mut bare, mut whole) = (Vec::new(), Vec::new());
        for _ in 0..SLICE {
            bare.push(millis(bare_send(sink.addr, message.as_bytes())?));
            let (id, hash) = stage.propose().await?;
            let (before, took) = (cpu_millis(), stage.approve_and_see_accepted(&id, &hash).await?);
            cpu.push(cpu_millis() - before);
            whole.push(millis(took));
            // What follows an action (the index, the anchor) is not part of the next one.
            stage.settle().await?;
        }
        let (bare, whole) = (median(&mut bare), median(&mut whole));
        within += usize::from(whole - bare <= 3.0 * commit + 1.5);
        over.push((whole - bare - 1.5) / commit);
        commits.push(commit);
        bares.push(bare);
        wholes.push(whole);
    }
    stop.cancel();
    running.await?;
    println!(
        "approve to accepted: {:.2} ms (CPU of all that the program did meanwhile {:.2} ms), bare send {:.2} ms, raw commit {:.2} ms; over the bare send: {:.2} raw commits \
         + 1.5 ms (goal: at most 3), in {within} of {ROUNDS} rounds",
        median(&mut wholes),
        median(&mut cpu),
        median(&mut bares),
        median(&mut commits),
        median(&mut over)
    );
    Ok(())
}
