//! Writing down what agents did.

use sea_query::Query;

use super::{COLUMNS, NewTrace};
use crate::Store;
use crate::db::Tx;
use crate::error::StoreError;
use crate::tables::Traces;
use crate::time::millis;
use crate::{json, number};

/// The number of rows written with one statement.
const AT_ONCE: usize = 500;

impl Store {
    /// Writes down what was done, all of it or nothing.
    pub async fn add_traces(&self, traces: &[NewTrace]) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        insert_traces(&mut tx, traces).await?;
        tx.commit().await
    }
}

/// Writes down what was done.
pub(crate) async fn insert_traces(tx: &mut Tx, traces: &[NewTrace]) -> Result<(), StoreError> {
    for chunk in traces.chunks(AT_ONCE) {
        let mut insert = Query::insert().into_table(Traces::Table).columns(COLUMNS).to_owned();
        for trace in chunk {
            insert.values_panic([
                trace.owner.as_str().into(),
                trace.run.map(|run| run.experiment.to_string()).into(),
                trace.run.map(|run| number::kept(run.number)).into(),
                trace.scenario.clone().into(),
                trace.sandbox.clone().into(),
                trace.agent.as_str().into(),
                trace.self_reported.into(),
                millis(trace.at).into(),
                trace.event_type.as_str().into(),
                trace.tool.as_str().into(),
                trace.phase.as_str().into(),
                trace.status.as_str().into(),
                trace.span_id.as_str().into(),
                trace.parent_span_id.as_str().into(),
                trace.root_span_id.as_str().into(),
                trace.duration_ms.map(number::kept).into(),
                json::text(&trace.body)?.into(),
            ]);
        }
        tx.execute(&insert).await?;
    }
    Ok(())
}
