//! Counts the statements that the ledger's library runs, by listening to what it tells of each.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static RUN: AtomicU64 = AtomicU64::new(0);
static TEXTS: Mutex<Option<Vec<String>>> = Mutex::new(None);

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        RUN.fetch_add(1, Ordering::Relaxed);
        if let Some(texts) = TEXTS.lock().unwrap_or_else(|e| e.into_inner()).as_mut() {
            let mut summary = Summary(String::new());
            event.record(&mut summary);
            texts.push(summary.0);
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Summary(String);

impl Visit for Summary {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "summary" {
            self.0 = format!("{value:?}");
        }
    }
}

/// From now on every statement of this process is counted. Costs time, so nothing is timed in such a run.
pub fn listen() {
    let _ = tracing::subscriber::set_global_default(Listener);
}

/// The beginnings of the statements that `work` runs, to see where they come from.
pub async fn texts<T>(work: impl Future<Output = T>) -> (T, Vec<String>) {
    *TEXTS.lock().unwrap_or_else(|e| e.into_inner()) = Some(Vec::new());
    let done = work.await;
    (done, TEXTS.lock().unwrap_or_else(|e| e.into_inner()).take().unwrap_or_default())
}
