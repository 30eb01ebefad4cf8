//! fsyncs per action, and whole actions a second against raw durable commits.

use crate::raw::Raw;
use crate::sink::Sink;
use crate::stage::{Secrets, Stage};
use crate::statements;
use crate::stats::{cpu_millis, median, millis};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 7;
const SLICE: usize = 40;

pub async fn run(dir: &Path) -> anyhow::Result<()> {
    syncs(dir)?;
    unlocking(dir).await?;
    let sink = Sink::start(None)?;
    let mut stage = Stage::set(&dir.join("rate"), sink.addr, Secrets::Memory).await?;
    let mut raw = Raw::open(dir).await?;
    let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (_, raw_rate) = raw.slice(SLICE * 4).await?;
        let began = Instant::now();
        for _ in 0..SLICE {
            let (id, hash) = stage.propose().await?;
            stage.approve(&id, &hash).await?;
            stage.dispatch(&id).await?;
        }
        let rate = SLICE as f64 / began.elapsed().as_secs_f64();
        ratios.push(rate / raw_rate);
        ours.push(rate);
        theirs.push(raw_rate);
    }
    println!(
        "lifecycle: {:.0} whole actions/s against {:.0} raw FULL commits/s, ratio {:.2} (goal: at least 0.18)",
        median(&mut ours),
        median(&mut theirs),
        median(&mut ratios)
    );
    Ok(())
}

/// Counts with strace, over runs of two lengths, so that what opening a home costs drops out.
fn syncs(dir: &Path) -> anyhow::Result<()> {
    let count = |label: &str, n: usize, phases: &str| -> anyhow::Result<f64> {
        let home = dir.join(format!("count-{label}-{n}"));
        std::fs::create_dir_all(&home)?;
        let log = home.join("strace");
        let ended = Command::new("strace")
            .args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-o"])
            .arg(&log)
            .arg(std::env::current_exe()?)
            .args(["actions".as_ref(), home.as_os_str(), n.to_string().as_ref(), phases.as_ref()])
            .stdout(Stdio::null())
            .status()?;
        anyhow::ensure!(ended.success(), "the counted run ended with {ended}");
        let calls = std::fs::read_to_string(&log)?;
        Ok(calls.lines().filter(|l| l.contains("sync(") && !l.contains("resumed")).count() as f64)
    };
    let per_action = |label: &str, phases: &str| -> anyhow::Result<f64> {
        Ok((count(label, 60, phases)? - count(label, 10, phases)?) / 50.0)
    };
    let received = per_action("receive", "receive")?;
    let whole = per_action("whole", "all")?;
    let anchor = per_action("anchor", "all-with-secrets-in-a-file")? - whole;
    println!("fsyncs per whole action: {whole:.2} (goal: at most 5)");
    println!("fsyncs between approve and accepted: {:.2} (goal: at most 3)", whole - received);
    println!(
        "fsyncs of raising the anchor, where secrets are in a file: {anchor:.2} (apart, as the keychain's own cost)"
    );
    Ok(())
}

/// What opening a home with a secrets file costs: the passphrase's work, once.
async fn unlocking(dir: &Path) -> anyhow::Result<()> {
    use countersign_engine::{Core, Home, OpenArgs, Passphrase};
    let dir = dir.join("unlock");
    std::fs::create_dir_all(&dir)?;
    Stage::set(&dir, Sink::start(None)?.addr, Secrets::File).await?.close().await;
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (before, began) = (cpu_millis(), Instant::now());
        let mut open = OpenArgs::new(Home::at(dir.join("home")));
        open.passphrase = Some(Passphrase::new(crate::stage::PASSPHRASE)?);
        let core = Core::open(open).await?;
        cpu.push(cpu_millis() - before);
        wall.push(millis(began.elapsed()));
        core.ledger.close().await;
    }
    println!(
        "unlocking a secrets file and opening the home: CPU {:.0} ms, {:.0} ms by the clock (limit: 300 ms)",
        median(&mut cpu),
        median(&mut wall)
    );
    Ok(())
}

/// The child: `n` actions as far as `phases` says.
pub async fn child(dir: &Path, n: usize, phases: &str) -> anyhow::Result<()> {
    let sink = Sink::start(None)?;
    let secrets = if phases.ends_with("file") { Secrets::File } else { Secrets::Memory };
    let mut stage = Stage::set(dir, sink.addr, secrets).await?;
    for _ in 0..n {
        let (id, hash) = stage.propose().await?;
        if phases != "receive" {
            stage.approve(&id, &hash).await?;
            stage.dispatch(&id).await?;
        }
    }
    Ok(())
}

/// How many statements each part of an action's life runs, once everything is warm.
pub async fn statements(dir: &Path, list: bool) -> anyhow::Result<()> {
    statements::listen();
    let mut stage = Stage::set(&dir.join("statements"), Sink::start(None)?.addr, Secrets::Memory).await?;
    for _ in 0..3 {
        let (id, hash) = stage.propose().await?;
        stage.approve(&id, &hash).await?;
        stage.dispatch(&id).await?;
    }
    let (proposed, received) = statements::texts(stage.propose()).await;
    let (id, hash) = proposed?;
    let (done, approved) = statements::texts(stage.approve(&id, &hash)).await;
    done?;
    let (done, dispatched) = statements::texts(stage.dispatch(&id)).await;
    done?;
    for (what, texts) in [("receive", &received), ("approve", &approved), ("dispatch", &dispatched)] {
        println!("statements to {what}: {}", texts.len());
        for text in texts.iter().filter(|_| list) {
            println!("    {text}");
        }
    }
    Ok(())
}

/// Where the time of an action goes, by its parts.
pub async fn phases(dir: &Path) -> anyhow::Result<()> {
    let mut stage = Stage::set(&dir.join("phases"), Sink::start(None)?.addr, Secrets::Memory).await?;
    let mut took = [vec![], vec![], vec![]];
    let mut cpu = [vec![], vec![], vec![]];
    for _ in 0..60 {
        let (c0, t0) = (cpu_millis(), Instant::now());
        let (id, hash) = stage.propose().await?;
        let (c1, t1) = (cpu_millis(), Instant::now());
        stage.approve(&id, &hash).await?;
        let (c2, t2) = (cpu_millis(), Instant::now());
        stage.dispatch(&id).await?;
        let (c3, t3) = (cpu_millis(), Instant::now());
        for (i, (t, c)) in [(t1 - t0, c1 - c0), (t2 - t1, c2 - c1), (t3 - t2, c3 - c2)].into_iter().enumerate() {
            took[i].push(millis(t));
            cpu[i].push(c);
        }
    }
    for (i, what) in ["receive", "approve", "dispatch"].into_iter().enumerate() {
        println!("{what}: {:.2} ms by the clock, {:.2} ms CPU", median(&mut took[i]), median(&mut cpu[i]));
    }
    Ok(())
}
