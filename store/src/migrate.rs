//! The tables, made and brought up to date when the database is opened.

use std::path::Path;

use sqlx::SqlStr;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqlitePool;
use sqlx::{Connection as _, Executor as _};

use crate::error::StoreError;

/// A migration: number, name, text.
pub(crate) type Step = (i64, &'static str, &'static str);

macro_rules! steps {
    ($dialect:literal: $($number:literal $name:literal $file:literal),+ $(,)?) => {
        &[$(($number, $name, include_str!(concat!("../../migrations/", $dialect, "/", $file)))),+]
    };
}

/// The migrations of `migrations/sqlite`.
const SQLITE: &[Step] = steps! { "sqlite": 1 "first" "0001_first.sql", 2 "server" "0002_server.sql", 3 "history" "0003_history.sql", 4 "caveats" "0004_caveats.sql", 5 "contracts" "0005_contracts.sql", 6 "resilience" "0006_resilience.sql", 7 "outcomes" "0007_outcomes.sql", 8 "approvals" "0008_approvals.sql", 9 "baselines" "0009_baselines.sql", 10 "certificates" "0010_certificates.sql", 11 "labels" "0011_labels.sql", 12 "contract_sessions" "0012_contract_sessions.sql" };
/// The migrations of `migrations/postgres`: the same numbers and names.
pub(crate) const POSTGRES: &[Step] = steps! { "postgres": 1 "first" "0001_first.sql", 2 "server" "0002_server.sql", 3 "history" "0003_history.sql", 4 "caveats" "0004_caveats.sql", 5 "contracts" "0005_contracts.sql", 6 "resilience" "0006_resilience.sql", 7 "outcomes" "0007_outcomes.sql", 8 "approvals" "0008_approvals.sql", 9 "baselines" "0009_baselines.sql", 10 "certificates" "0010_certificates.sql", 11 "labels" "0011_labels.sql", 12 "contract_sessions" "0012_contract_sessions.sql" };

/// The reason why a database was not brought up to date.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrationError {
    /// The transaction around the migrations failed.
    #[error(transparent)]
    Transaction(#[from] sqlx::Error),
    /// A migration failed, or the database has others than we know.
    #[error(transparent)]
    Step(#[from] MigrateError),
}

/// Brings a SQLite database up to date.
pub(crate) async fn sqlite(pool: &SqlitePool, path: &Path) -> Result<(), StoreError> {
    let unusable = |error: MigrationError| StoreError::Unusable { path: path.to_owned(), reason: error.to_string() };
    migrate_sqlite(pool).await.map_err(unusable)
}

async fn migrate_sqlite(pool: &SqlitePool) -> Result<(), MigrationError> {
    // Nobody else looks or writes before it is done: of several processes that open a new database, one makes it.
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    run(SQLITE, &mut *tx).await?;
    Ok(tx.commit().await?)
}

/// Brings a Postgres database up to date.
pub(crate) async fn postgres(connection: &mut PgConnection) -> Result<(), MigrationError> {
    let mut tx = connection.begin().await?;
    // Of several processes that open a new database, one makes it, and the others wait for it.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('touchstone migrations', 0))";
    tx.execute(lock).await?;
    run(POSTGRES, &mut *tx).await?;
    Ok(tx.commit().await?)
}

async fn run(steps: &[Step], connection: &mut impl Migrate) -> Result<(), MigrateError> {
    let migration = |&(number, name, text): &Step| {
        Migration::new(number, name.into(), MigrationType::Simple, SqlStr::from_static(text), false)
    };
    let mut migrator = Migrator::with_migrations(steps.iter().map(migration).collect());
    // The caller's transaction is the lock.
    migrator.set_locking(false);
    // `run` does the same, but its future cannot be sent to another thread.
    migrator.run_direct(None, connection, false).await
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use jiff::Timestamp;
    use sqlx::postgres::PgConnection;
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
    use uuid::Uuid;

    use super::{POSTGRES, SQLITE, Step, run};
    use crate::{ExperimentId, SpecContent, Store};

    #[test]
    fn every_file_is_a_migration() {
        for (dialect, steps) in [("sqlite", SQLITE), ("postgres", POSTGRES)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations").join(dialect);
            let mut files: Vec<_> = fs::read_dir(folder)
                .expect("migrations")
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            files.sort();
            let known: Vec<_> = steps.iter().map(|(number, name, _)| format!("{number:04}_{name}.sql")).collect();
            assert_eq!(files, known, "{dialect}");
        }
        let names = |steps: &[Step]| steps.iter().map(|(number, name, _)| (*number, *name)).collect::<Vec<_>>();
        assert_eq!(names(SQLITE), names(POSTGRES), "every dialect has the same numbers and names");
    }

    /// The rows of a database of the first version.
    const OLD: &str = "
        INSERT INTO specs VALUES ('d1', 'a: 1', 5), ('d2', 'a: 2', 6);
        INSERT INTO spec_versions VALUES ('ledger', 1, 'd1', 5), ('ledger', 2, 'd2', 6);
        INSERT INTO experiments VALUES
            ('00000000-0000-0000-0000-000000000001', 'ledger', 1, 'd1', 'ledger.yaml', 7, '{}', 5);";

    /// Checks the database after migration.
    async fn brought_up_to_date(store: Store) {
        let newest = store.spec_version("", "ledger").await.expect("read").expect("a version");
        assert_eq!((newest.version.version, newest.version.digest.as_str()), (2, "d2"));
        let experiment = store.experiment(ExperimentId(Uuid::from_u128(1))).await.expect("the experiment");
        assert_eq!((experiment.owner.as_str(), experiment.name.as_str(), experiment.pinned), ("", "", false));
        let content = SpecContent { text: "a: 3".to_owned(), files: Vec::new() };
        let next = store.keep_spec("", "ledger", &content, Timestamp::UNIX_EPOCH).await.expect("kept");
        assert_eq!(next.version, 3, "it goes on counting");
    }

    /// The sixth version kept the outcomes of a contract only with its score.
    const SCORED: &str = r#"
        INSERT INTO specs VALUES ('d1', 'a: 1', 5);
        INSERT INTO experiments (id, spec_id, version, digest, source, seed, settings, created_at) VALUES
            ('00000000-0000-0000-0000-000000000001', 'ledger', 1, 'd1', 'ledger.yaml', 7, '{}', 5);
        INSERT INTO runs (experiment, number, kind, digest, state, lane, total, ended, created_at, score) VALUES
            ('00000000-0000-0000-0000-000000000001', 1, 'first', 'd1', 'finished', '', 1, 1, 5, '{"total": 1}'),
            ('00000000-0000-0000-0000-000000000001', 2, 'again', 'd1', 'finished', '', 1, 1, 6, '{"contract": {"outcomes":
                [{"outcome": "recovered"}, {"outcome": "corrupted"}, {"outcome": "recovered"}]}}'),
            ('00000000-0000-0000-0000-000000000001', 3, 'again', 'd1', 'finished', '', 1, 1, 7, '{"contract": {"outcomes": []}}')"#;
    const OUTCOMES: &str = "SELECT recovered, degraded, fabricated, corrupted FROM runs ORDER BY number";
    type CountRow = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);
    const COUNTED: [CountRow; 3] =
        [(None, None, None, None), (Some(2), Some(0), Some(0), Some(1)), (Some(0), Some(0), Some(0), Some(0))];

    #[tokio::test]
    async fn outcomes_of_kept_scores_are_counted_in_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteConnectOptions::new().filename(folder.path().join("touchstone.db")).create_if_missing(true);
        let mut file = options.connect().await.expect("a file");
        run(&SQLITE[..6], &mut file).await.expect("the sixth version");
        file.execute(SCORED).await.expect("filled");
        run(SQLITE, &mut file).await.expect("up to date");
        let counted: Vec<CountRow> = sqlx::query_as(OUTCOMES).fetch_all(&mut file).await.expect("outcomes");
        assert_eq!(counted, COUNTED);
    }

    #[cfg(feature = "testing")]
    #[tokio::test]
    async fn outcomes_of_kept_scores_are_counted_on_a_server() {
        let Some(database) = crate::testing::TestDatabase::empty().await else { return };
        let mut server = PgConnection::connect(&database.url()).await.expect("a server");
        run(&POSTGRES[..6], &mut server).await.expect("the sixth version");
        server.execute(SCORED).await.expect("filled");
        run(POSTGRES, &mut server).await.expect("up to date");
        let counted: Vec<CountRow> = sqlx::query_as(OUTCOMES).fetch_all(&mut server).await.expect("outcomes");
        assert_eq!(counted, COUNTED);
    }

    #[tokio::test]
    async fn a_file_of_the_first_version_is_brought_up_to_date() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteConnectOptions::new().filename(folder.path().join("touchstone.db")).create_if_missing(true);
        let mut file = options.connect().await.expect("a file");
        run(&SQLITE[..1], &mut file).await.expect("the first version");
        file.execute(OLD).await.expect("filled");
        file.close().await.expect("closed");
        brought_up_to_date(Store::open(folder.path()).await.expect("a store")).await;
    }

    #[cfg(feature = "testing")]
    #[tokio::test]
    async fn a_server_of_the_first_version_is_brought_up_to_date() {
        let Some(database) = crate::testing::TestDatabase::empty().await else { return };
        let mut server = PgConnection::connect(&database.url()).await.expect("a server");
        run(&POSTGRES[..1], &mut server).await.expect("the first version");
        server.execute(OLD).await.expect("filled");
        server.close().await.expect("closed");
        let folder = tempfile::tempdir().expect("a folder");
        brought_up_to_date(Store::connect(&database.url(), folder.path()).await.expect("a store")).await;
    }
}
