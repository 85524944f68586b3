//! The tables of MySQL and MariaDB.

use std::collections::BTreeMap;

use super::super::{Connection, DatabaseError};
use super::Listed;

/// The sum of all rows' hashes, in two parts: it does not depend on their order, and needs no memory.
pub(super) const DIGEST: &str = "coalesce(sum(cast(conv(substr(sha2(r, 256), 1, 15), 16, 10) AS unsigned)), 0), \
     coalesce(sum(cast(conv(substr(sha2(r, 256), 16, 15), 16, 10) AS unsigned)), 0)";

const LIST: &str = "SELECT table_schema, table_name, coalesce(data_length, 0), coalesce(table_rows, 0), \
     concat_ws('/', create_time, update_time, auto_increment) FROM information_schema.tables \
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') \
     ORDER BY 1, 2";

const COLUMNS: &str = "SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns \
     WHERE table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') \
     ORDER BY table_schema, table_name, ordinal_position";

/// Types whose values are no text.
const BYTES: [&str; 16] = [
    "binary",
    "varbinary",
    "tinyblob",
    "blob",
    "mediumblob",
    "longblob",
    "bit",
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geomcollection",
    "geometrycollection",
];

/// Lists all tables.
pub(super) async fn list(connection: &mut Connection) -> Result<Vec<Listed>, DatabaseError> {
    let mut columns: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for row in connection.texts(COLUMNS).await? {
        let Ok([schema, table, column, kind]) = <[String; 4]>::try_from(row.into_iter().flatten().collect::<Vec<_>>())
        else {
            continue;
        };
        columns.entry((schema, table)).or_default().push(value(&column, &kind));
    }
    let rows = connection.texts(LIST).await?;
    let rows = rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>());
    Ok(rows.filter_map(|row| listed(row, &columns)).collect())
}

fn value(column: &str, kind: &str) -> String {
    let is_bytes = BYTES.contains(&kind.to_lowercase().as_str());
    let function = if is_bytes { "hex" } else { "quote" };
    // To `quote`, nothing is the word NULL; `concat_ws` would pass over it.
    format!("coalesce({function}({}), 'NULL')", quoted(column))
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn listed(row: Vec<String>, columns: &BTreeMap<(String, String), Vec<String>>) -> Option<Listed> {
    let [schema, table, size, estimate, statistics] = row.try_into().ok()?;
    let source = format!("{}.{}", quoted(&schema), quoted(&table));
    let name = format!("{schema}.{table}");
    let values = columns.get(&(schema, table))?;
    Some(Listed {
        name,
        source,
        row: format!("concat_ws(', ', {})", values.join(", ")),
        size: size.parse().unwrap_or(u64::MAX),
        estimate: estimate.parse().unwrap_or(0),
        statistics,
    })
}
