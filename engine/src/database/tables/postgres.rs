//! The tables of Postgres.

use std::collections::BTreeSet;

use super::super::{Connection, DatabaseError};
use super::{Listed, Object};

/// The sum of all rows' hashes, in two halves: it does not depend on their order, and needs no memory.
pub(super) const DIGEST: &str = "coalesce(sum(('x' || substr(md5(r), 1, 16))::bit(64)::bigint::numeric), 0), \
     coalesce(sum(('x' || substr(md5(r), 17, 16))::bit(64)::bigint::numeric), 0)";

/// The text of a row as the server itself writes it: a cast of the agent's cannot come between, nor a column named `t`.
const ROW: &str = "pg_catalog.textin(pg_catalog.record_out(t.*))";

/// Query for the foundations of our own queries: every cast, and the functions, operators and types of the system's
/// schema, each with the transaction that wrote it.
const FOUNDATIONS: &str = "SELECT 'cast ' || oid || ' ' || xmin FROM pg_catalog.pg_cast \
     UNION ALL SELECT 'function ' || oid || ' ' || xmin FROM pg_catalog.pg_proc WHERE pronamespace = 11 \
     UNION ALL SELECT 'operator ' || oid || ' ' || xmin FROM pg_catalog.pg_operator WHERE oprnamespace = 11 \
     UNION ALL SELECT 'type ' || oid || ' ' || xmin FROM pg_catalog.pg_type WHERE typnamespace = 11";

/// Query for all tables outside the system's schemas. Parts of a partitioned table count as that table.
const LIST: &str = "SELECT n.nspname, c.relname, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind::text, \
     coalesce(pg_total_relation_size(c.oid), 0), coalesce(s.n_live_tup, 0), \
     concat_ws('/', c.relfilenode, s.n_tup_ins, s.n_tup_upd, s.n_tup_del) \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid \
     WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND c.relpersistence <> 't' \
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%' \
     ORDER BY 1, 2";

/// Queries for objects that can come between a query and the tables, or change its meaning: the kind, the name or that
/// of the table it belongs to, and columns that differ from one state to another.
const OBJECTS: [&str; 9] = [
    // A view is a rule for its table.
    "SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'rule' END, \
         concat(n.nspname, '.', c.relname), concat_ws(' ', r.oid, r.xmin, r.ev_enabled) \
         FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')",
    "SELECT 'foreign table', concat(n.nspname, '.', c.relname), concat_ws(' ', c.oid, f.xmin, s.xmin) \
         FROM pg_foreign_table f JOIN pg_class c ON c.oid = f.ftrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_foreign_server s ON s.oid = f.ftserver",
    "SELECT 'trigger', concat(n.nspname, '.', c.relname), concat_ws(' ', t.oid, t.xmin) \
         FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE NOT t.tgisinternal",
    "SELECT 'policy', concat(n.nspname, '.', c.relname), concat_ws(' ', p.oid, p.xmin, c.relrowsecurity, c.relforcerowsecurity) \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_policy p ON p.polrelid = c.oid \
         WHERE p.oid IS NOT NULL OR c.relrowsecurity OR c.relforcerowsecurity",
    "SELECT 'function', concat(n.nspname, '.', p.proname), concat_ws(' ', p.oid, p.xmin) \
         FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.oid <> 11 AND n.nspname NOT LIKE 'pg\\_temp%' \
     UNION ALL SELECT 'operator', concat(n.nspname, '.', o.oprname), concat_ws(' ', o.oid, o.xmin) \
         FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace WHERE n.oid <> 11",
    "SELECT 'setting', 'pg_catalog.pg_db_role_setting', concat_ws(' ', setdatabase, setrole, setconfig) FROM pg_db_role_setting",
    // The server's vacuuming is ended by us.
    "SELECT 'setting', 'pg_catalog.pg_settings', concat(name, '=', reset_val) FROM pg_settings \
         WHERE context <> 'internal' AND name <> 'autovacuum' AND name NOT LIKE 'transaction\\_%'",
    "SELECT 'definition', concat(n.nspname, '.', c.relname), string_agg(concat_ws(' ', a.attnum, a.attname, a.atttypid, \
         a.atttypmod, a.attnotnull, d.oid, d.xmin), ', ' ORDER BY a.attnum) \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid \
         LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
         WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' AND a.attnum > 0 \
         AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%' GROUP BY 1, 2",
    "SELECT 'inheritance', concat(n.nspname, '.', c.relname), concat_ws(' ', i.inhrelid, i.inhseqno) \
         FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p')",
];

/// Lists objects that can come between a query and the tables.
pub(super) async fn objects(connection: &mut Connection) -> Result<BTreeSet<Object>, DatabaseError> {
    let mut objects = BTreeSet::new();
    for sql in OBJECTS {
        objects.extend(connection.texts(sql).await?.into_iter().filter_map(Object::of));
    }
    Ok(objects)
}

/// Lists the dependencies of the server's own answers.
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
    let only = if kind == "r" { "ONLY " } else { "" };
    Some(Listed {
        name: format!("{schema}.{table}"),
        source: format!("{only}{quoted} AS t"),
        row: ROW.to_owned(),
        size: size.parse().unwrap_or(u64::MAX),
        estimate: estimate.parse().unwrap_or(0),
        statistics,
    })
}
