//! The tables of Postgres.

use std::collections::BTreeSet;

use super::super::{Connection, DatabaseError};
use super::Listed;

/// The sum of all rows' hashes, in two halves: it does not depend on their order, and needs no memory.
pub(super) const DIGEST: &str = "coalesce(sum(('x' || substr(md5(r), 1, 16))::bit(64)::bigint::numeric), 0), \
     coalesce(sum(('x' || substr(md5(r), 17, 16))::bit(64)::bigint::numeric), 0)";

/// The text of a row as the server itself writes it: a cast of the agent's cannot come between, nor a column named `t`.
const ROW: &str = "pg_catalog.textin(pg_catalog.record_out(t.*))";

/// What our own questions are built on: every cast, and the functions, operators and types of the system's schema, each with
/// the transaction that wrote it.
const FOUNDATIONS: &str = "SELECT 'cast ' || oid || ' ' || xmin FROM pg_catalog.pg_cast \
     UNION ALL SELECT 'function ' || oid || ' ' || xmin FROM pg_catalog.pg_proc WHERE pronamespace = 11 \
     UNION ALL SELECT 'operator ' || oid || ' ' || xmin FROM pg_catalog.pg_operator WHERE oprnamespace = 11 \
     UNION ALL SELECT 'type ' || oid || ' ' || xmin FROM pg_catalog.pg_type WHERE typnamespace = 11";

/// All tables outside the system's schemas. Parts of a partitioned table count as that table.
const LIST: &str = "SELECT n.nspname, c.relname, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind::text, \
     coalesce(pg_total_relation_size(c.oid), 0), coalesce(s.n_live_tup, 0), \
     concat_ws('/', c.relfilenode, s.n_tup_ins, s.n_tup_upd, s.n_tup_del) \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid \
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' \
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%' \
     ORDER BY 1, 2";

/// What the server's own answers depend on.
pub(super) async fn foundations(connection: &mut Connection) -> Result<BTreeSet<String>, DatabaseError> {
    let rows = connection.texts(FOUNDATIONS).await?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// Lists all tables.
pub(super) async fn list(connection: &mut Connection) -> Result<Vec<Listed>, DatabaseError> {
    let rows = connection.texts(LIST).await?;
    Ok(rows.into_iter().filter_map(|row| listed(row.into_iter().flatten().collect())).collect())
}

fn listed(row: Vec<String>) -> Option<Listed> {
    let [schema, table, quoted, kind, size, estimate, statistics] = row.try_into().ok()?;
    // Children of a table are tables of their own, but its partitions are the table.
    let only = if kind == "p" { "" } else { "ONLY " };
    Some(Listed {
        name: format!("{schema}.{table}"),
        source: format!("{only}{quoted} AS t"),
        row: ROW.to_owned(),
        size: size.parse().unwrap_or(u64::MAX),
        estimate: estimate.parse().unwrap_or(0),
        statistics,
    })
}
