//! Open connections that are handed out and taken back at once.
//!
//! sqlx's own pool gives a connection back through a task of its own and begins and ends each transaction by further round
//! trips to the connection's thread.

use crate::LedgerError;
use crate::script::{Answer, Broke, Said, trip};
use crate::tx::{AS_TOLD, COMMIT, Conn, Durable, failed};
use sqlx::any::AnyConnectOptions;
use sqlx::{ConnectOptions, Connection, raw_sql};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// How long a caller waits for a connection.
const WAIT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct Slots {
    options: AnyConnectOptions,
    /// What is said to a new connection.
    setup: String,
    count: u32,
    permits: Arc<Semaphore>,
    free: Mutex<Vec<Open>>,
}

#[derive(Debug)]
struct Open {
    conn: Conn,
    /// What this connection was last told to do at a commit.
    durable: Durable,
}

impl Slots {
    /// At most `count` connections; none is made yet.
    pub(crate) fn new(options: AnyConnectOptions, setup: String, count: u32) -> Arc<Slots> {
        let permits = Arc::new(Semaphore::new(count as usize));
        Arc::new(Slots { options, setup, count, permits, free: Mutex::default() })
    }

    pub(crate) async fn lease(self: &Arc<Self>, doing: &'static str) -> Result<Lease, LedgerError> {
        let permit = tokio::time::timeout(WAIT, self.permits.clone().acquire_owned())
            .await
            .map_err(|_| LedgerError::Busy)?
            .map_err(|_| failed(doing, sqlx::Error::PoolClosed))?;
        let free = self.free().pop();
        let open = match free {
            Some(open) => open,
            None => Open { conn: self.connect(doing).await?, durable: Durable::Full },
        };
        let held = Held { slots: self.clone(), permit, gate: None };
        Ok(Lease { open: Some(open), held: Some(held), in_transaction: false, broken: false })
    }

    async fn connect(&self, doing: &'static str) -> Result<Conn, LedgerError> {
        let mut conn = self.options.connect().await.map_err(|e| failed(doing, e))?;
        if !self.setup.is_empty() {
            let setup = raw_sql(sqlx::AssertSqlSafe(self.setup.clone()));
            setup.execute(&mut conn).await.map_err(|e| failed(doing, e))?;
        }
        Ok(conn)
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Open>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for every lease to end, then closes.
    pub(crate) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(self.count).await {
            self.permits.close();
            drop(all);
        }
        let left = std::mem::take(&mut *self.free());
        for open in left {
            let _ = open.conn.close().await;
        }
    }
}

/// What is given back together with the connection.
#[derive(Debug)]
struct Held {
    slots: Arc<Slots>,
    permit: OwnedSemaphorePermit,
    /// The turn to write, where this is for writing.
    gate: Option<OwnedMutexGuard<()>>,
}

impl Held {
    fn give_back(self, open: Open) {
        self.slots.free().push(open);
        drop(self.gate);
        drop(self.permit);
    }
}

/// A connection until it is dropped. A transaction that was not committed is rolled back then, before anybody else gets the
/// connection.
#[derive(Debug)]
pub(crate) struct Lease {
    open: Option<Open>,
    held: Option<Held>,
    in_transaction: bool,
    /// The connection itself failed, not what was said over it: nobody gets it any more.
    broken: bool,
}

impl Lease {
    pub(crate) fn keep(&mut self, gate: OwnedMutexGuard<()>) {
        if let Some(held) = &mut self.held {
            held.gate = Some(gate);
        }
    }

    /// Begins with this text.
    pub(crate) async fn transact(&mut self, text: &'static str) -> Result<(), sqlx::Error> {
        // Before it is said: a caller that is dropped meanwhile leaves a transaction, too.
        self.in_transaction = true;
        let begun = raw_sql(text).execute(&mut **self).await;
        self.in_transaction = begun.is_ok();
        if begun.as_ref().is_err_and(|e| !matches!(e, sqlx::Error::Database(_))) {
            self.broken = true;
        }
        begun.map(drop)
    }

    /// Begins on SQLite. How a commit is synced is said with it, so that no transaction inherits the weaker way.
    pub(crate) async fn transact_immediately(&mut self, durable: Durable) -> Result<(), sqlx::Error> {
        let same = self.open.as_ref().is_some_and(|open| open.durable == durable);
        let text = durable.begins_with(same);
        if let Some(open) = &mut self.open {
            // Until it is known to have been said, this connection counts as the weaker one, which is never relied on.
            open.durable = Durable::Rides;
        }
        self.transact(text).await?;
        if let Some(open) = &mut self.open {
            open.durable = durable;
        }
        Ok(())
    }

    /// Says these in one trip. `begins`: a transaction that begins with it; `ends`: it is committed with it.
    pub(crate) async fn say(
        &mut self,
        begins: Option<Durable>,
        all: &[Said],
        ends: bool,
    ) -> Result<Vec<Answer>, Broke> {
        let mut begin = None;
        if let Some(durable) = begins {
            if self.open.as_ref().is_some_and(|open| open.durable == durable) {
                begin = Some(AS_TOLD);
            } else {
                // SQLite obeys this pragma while it compiles it, so it must never be part of a statement that is kept.
                let begun = self.transact_immediately(durable).await;
                begun.map_err(|source| Broke { at: None, begun: false, source })?;
            }
        }
        self.in_one(begin, all, ends.then_some(COMMIT)).await
    }

    /// Says `all` in one trip, beginning and ending a transaction with it where told so.
    pub(crate) async fn in_one(
        &mut self,
        begin: Option<&'static str>,
        all: &[Said],
        end: Option<&'static str>,
    ) -> Result<Vec<Answer>, Broke> {
        // Before it is said: a caller that is dropped meanwhile leaves a transaction, too.
        self.in_transaction |= begin.is_some();
        let said = trip(&mut *self, begin, all, end).await;
        match &said {
            Ok(_) => self.in_transaction &= end.is_none(),
            Err(broke) => {
                self.in_transaction &= broke.begun;
                self.broken |= !broke.begun && !matches!(broke.source, sqlx::Error::Database(_));
            }
        }
        said
    }
}

impl Deref for Lease {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.open.as_ref().expect("a lease holds its connection until it is dropped").conn
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.open.as_mut().expect("a lease holds its connection until it is dropped").conn
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (Some(mut open), Some(held)) = (self.open.take(), self.held.take()) else { return };
        if self.broken {
            return;
        }
        if !self.in_transaction {
            return held.give_back(open);
        }
        // Without a runtime the connection is dropped, which ends the transaction as well.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            // It fails where the engine rolled back by itself, as SQLite does on a full disk: then another connection is
            // opened the next time.
            if raw_sql("ROLLBACK").execute(&mut open.conn).await.is_ok() {
                held.give_back(open);
            }
        });
    }
}
