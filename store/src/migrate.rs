//! The tables, made and brought up to date when the database is opened.

use std::path::Path;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqlitePool;

use crate::error::StoreError;

/// The migrations of `migrations/sqlite`: number, name, text.
const SQLITE: [(i64, &str, &str); 1] = [(1, "first", include_str!("../../migrations/sqlite/0001_first.sql"))];

/// Brings a SQLite database up to date.
pub(crate) async fn sqlite(pool: &SqlitePool, path: &Path) -> Result<(), StoreError> {
    let migration = |(number, name, text): (i64, &'static str, &'static str)| {
        Migration::new(number, name.into(), MigrationType::Simple, SqlStr::from_static(text), false)
    };
    let migrator = Migrator::with_migrations(SQLITE.into_iter().map(migration).collect());
    let unusable = |reason: String| StoreError::Unusable { path: path.to_owned(), reason };
    // Nobody else looks or writes before it is done: of several processes that open a new database, one makes it.
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.map_err(|error| unusable(error.to_string()))?;
    // `run` does the same, but its future cannot be sent to another thread.
    migrator.run_direct(None, &mut *tx, false).await.map_err(|error| unusable(error.to_string()))?;
    tx.commit().await.map_err(|error| unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::SQLITE;

    #[test]
    fn every_file_is_a_migration() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations/sqlite");
        let mut files: Vec<_> = fs::read_dir(folder)
            .expect("migrations")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let known: Vec<_> = SQLITE.iter().map(|(number, name, _)| format!("{number:04}_{name}.sql")).collect();
        assert_eq!(files, known);
    }
}
