//! Making and opening a ledger. A newer schema is refused with its number and the file stays as it was.

use crate::rows::Get;
use crate::tx::{Pools, Write, failed, statements};
use crate::types::OpenOptions;
use crate::{Inner, Ledger, LedgerError, journal, place};
use countersign_domain::{Mailbox, Timestamp};
use serde_json::json;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The schema this build knows.
pub const SCHEMA: i64 = 3;
/// The first schema that keeps sums by domain.
pub(crate) const DOMAINS_SINCE: i64 = 3;

const SQLITE: [&str; SCHEMA as usize] = [
    include_str!("../../../migrations/sqlite/0001_ledger.sql"),
    include_str!("../../../migrations/sqlite/0002_doors.sql"),
    include_str!("../../../migrations/sqlite/0003_sizes.sql"),
];
const POSTGRES: [&str; SCHEMA as usize] = [
    include_str!("../../../migrations/postgres/0001_ledger.sql"),
    include_str!("../../../migrations/postgres/0002_doors.sql"),
    include_str!("../../../migrations/postgres/0003_sizes.sql"),
];

statements! {
    ADDRESSES = "SELECT email FROM action_people UNION SELECT email FROM known_people";
    FOLD_OF_ACTIONS = "INSERT INTO action_people (action, email) SELECT action, CAST($2 AS TEXT) FROM action_people \
        WHERE email = $1 ON CONFLICT DO NOTHING";
    UNFOLDED_OF_ACTIONS = "DELETE FROM action_people WHERE email = $1 AND email <> $2";
    FOLD_KNOWN = "INSERT INTO known_people (environment, email, times) \
        SELECT environment, CAST($2 AS TEXT), times FROM known_people WHERE email = $1 \
        ON CONFLICT (environment, email) DO UPDATE SET times = known_people.times + excluded.times";
    UNFOLDED_KNOWN = "DELETE FROM known_people WHERE email = $1 AND email <> $2";
}

impl Ledger {
    /// Makes a new ledger file, readable by its owner only. `id` is random text that the caller brings.
    ///
    /// # Errors
    /// `Place` where a file is already there, or where a ledger may not lie.
    pub async fn create(path: &Path, id: &str, now: Timestamp) -> Result<Ledger, LedgerError> {
        place::check(path)?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map_err(|e| LedgerError::Place {
            why: match e.kind() {
                std::io::ErrorKind::AlreadyExists => format!("{} exists already", path.display()),
                _ => format!("{} cannot be made: {e}", path.display()),
            },
        })?;
        let pools = Pools::sqlite(path, true, false).await?;
        migrate(&pools, 0, &SQLITE, Some((id, now))).await?;
        finish(pools, id.to_owned()).await
    }

    /// Opens a ledger that exists.
    ///
    /// # Errors
    /// `NotFound`; `Place` on a network or synced folder; `Newer` for a schema of a later build.
    pub async fn open(path: &Path, options: OpenOptions) -> Result<Ledger, LedgerError> {
        if !path.is_file() {
            return Err(LedgerError::not_found("ledger", path.display()));
        }
        place::check(path)?;
        let found = schema_in_header(path)?;
        if found > SCHEMA {
            return Err(LedgerError::Newer { found, known: SCHEMA });
        }
        // The header may be behind the WAL: look again through a connection that cannot write.
        let found = crate::tx::look(path).await?;
        if found > SCHEMA {
            return Err(LedgerError::Newer { found, known: SCHEMA });
        }
        let pools = Pools::sqlite(path, false, options.read_only).await?;
        if found < 1 {
            return Err(foreign(path, "it holds none"));
        }
        let id = ledger_id(&pools).await?;
        // Whoever only reads (a backup that is looked at) reads what an earlier build wrote.
        if found < SCHEMA && !options.read_only {
            migrate(&pools, found, &SQLITE, None).await?;
        }
        finish(pools, id).await
    }

    /// A ledger on PostgreSQL, made there if the database is empty. For the team ledger of a later version; the tests run
    /// every phase on it already.
    #[doc(hidden)]
    pub async fn open_postgres(url: &str, id: &str, now: Timestamp) -> Result<Ledger, LedgerError> {
        let pools = Pools::postgres(url).await?;
        let found = pools.schema().await?;
        if found > SCHEMA {
            return Err(LedgerError::Newer { found, known: SCHEMA });
        }
        if found < SCHEMA {
            migrate(&pools, found, &POSTGRES, (found == 0).then_some((id, now))).await?;
        }
        let id = ledger_id(&pools).await?;
        finish(pools, id).await
    }
}

async fn finish(pools: Pools, id: String) -> Result<Ledger, LedgerError> {
    let unmerged = std::sync::atomic::AtomicBool::new(true);
    Ok(Ledger {
        inner: Arc::new(Inner { unmerged, pools, id, configured: Default::default(), domains: Default::default() }),
    })
}

async fn ledger_id(pools: &Pools) -> Result<String, LedgerError> {
    let mut tx = pools.read("opening the ledger").await?;
    crate::directory::setting(&mut tx, crate::directory::LEDGER_ID)
        .await?
        .ok_or_else(|| LedgerError::corrupt("ledger", "id", "it has none"))
}

/// Runs the migrations after `found`, all in one transaction. `new`: whose ledger this becomes, where it was none.
async fn migrate(
    pools: &Pools,
    found: i64,
    scripts: &[&'static str],
    new: Option<(&str, Timestamp)>,
) -> Result<(), LedgerError> {
    let doing = "making the ledger's tables";
    let mut w: Write = pools.bare_write(doing).await?;
    // Two programs that open an older ledger at once: the second finds the work done.
    if found > 0 && pools.schema_in(&mut w).await? >= SCHEMA {
        return Ok(());
    }
    for (n, script) in (1i64..).zip(scripts).skip(found as usize) {
        // Before the sums by domain are made: until then an address was kept as it was written.
        if n == DOMAINS_SINCE && found > 0 {
            fold_addresses(&mut w).await?;
        }
        sqlx::raw_sql(*script).execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
    }
    pools.mark_schema(&mut w, SCHEMA).await?;
    if let Some((id, now)) = new {
        let fact = json!({ "fact": "ledger_created", "details": { "ledger": id, "schema": SCHEMA } });
        journal::append(&mut w, now, None, fact, "countersign").await?;
        crate::directory::put_setting(&mut w, crate::directory::LEDGER_ID, id, "countersign", now).await?;
    }
    w.commit(doing).await?;
    // So that the bare file says what it is, whatever becomes of this process.
    pools.checkpoint().await
}

/// One person is one address from now on, however it was spelled.
async fn fold_addresses(w: &mut Write) -> Result<(), LedgerError> {
    let doing = "bringing addresses to one spelling";
    let rows = sqlx::query(ADDRESSES).fetch_all(w.conn().await?).await.map_err(|e| failed(doing, e))?;
    for row in &rows {
        let written = row.text("email")?;
        let folded = Mailbox { name: None, email: written.clone() }.folded();
        if folded == written {
            continue;
        }
        for statement in [FOLD_OF_ACTIONS, UNFOLDED_OF_ACTIONS, FOLD_KNOWN, UNFOLDED_KNOWN] {
            let query = sqlx::query(statement).bind(written.clone()).bind(folded.clone());
            query.execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
        }
    }
    Ok(())
}

fn foreign(path: &Path, why: &'static str) -> LedgerError {
    LedgerError::Foreign { path: path.display().to_string(), why }
}

/// `user_version` as it stands in the file's first page, read without SQLite, which would touch the file.
fn schema_in_header(path: &Path) -> Result<i64, LedgerError> {
    let mut header = [0u8; 100];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut header));
    if read.is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Err(foreign(path, "it is no database file"));
    }
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    // A new file's application id may still be in the WAL only.
    if number(68) != crate::tx::APPLICATION_ID && number(68) != 0 {
        return Err(foreign(path, "it belongs to another program"));
    }
    Ok(i64::from(number(60)))
}
