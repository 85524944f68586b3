//! The tables of MySQL and MariaDB.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Connection, DatabaseError};
use super::{Listed, Object};

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

/// Queries for objects that can come between a query and the tables, or change its meaning: the kind, the name or that
/// of the table it belongs to, and columns that differ from one state to another.
const OBJECTS: [&str; 6] = [
    "SELECT 'view', concat(table_schema, '.', table_name), definer, security_type, check_option, sha2(view_definition, 256) \
         FROM information_schema.views WHERE table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')",
    "SELECT lower(routine_type), concat(routine_schema, '.', routine_name), definer, security_type, sql_mode, created, \
         last_altered, sha2(routine_definition, 256) FROM information_schema.routines \
         WHERE routine_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')",
    "SELECT 'trigger', concat(event_object_schema, '.', event_object_table), trigger_name, action_timing, event_manipulation, \
         definer, sql_mode, sha2(action_statement, 256) FROM information_schema.triggers WHERE event_object_schema <> 'sys'",
    "SELECT 'event', concat(event_schema, '.', event_name), definer, status, created, last_altered, \
         sha2(event_definition, 256) FROM information_schema.events",
    "SELECT 'definition', concat(c.table_schema, '.', c.table_name), sha2(group_concat(concat_ws(' ', c.column_name, \
         c.column_type, c.is_nullable, coalesce(c.column_default, 'NULL'), c.extra, c.generation_expression) \
         ORDER BY c.ordinal_position), 256) FROM information_schema.columns c JOIN information_schema.tables t \
         ON t.table_schema = c.table_schema AND t.table_name = c.table_name WHERE t.table_type = 'BASE TABLE' \
         AND c.table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') \
         GROUP BY c.table_schema, c.table_name",
    "SHOW GLOBAL VARIABLES WHERE variable_name IN ('character_set_server', 'collation_server', 'default_week_format', \
         'div_precision_increment', 'init_connect', 'init_file', 'lc_time_names', 'max_join_size', 'old_mode', \
         'sql_auto_is_null', 'sql_mode', 'sql_select_limit', 'time_zone', 'transaction_isolation', 'tx_isolation')",
];

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

/// Lists objects that can come between a query and the tables.
pub(super) async fn objects(connection: &mut Connection) -> Result<BTreeSet<Object>, DatabaseError> {
    let mut objects = BTreeSet::new();
    for sql in OBJECTS {
        let rows = connection.texts(sql).await?.into_iter();
        objects.extend(rows.map(|row| if row.len() == 2 { setting(row) } else { row }).filter_map(Object::of));
    }
    Ok(objects)
}

/// A variable of the server, as an object.
fn setting(row: Vec<Option<String>>) -> Vec<Option<String>> {
    ["setting", "mysql.global_variables"].map(|text| Some(text.to_owned())).into_iter().chain(row).collect()
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
