//! How often an action's life goes to the database. A trip to a connection's thread costs more than most statements, so the
//! number is kept: whoever needs one more says why, here.
//!
//! A process of its own: it listens to what the ledger's library tells of each trip.

#[allow(dead_code)]
#[path = "../bench/sink.rs"]
mod sink;
#[allow(dead_code)]
#[path = "../bench/stage.rs"]
mod stage;
#[path = "../bench/statements.rs"]
mod statements;

use sink::Sink;
use stage::{Secrets, Stage};

/// Receive: the source; the switch to a synced commit; what is known; the delivery's number; the action's number; the rest.
const RECEIVE: usize = 6;
const APPROVE: usize = 10;
const DISPATCH: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_makes_no_more_trips_to_the_database_than_it_did() {
    let dir = tempfile::Builder::new().prefix("cs-trips-").tempdir().expect("a scratch folder");
    statements::listen();
    let sink = Sink::start(None).expect("a sink");
    let mut stage = Stage::set(dir.path(), sink.addr, Secrets::Memory).await.expect("a stage");
    // The first ones find nothing prepared, no roster and no connector.
    for _ in 0..3 {
        let (id, hash) = stage.propose().await.expect("taken");
        stage.approve(&id, &hash).await.expect("approved");
        stage.dispatch(&id).await.expect("accepted");
    }
    let (proposed, received) = statements::texts(stage.propose()).await;
    let (id, hash) = proposed.expect("taken");
    let (done, approved) = statements::texts(stage.approve(&id, &hash)).await;
    done.expect("approved");
    let (done, dispatched) = statements::texts(stage.dispatch(&id)).await;
    done.expect("accepted");
    for (what, trips, most) in
        [("receive", received, RECEIVE), ("approve", approved, APPROVE), ("dispatch", dispatched, DISPATCH)]
    {
        assert!(!trips.is_empty(), "nothing was heard of");
        assert!(trips.len() <= most, "{} trips to {what}, at most {most}: {trips:#?}", trips.len());
    }
}
