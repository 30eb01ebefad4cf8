//! Connections and transactions: the one place that knows how each engine begins, locks, syncs and says "busy".
//!
//! SQLite has one writer. In this process a gate hands the write lock round without spinning; other processes are waited
//! for, a bounded time. Read-then-write always begins IMMEDIATE, so that the lock is held before the first read.

use crate::LedgerError;
use crate::script::{Answer, Said};
use crate::slots::{Lease, Slots};
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection as _, Executor};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, watch};

pub(crate) type Conn = AnyConnection;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// Whether a transaction is on disk when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durable {
    /// Synced to disk before the commit returns.
    Full,
    /// Synced together with the next full one: for a claim, which the crossing's sync carries, and for what can be
    /// made again (the search index, typed text).
    Rides,
}

impl Durable {
    /// What begins such a transaction on SQLite. `told`: the connection was told so already.
    pub(crate) fn begins_with(self, told: bool) -> &'static str {
        match (told, self) {
            (true, _) => AS_TOLD,
            (false, Durable::Full) => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
            (false, Durable::Rides) => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
        }
    }
}

/// Begins where the connection was told already how to sync.
pub(crate) const AS_TOLD: &str = "BEGIN IMMEDIATE";
pub(crate) const COMMIT: &str = "COMMIT";

/// How long SQLite waits for another process inside one try, and how many tries a write gets.
const BUSY_WAIT_MS: u32 = 1_500;
const BEGIN_TRIES: u32 = 4;
/// So many writes are left in the log before an idle moment is used to move them into the file: some twelve actions.
const WRITES_IN_LOG: u32 = 64;
/// Readers at once.
const READERS: u32 = 4;
const OPENING: &str = "opening the ledger";
/// How long a write waits for the others of this process.
const GATE_WAIT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct Pools {
    pub(crate) engine: Engine,
    writer: Arc<Slots>,
    readers: Arc<Slots>,
    gate: Arc<Mutex<()>>,
    read_only: bool,
    /// Writes begun since the log was last moved into the file.
    written: AtomicU32,
    /// Told of every commit of this process.
    moved: watch::Sender<()>,
}

/// A write transaction. It begins with the first thing that is said in it. Dropped without `commit` it is rolled back.
pub(crate) struct Write {
    lease: Lease,
    doing: &'static str,
    /// Not begun yet; how its commit will be synced.
    begins: Option<Durable>,
    /// What nobody waits for an answer of: said with the next thing that is asked, at the latest with the commit.
    later: Vec<Said>,
    moved: watch::Sender<()>,
    /// The journal's head as this transaction left it, once it was read.
    pub(crate) head: Option<crate::Head>,
    /// The action, by number and row version, that this transaction knows to be as the journal wrote it down.
    pub(crate) intact: Option<(i64, i64)>,
}

impl Write {
    /// The connection, once everything was said that comes before.
    pub(crate) async fn conn(&mut self) -> Result<&mut Conn, LedgerError> {
        if self.begins.is_some() || !self.later.is_empty() {
            self.trip(Vec::new(), false).await?;
        }
        Ok(&mut self.lease)
    }

    /// To be said before anything that comes after. Where it fails, the next thing said or the commit tells.
    pub(crate) fn later(&mut self, said: Said) {
        self.later.push(said);
    }

    /// Says these after what is to be said before, in one trip, and answers each.
    pub(crate) async fn ask<const N: usize>(&mut self, script: [Said; N]) -> Result<[Answer; N], LedgerError> {
        Ok(exactly(self.ask_all(script.into()).await?))
    }

    pub(crate) async fn ask_all(&mut self, script: Vec<Said>) -> Result<Vec<Answer>, LedgerError> {
        self.trip(script, false).await
    }

    pub(crate) async fn commit(mut self, doing: &'static str) -> Result<(), LedgerError> {
        self.doing = doing;
        // Nothing was said: there is no transaction.
        if self.begins.is_some() && self.later.is_empty() {
            return Ok(());
        }
        self.trip(Vec::new(), true).await?;
        self.moved.send_replace(());
        Ok(())
    }

    async fn trip(&mut self, script: Vec<Said>, ends: bool) -> Result<Vec<Answer>, LedgerError> {
        let mut all = std::mem::take(&mut self.later);
        let before = all.len();
        all.extend(script);
        let mut tries = 0;
        loop {
            tries += 1;
            match self.lease.say(self.begins, &all, ends).await {
                Ok(mut answers) => {
                    self.begins = None;
                    return Ok(answers.split_off(before));
                }
                Err(broke) => {
                    let begun = broke.begun;
                    match broke.error(&mut all, self.doing) {
                        LedgerError::Busy if !begun && tries < BEGIN_TRIES => {}
                        error => {
                            self.begins = self.begins.filter(|_| !begun);
                            return Err(error);
                        }
                    }
                }
            }
        }
    }
}

/// One answer for each statement.
pub(crate) fn exactly<const N: usize>(answers: Vec<Answer>) -> [Answer; N] {
    answers.try_into().unwrap_or_else(|_| unreachable!("each statement has its answer"))
}

/// Which engine a connection is of.
pub(crate) fn engine_of(conn: &Conn) -> Engine {
    if conn.backend_name() == "SQLite" { Engine::Sqlite } else { Engine::Postgres }
}

impl Pools {
    pub(crate) async fn sqlite(path: &Path, create: bool, read_only: bool) -> Result<Pools, LedgerError> {
        sqlx::any::install_default_drivers();
        let mode = match (create, read_only) {
            (_, true) => "ro",
            (true, false) => "rwc",
            (false, false) => "rw",
        };
        let writer = sqlite_slots(&sqlite_url(path, mode), 1, read_only, "FULL")?;
        let readers = sqlite_slots(&sqlite_url(path, "ro"), READERS, true, "NORMAL")?;
        let pools = Pools::new(Engine::Sqlite, writer, readers, read_only);
        // What is wrong with the file shows now. The writer first: it makes what a reader of the log needs.
        drop(pools.writer.lease(OPENING).await?);
        drop(pools.readers.lease(OPENING).await?);
        Ok(pools)
    }

    pub(crate) async fn postgres(url: &str) -> Result<Pools, LedgerError> {
        sqlx::any::install_default_drivers();
        let doing = "connecting to the ledger";
        let options = url.parse().map_err(|e| failed(doing, e))?;
        let slots = Slots::new(options, String::new(), 2 * READERS);
        drop(slots.lease(doing).await?);
        Ok(Pools::new(Engine::Postgres, slots.clone(), slots, false))
    }

    fn new(engine: Engine, writer: Arc<Slots>, readers: Arc<Slots>, read_only: bool) -> Pools {
        let (gate, written, moved) = (Arc::default(), AtomicU32::new(0), watch::Sender::new(()));
        Pools { engine, writer, readers, gate, read_only, written, moved }
    }

    /// The schema that the tables must have: whoever only reads takes the file as an earlier build left it.
    pub(crate) async fn expected_schema(&self) -> Result<i64, LedgerError> {
        match self.read_only {
            true => self.schema().await,
            false => Ok(crate::open::SCHEMA),
        }
    }

    /// Changes with every commit of this process; what another one commits is seen by looking.
    pub(crate) fn moved(&self) -> watch::Receiver<()> {
        self.moved.subscribe()
    }

    async fn begin_postgres(&self, doing: &'static str) -> Result<Write, LedgerError> {
        let mut lease = self.writer.lease(doing).await?;
        lease.transact("BEGIN").await.map_err(|e| failed(doing, e))?;
        Ok(self.write_on(lease, doing, None))
    }

    fn write_on(&self, lease: Lease, doing: &'static str, begins: Option<Durable>) -> Write {
        Write { lease, doing, begins, later: Vec::new(), moved: self.moved.clone(), head: None, intact: None }
    }

    /// A write with the write lock held from the first thing on that is said in it.
    pub(crate) async fn write(&self, doing: &'static str, durable: Durable) -> Result<Write, LedgerError> {
        if self.read_only {
            return Err(LedgerError::ReadOnly);
        }
        match self.engine {
            Engine::Sqlite => {
                let gate = tokio::time::timeout(GATE_WAIT, self.gate.clone().lock_owned())
                    .await
                    .map_err(|_| LedgerError::Busy)?;
                // One connection for both: a second one would throw away the pages it holds at each write of the other.
                let mut lease = self.writer.lease(doing).await?;
                lease.keep(gate);
                self.written.fetch_add(1, Ordering::Relaxed);
                Ok(self.write_on(lease, doing, Some(durable)))
            }
            Engine::Postgres => {
                let mut w = self.begin_postgres(doing).await?;
                // The head's row lock gives what IMMEDIATE gives on SQLite: one writer, and seq in commit order.
                w.conn()
                    .await?
                    .execute("SELECT seq FROM ledger_head WHERE one = 1 FOR UPDATE")
                    .await
                    .map_err(|e| failed(doing, e))?;
                Ok(w)
            }
        }
    }

    fn begins_view(&self) -> &'static str {
        match self.engine {
            Engine::Sqlite => "BEGIN",
            Engine::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// A read transaction: one view of the data over several statements.
    pub(crate) async fn read(&self, doing: &'static str) -> Result<Lease, LedgerError> {
        let mut lease = self.readers.lease(doing).await?;
        lease.transact(self.begins_view()).await.map_err(|e| failed(doing, e))?;
        Ok(lease)
    }

    /// One view of the data over statements that are said in one trip.
    pub(crate) async fn view(
        &self,
        doing: &'static str,
        mut script: Vec<Said>,
    ) -> Result<(Vec<Answer>, Lease), LedgerError> {
        let mut lease = self.readers.lease(doing).await?;
        match lease.in_one(Some(self.begins_view()), &script, Some(COMMIT)).await {
            Ok(answers) => Ok((answers, lease)),
            Err(broke) => Err(broke.error(&mut script, doing)),
        }
    }

    /// A reader outside a transaction.
    pub(crate) async fn bare(&self, doing: &'static str) -> Result<Lease, LedgerError> {
        self.readers.lease(doing).await
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

fn sqlite_slots(
    url: &str,
    connections: u32,
    read_only: bool,
    synchronous: &'static str,
) -> Result<Arc<Slots>, LedgerError> {
    let options: AnyConnectOptions = url.parse().map_err(|e| failed(OPENING, e))?;
    let mut pragmas = format!(
        "PRAGMA busy_timeout = {BUSY_WAIT_MS}; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; \
         PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -16384; PRAGMA mmap_size = 268435456; \
         PRAGMA temp_store = MEMORY;"
    );
    if !read_only {
        // Checkpoints are made while nothing is under way. 16,000 pages (64 MiB) bound the log where that never comes, or
        // where no dispatcher runs.
        pragmas.push_str(" PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 16000;");
    }
    Ok(Slots::new(options, pragmas, connections))
}

/// The schema number of a file, as a connection sees it that cannot write and is told nothing.
pub(crate) async fn look(path: &Path) -> Result<i64, LedgerError> {
    let doing = OPENING;
    sqlx::any::install_default_drivers();
    let mut conn = Conn::connect(&sqlite_url(path, "ro")).await.map_err(|e| failed(doing, e))?;
    // The tables are read besides, as what comes first on each connection reads them.
    let tables = "SELECT COUNT(*) FROM sqlite_schema";
    number(&mut conn, tables).await.map_err(|e| failed(doing, e))?;
    let found = number(&mut conn, "PRAGMA user_version").await.map_err(|e| failed(doing, e))?;
    conn.close().await.map_err(|e| failed(doing, e))?;
    Ok(found)
}

/// SQLite's URL with everything escaped that could be read as something else.
fn sqlite_url(path: &Path, mode: &str) -> String {
    let mut url = String::from("sqlite://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => url.push(char::from(*byte)),
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url.push_str("?mode=");
    url.push_str(mode);
    url
}

/// Names what we were doing, and tells busy, full and read-only from the rest.
pub(crate) fn failed(doing: &'static str, source: sqlx::Error) -> LedgerError {
    let code = match &source {
        sqlx::Error::Database(e) => e.code().map(|c| c.into_owned()).unwrap_or_default(),
        sqlx::Error::PoolTimedOut => return LedgerError::Busy,
        _ => String::new(),
    };
    // SQLite gives numbers, with the detail in the upper bits; PostgreSQL five characters.
    match code.parse::<u32>().ok().filter(|_| code.len() < 5).map(|n| n & 0xff) {
        Some(5 | 6) => LedgerError::Busy,
        Some(13) => LedgerError::Full,
        Some(8) => LedgerError::ReadOnly,
        Some(11 | 26) => LedgerError::corrupt("file", "ledger", "the database file is damaged"),
        _ if code == "53100" => LedgerError::Full,
        _ if code == "55P03" || code == "40001" || code == "40P01" => LedgerError::Busy,
        _ => LedgerError::Database { doing, source },
    }
}

/// Declares the module's statements, each a constant, and the list of them that the PostgreSQL test prepares.
macro_rules! statements {
    ($($name:ident = $text:expr;)*) => {
        $(pub(crate) const $name: &str = $text;)*
        pub(crate) const STATEMENTS: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use statements;

/// `application_id` of a ledger file: "CSLG".
pub(crate) const APPLICATION_ID: u32 = 0x4353_4C47;

/// What is said differently to each engine: file, what it is for, on SQLite, on PostgreSQL.
pub(crate) const SEAMS: &[(&str, &str, &str, &str)] = &[
    (
        "tx",
        "begin a write with the write lock",
        "PRAGMA synchronous = FULL | NORMAL; BEGIN IMMEDIATE",
        "SELECT seq FROM ledger_head WHERE one = 1 FOR UPDATE",
    ),
    ("tx", "one view over several reads", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
    ("tx", "which schema is this", "PRAGMA user_version", SCHEMA_POSTGRES),
    (
        "tx",
        "durability and limits of a connection",
        "PRAGMA synchronous, busy_timeout, foreign_keys, trusted_schema …",
        "",
    ),
];

const SCHEMA_POSTGRES: &str = "SELECT CASE WHEN to_regclass('schema_version') IS NULL THEN 0 ELSE 1 END AS there";

impl Pools {
    /// A write transaction in a database that may have no tables yet.
    pub(crate) async fn bare_write(&self, doing: &'static str) -> Result<Write, LedgerError> {
        match self.engine {
            Engine::Sqlite => self.write(doing, Durable::Full).await,
            Engine::Postgres => self.begin_postgres(doing).await,
        }
    }

    /// Number of the schema in the database; zero where there is none.
    pub(crate) async fn schema(&self) -> Result<i64, LedgerError> {
        let doing = "reading the ledger's schema number";
        let mut conn = self.bare(doing).await?;
        match self.engine {
            Engine::Sqlite => number(&mut conn, "PRAGMA user_version").await,
            Engine::Postgres => match number(&mut conn, SCHEMA_POSTGRES).await {
                Ok(0) => Ok(0),
                Ok(_) => number(&mut conn, "SELECT version FROM schema_version WHERE one = 1").await,
                Err(e) => Err(e),
            },
        }
        .map_err(|e| failed(doing, e))
    }

    /// Moves what the WAL holds into the file itself.
    pub(crate) async fn checkpoint(&self) -> Result<(), LedgerError> {
        if self.engine == Engine::Sqlite {
            let doing = "writing the ledger's log into its file";
            let mut conn = self.writer.lease(doing).await?;
            sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *conn).await.map_err(|e| failed(doing, e))?;
        }
        Ok(())
    }

    /// One file and nothing beside it, so that it can be read in a folder that cannot be written to.
    pub(crate) async fn leave_log(&self) -> Result<(), LedgerError> {
        let doing = "closing the ledger's log";
        // The log stays as long as anybody else has the file open.
        self.readers.close().await;
        let mut conn = self.writer.lease(doing).await?;
        sqlx::raw_sql("PRAGMA journal_mode = DELETE").execute(&mut *conn).await.map_err(|e| failed(doing, e))?;
        Ok(())
    }

    /// Moves the log into the file once enough was written. Waits for nobody: where a write is under way, or a reader still
    /// needs a part of the log, the rest is left for the next time.
    pub(crate) async fn checkpoint_in_idle(&self) -> Result<(), LedgerError> {
        if self.engine != Engine::Sqlite || self.read_only || self.written.load(Ordering::Relaxed) < WRITES_IN_LOG {
            return Ok(());
        }
        let Ok(_gate) = self.gate.try_lock() else { return Ok(()) };
        let doing = "writing the ledger's log into its file";
        let mut conn = self.writer.lease(doing).await?;
        sqlx::raw_sql("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut *conn).await.map_err(|e| failed(doing, e))?;
        self.written.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the schema number where a reader of the bare file finds it.
    /// The schema as it stands under this write's lock.
    pub(crate) async fn schema_in(&self, w: &mut Write) -> Result<i64, LedgerError> {
        match self.engine {
            Engine::Sqlite => number(w.conn().await?, "PRAGMA user_version").await,
            Engine::Postgres => {
                number(w.conn().await?, "SELECT version FROM schema_version WHERE one = 1 FOR UPDATE").await
            }
        }
        .map_err(|e| failed("reading the ledger's schema number", e))
    }

    pub(crate) async fn mark_schema(&self, w: &mut Write, schema: i64) -> Result<(), LedgerError> {
        if self.engine == Engine::Sqlite {
            let text = format!("PRAGMA user_version = {schema}; PRAGMA application_id = {APPLICATION_ID};");
            sqlx::raw_sql(sqlx::AssertSqlSafe(text))
                .execute(w.conn().await?)
                .await
                .map_err(|e| failed("marking the ledger's schema", e))?;
        }
        Ok(())
    }
}

async fn number(conn: &mut Conn, text: &'static str) -> Result<i64, sqlx::Error> {
    let row = sqlx::query(text).fetch_one(conn).await?;
    // PRAGMA gives an untyped number, a CASE a 32-bit one.
    sqlx::Row::try_get::<i64, _>(&row, 0)
}
