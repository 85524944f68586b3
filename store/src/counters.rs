//! Numbers that are given in order, each once.

use sea_query::{Expr, ExprTrait as _, OnConflict, Query};

use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::tables::Counters;

row! {
    /// The last number that was given.
    LastRow { last: i64 }
}

/// The next number of something with this name, plus `step` of 0 to look only. Nobody else gets one before the end of
/// the transaction.
pub(crate) async fn count(tx: &mut Tx, kind: &str, owner: &str, name: &str, step: i64) -> Result<i64, StoreError> {
    let last = Expr::col((Counters::Table, Counters::Last)).add(step);
    let insert = Query::insert()
        .into_table(Counters::Table)
        .columns([Counters::Kind, Counters::Owner, Counters::Name, Counters::Last])
        .values_panic([kind.into(), owner.into(), name.into(), step.into()])
        .on_conflict(
            OnConflict::columns([Counters::Kind, Counters::Owner, Counters::Name])
                .value(Counters::Last, last)
                .to_owned(),
        )
        .returning(Query::returning().columns([Counters::Last]))
        .to_owned();
    let missing = || StoreError::Damaged(format!("`{name}` has no counter"));
    Ok(tx.fetch_optional::<LastRow>(&insert).await?.ok_or_else(missing)?.last)
}
