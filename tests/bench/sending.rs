//! From approve to accepted with no undo window, over a bare send to the same server.

use crate::raw::Raw;
use crate::sink::{Sink, bare_send};
use crate::stage::{Secrets, Stage};
use crate::stats::{median, millis};
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 9;
const SLICE: usize = 20;

pub async fn run(dir: &Path) -> anyhow::Result<()> {
    let sink = Sink::start(Some(dir))?;
    let mut stage = Stage::set(&dir.join("sending"), sink.addr, Secrets::Memory).await?;
    let mut raw = Raw::open(dir).await?;
    let message = "Subject: a bare message\r\n\r\n".to_owned() + &"Thank you for your order.\r\n".repeat(40);
    let (mut over, mut commits, mut bares, mut wholes, mut within) = (vec![], vec![], vec![], vec![], 0);
    for _ in 0..ROUNDS {
        let (commit, _) = raw.slice(SLICE * 2).await?;
        let (mut bare, mut whole) = (Vec::new(), Vec::new());
        for _ in 0..SLICE {
            bare.push(millis(bare_send(sink.addr, message.as_bytes())?));
            let (id, hash) = stage.propose().await?;
            let began = Instant::now();
            stage.approve(&id, &hash).await?;
            stage.dispatch(&id).await?;
            whole.push(millis(began.elapsed()));
        }
        let (bare, whole) = (median(&mut bare), median(&mut whole));
        within += usize::from(whole - bare <= 3.0 * commit + 1.5);
        over.push((whole - bare - 1.5) / commit);
        commits.push(commit);
        bares.push(bare);
        wholes.push(whole);
    }
    println!(
        "approve to accepted: {:.2} ms, bare send {:.2} ms, raw commit {:.2} ms; over the bare send: {:.2} raw commits \
         + 1.5 ms (goal: at most 3), in {within} of {ROUNDS} rounds",
        median(&mut wholes),
        median(&mut bares),
        median(&mut commits),
        median(&mut over)
    );
    Ok(())
}
