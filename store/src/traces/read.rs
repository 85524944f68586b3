//! Finding what agents did.

use sea_query::{Cond, Expr, ExprTrait as _, Order, Query, SelectStatement};

use super::{COLUMNS, NewTrace, StoredTrace, TraceFilter};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::Traces;
use crate::time::{millis, timestamp};
use crate::{json, number};

row! {
    /// A trace.
    TraceRow {
        number: i64,
        owner: String,
        experiment: Option<String>,
        run: Option<i64>,
        scenario: Option<String>,
        sandbox: Option<String>,
        agent: String,
        self_reported: bool,
        at: i64,
        event_type: String,
        tool: String,
        phase: String,
        status: String,
        span_id: String,
        parent_span_id: String,
        root_span_id: String,
        duration_ms: Option<i64>,
        body: String,
    }
}

impl TraceRow {
    fn read(self) -> Result<StoredTrace, StoreError> {
        let run = match (self.experiment, self.run) {
            (Some(experiment), Some(run)) => {
                Some(RunId { experiment: experiment.parse().map_err(StoreError::damaged)?, number: number::read(run)? })
            }
            _ => None,
        };
        let trace = NewTrace {
            owner: self.owner,
            run,
            scenario: self.scenario,
            sandbox: self.sandbox,
            agent: self.agent,
            self_reported: self.self_reported,
            at: timestamp(self.at)?,
            event_type: self.event_type,
            tool: self.tool,
            phase: self.phase,
            status: self.status,
            span_id: self.span_id,
            parent_span_id: self.parent_span_id,
            root_span_id: self.root_span_id,
            duration_ms: self.duration_ms.map(number::read).transpose()?,
            body: json::read(&self.body)?,
        };
        Ok(StoredTrace { number: number::read(self.number)?, trace })
    }
}

impl TraceFilter<'_> {
    fn condition(&self) -> Cond {
        let text = |column: Traces, wanted: Option<&str>| wanted.map(|wanted| Expr::col(column).eq(wanted));
        let run = self.run.map(|run| Expr::col(Traces::Run).eq(number::kept(run.number)));
        let experiment = self.run.map(|run| run.experiment).or(self.experiment);
        Cond::all()
            .add_option(text(Traces::Owner, self.owner))
            .add_option(experiment.map(|id| Expr::col(Traces::Experiment).eq(id.to_string())))
            .add_option(run)
            .add_option(text(Traces::Scenario, self.scenario))
            .add_option(text(Traces::Sandbox, self.sandbox))
            .add_option(text(Traces::Agent, self.agent))
            .add_option(text(Traces::EventType, self.event_type))
            .add_option(text(Traces::Tool, self.tool))
            .add_option(self.since.map(|since| Expr::col(Traces::At).gte(millis(since))))
            .add_option(self.trace_id.map(|id| Expr::col(Traces::Number).eq(number::kept(id))))
            .add_option(text(Traces::SpanId, self.span_id))
            .add_option(text(Traces::ParentSpanId, self.parent_span_id))
            .add_option(text(Traces::RootSpanId, self.root_span_id))
    }
}

impl Store {
    /// Reads at most `most` traces after the one with this number, by number.
    pub async fn traces(
        &self,
        filter: &TraceFilter<'_>,
        after: Option<u64>,
        most: u64,
    ) -> Result<Vec<StoredTrace>, StoreError> {
        let rows: Vec<TraceRow> = self.db.fetch_all(&wanted(filter, after, most)).await?;
        rows.into_iter().map(TraceRow::read).collect()
    }
}

/// Selects a page of the list.
fn wanted(filter: &TraceFilter<'_>, after: Option<u64>, most: u64) -> SelectStatement {
    let number = |after| Expr::value(number::kept(after));
    let (order, after) = match (filter.newest_first, after) {
        (false, after) => (Order::Asc, after.map(|after| Expr::col(Traces::Number).gt(number(after)))),
        (true, after) => (Order::Desc, after.map(|after| Expr::col(Traces::Number).lt(number(after)))),
    };
    Query::select()
        .column(Traces::Number)
        .columns(COLUMNS)
        .from(Traces::Table)
        .cond_where(filter.condition())
        .and_where_option(after)
        .order_by(Traces::Number, order)
        .limit(number::limit(most))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use sea_query::SqliteQueryBuilder;
    use uuid::Uuid;

    use super::{TraceFilter, wanted};
    use crate::db::plan;
    use crate::ids::ExperimentId;

    #[tokio::test]
    async fn a_part_of_the_list_is_read_in_the_order_of_an_index() {
        let any = TraceFilter::default;
        let of_owner = TraceFilter { owner: Some("ann"), ..any() };
        for (filter, index) in [
            (any(), "INTEGER PRIMARY KEY"),
            (of_owner, "traces_owner"),
            (TraceFilter { newest_first: true, tool: Some("t"), ..of_owner }, "traces_owner"),
            (TraceFilter { experiment: Some(ExperimentId(Uuid::nil())), ..any() }, "traces_experiment"),
            (TraceFilter { sandbox: Some("sb-1"), ..any() }, "traces_sandbox"),
            (TraceFilter { span_id: Some("s"), ..any() }, "traces_span"),
            (TraceFilter { parent_span_id: Some("s"), ..any() }, "traces_parent"),
            (TraceFilter { root_span_id: Some("s"), ..any() }, "traces_root"),
        ] {
            let plan = plan(wanted(&filter, Some(7), 10).to_string(SqliteQueryBuilder)).await;
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
        }
    }
}
