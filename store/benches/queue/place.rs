//! Databases that are filled with jobs that have ended.

use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use store::testing::TestDatabase;
use store::{Store, StoreError};
use tempfile::TempDir;

use crate::Failed;

/// Where rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

/// A database of its own, which is gone with this.
pub(crate) struct Place {
    folder: TempDir,
    postgres: Option<TestDatabase>,
}

impl Place {
    /// A new database; `None` when there is no server.
    pub(crate) async fn of(database: Database) -> Result<Option<Self>, Failed> {
        let postgres = match database {
            Database::Sqlite => None,
            Database::Postgres => match TestDatabase::new().await {
                None => return Ok(None),
                made => made,
            },
        };
        Ok(Some(Self { folder: tempfile::tempdir()?, postgres }))
    }

    pub(crate) async fn open(&self) -> Result<Store, StoreError> {
        match &self.postgres {
            None => Store::open(self.folder.path()).await,
            Some(database) => Store::connect(&database.url(), self.folder.path()).await,
        }
    }

    /// Writes jobs that have ended, a thousand in each experiment.
    pub(crate) async fn fill(&self, jobs: u64) -> Result<(), Failed> {
        match &self.postgres {
            None => fill_sqlite(&self.folder, jobs).await,
            Some(database) => fill_postgres(&database.url(), jobs).await,
        }
    }
}

async fn fill_sqlite(folder: &TempDir, jobs: u64) -> Result<(), Failed> {
    let options = SqliteConnectOptions::new().filename(folder.path().join("touchstone.db"));
    let mut raw = options.pragma("foreign_keys", "OFF").pragma("cache_size", "-200000").connect().await?;
    let numbers = format!("n (n) AS (SELECT 0 WHERE {jobs} > 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < {jobs})");
    for statement in FILL {
        let statement = statement.replace("HEX(", "printf('%08x', ");
        raw.execute(AssertSqlSafe(statement.replace("NUMBERS", &format!("RECURSIVE {numbers}")))).await?;
    }
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").await?;
    Ok(raw.close().await?)
}

async fn fill_postgres(url: &str, jobs: u64) -> Result<(), Failed> {
    let mut raw = PgConnection::connect(url).await?;
    // Rows are written without looking for those that they refer to.
    raw.execute("SET session_replication_role = replica").await?;
    let hex = "CREATE FUNCTION pg_temp.hex(n bigint) RETURNS text LANGUAGE sql AS $$ SELECT lpad(to_hex(n), 8, '0') $$";
    raw.execute(hex).await?;
    let numbers = format!("n (n) AS (SELECT generate_series(0::bigint, {jobs} - 1))");
    for statement in FILL {
        let statement = statement.replace("HEX(", "pg_temp.hex(");
        raw.execute(AssertSqlSafe(statement.replace("NUMBERS", &numbers))).await?;
    }
    // What the server does by itself, sooner or later.
    raw.execute("VACUUM ANALYZE").await?;
    Ok(raw.close().await?)
}

/// Rows that ended jobs leave, for each number `n`.
const FILL: [&str; 6] = [
    "WITH NUMBERS INSERT INTO experiments (id, spec_id, version, digest, source, seed, settings, created_at) \
     SELECT HEX(n / 1000) || '-0000-7000-8000-000000000000', 'ledger', 1, (SELECT digest FROM specs), 'ledger.yaml', 7, \
     '{}', 0 FROM n WHERE n % 1000 = 0",
    "WITH NUMBERS INSERT INTO runs (experiment, number, kind, digest, state, lane, total, ended, verdict, created_at, \
     ended_at) SELECT HEX(n / 1000) || '-0000-7000-8000-000000000000', 1, 'acted', (SELECT digest FROM specs), 'finished', \
     'shared', 1000, 1000, '\"pass\"', 0, 0 FROM n WHERE n % 1000 = 0",
    "WITH NUMBERS INSERT INTO scenarios (experiment, run, id, position, plan, status, composite, evidence_job, \
     evidence_attempt) SELECT HEX(n / 1000) || '-0000-7000-8000-000000000000', 1, 's-' || (n % 1000), n % 1000, \
     replace('0123456789', '5', '000000000000000000000000000000000000000000000000000000000000000000000000000000'), 'pass', \
     1, HEX(n) || '-0000-7000-8000-000000000001', 1 FROM n",
    "WITH NUMBERS INSERT INTO verdicts (experiment, run, scenario, position, name, description, weight, gate, outcome, \
     score, message, reason, details) SELECT HEX(n / 1000) || '-0000-7000-8000-000000000000', 1, 's-' || (n % 1000), 0, \
     'ledger', '', 1, true, 'passed', 1, '', '', 'null' FROM n",
    "WITH NUMBERS INSERT INTO jobs (id, experiment, run, scenario, state, lane, priority, ready_at, cpu_milli, memory, \
     epoch, failures, cancelled, worker) SELECT HEX(n) || '-0000-7000-8000-000000000001', \
     HEX(n / 1000) || '-0000-7000-8000-000000000000', 1, 's-' || (n % 1000), 'done', 'shared', 0, 0, 500, 1, 1, 0, false, \
     'w' FROM n",
    "WITH NUMBERS INSERT INTO attempts (job, number, worker, outcome, started_at, ended_at, digest, size, body) \
     SELECT HEX(n) || '-0000-7000-8000-000000000001', 1, 'w', 'judged', 0, 0, HEX(n), 100, HEX(n) || HEX(n) FROM n",
];
