//! Both databases have the same tables.

use std::collections::BTreeMap;

use crate::harness::World;

/// Of each column of each table: its type, and whether it may have no value.
type Columns = BTreeMap<(String, String), (String, bool)>;

async fn of_sqlite() -> Columns {
    let world = World::sqlite().await;
    let select = "SELECT t.name, c.name, c.type, c.\"notnull\" = 0 AND c.pk = 0 FROM sqlite_master t \
                  JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'";
    let rows: Vec<(String, String, String, bool)> =
        sqlx::query_as(select).fetch_all(&mut world.file().await).await.expect("columns");
    let known = |declared: String| match declared.as_str() {
        // The only name for a number that counts by itself.
        "INTEGER" => "BIGINT".to_owned(),
        _ => declared,
    };
    rows.into_iter().map(|(table, column, kind, nullable)| ((table, column), (known(kind), nullable))).collect()
}

async fn of_postgres(world: &World) -> Columns {
    let select = "SELECT table_name::text, column_name::text, data_type::text, is_nullable = 'YES' \
                  FROM information_schema.columns WHERE table_schema = 'public'";
    let rows: Vec<(String, String, String, bool)> =
        sqlx::query_as(select).fetch_all(&mut world.server().await).await.expect("columns");
    let known = |declared: String| match declared.as_str() {
        "bytea" => "BLOB".to_owned(),
        _ => declared.to_uppercase(),
    };
    rows.into_iter().map(|(table, column, kind, nullable)| ((table, column), (known(kind), nullable))).collect()
}

/// Without what sqlx keeps for itself.
fn ours(mut columns: Columns) -> Columns {
    columns.retain(|(table, _), _| table != "_sqlx_migrations");
    columns
}

#[tokio::test]
async fn both_have_the_same_tables_and_columns() {
    let Some(world) = World::postgres().await else { return };
    let (sqlite, postgres) = (ours(of_sqlite().await), ours(of_postgres(&world).await));
    assert!(sqlite.len() > 100, "{}", sqlite.len());
    for (column, declared) in &sqlite {
        assert_eq!(postgres.get(column), Some(declared), "{column:?} in Postgres");
    }
    assert_eq!(sqlite.len(), postgres.len(), "{postgres:?}");
}

#[tokio::test]
async fn every_text_is_compared_byte_by_byte() {
    let Some(world) = World::postgres().await else { return };
    let select = "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public' \
                  AND table_name <> '_sqlx_migrations' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'";
    let others: Vec<String> = sqlx::query_scalar(select).fetch_all(&mut world.server().await).await.expect("columns");
    assert_eq!(others, [""; 0], "a column without COLLATE \"C\" cannot be compared with one that has it");
}
