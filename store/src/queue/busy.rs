//! Runs and specs at their limit of concurrent jobs.

use std::collections::HashMap;

use sea_query::{Cond, Expr, ExprTrait as _, Func, Query, SelectStatement};

use super::ClaimRequest;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::Lane;
use crate::number;
use crate::runs::RunState;
use crate::tables::{Experiments, Jobs, Runs};

/// Runs and specs at their limit.
#[derive(Debug, Default)]
pub(super) struct Busy {
    /// Runs: the experiment and the number.
    pub(super) runs: Vec<(String, i64)>,
    /// Specs: the owner and the id.
    pub(super) specs: Vec<(String, String)>,
}

row! {
    /// The running jobs of a run.
    RunningRow { experiment: String, run: i64, owner: String, spec_id: String, jobs: i64, at_once: Option<i64> }
}

/// Reads the runs and specs at their limit; `None` when no job at all may be taken.
pub(super) async fn busy(tx: &mut Tx, request: &ClaimRequest) -> Result<Option<Busy>, StoreError> {
    let running: Vec<RunningRow> = tx.fetch_all(&running(request.lane)).await?;
    let is_full = |jobs: i64, limit: Option<u32>| limit.is_some_and(|limit| jobs >= number::kept(limit));
    if is_full(running.iter().map(|row| row.jobs).sum(), request.limits.global) {
        return Ok(None);
    }
    let mut of_specs: HashMap<(String, String), i64> = HashMap::new();
    let mut busy = Busy::default();
    for row in running {
        *of_specs.entry((row.owner, row.spec_id)).or_default() += row.jobs;
        if row.at_once.is_some_and(|at_once| row.jobs >= at_once) {
            busy.runs.push((row.experiment, row.run));
        }
    }
    let full = of_specs.into_iter().filter(|(_, jobs)| is_full(*jobs, request.limits.per_spec));
    busy.specs = full.map(|(spec, _)| spec).collect();
    Ok(Some(busy))
}

/// Selects the running jobs of each run of a lane. They are few, however many jobs there are.
pub(super) fn running(lane: Lane) -> SelectStatement {
    let job = |column: Jobs| Expr::col((Jobs::Table, column));
    Query::select()
        .columns([(Jobs::Table, Jobs::Experiment), (Jobs::Table, Jobs::Run)])
        .columns([(Experiments::Table, Experiments::Owner), (Experiments::Table, Experiments::SpecId)])
        .expr_as(job(Jobs::Id).count(), "jobs")
        .expr_as(Func::min(job(Jobs::AtOnce)), "at_once")
        .from(Jobs::Table)
        .inner_join(Experiments::Table, job(Jobs::Experiment).equals((Experiments::Table, Experiments::Id)))
        .and_where(job(Jobs::State).eq("running"))
        .and_where(job(Jobs::Lane).eq(lane.to_string()))
        .group_by_columns([(Jobs::Table, Jobs::Experiment), (Jobs::Table, Jobs::Run)])
        .group_by_columns([(Experiments::Table, Experiments::Owner), (Experiments::Table, Experiments::SpecId)])
        .to_owned()
}

impl Busy {
    /// The experiments of the specs, if jobs of theirs can be waiting.
    pub(super) fn experiments(&self, lane: Lane) -> SelectStatement {
        let run = |column: Runs| Expr::col((Runs::Table, column));
        let experiment = |column: Experiments| Expr::col((Experiments::Table, column));
        let specs = self.specs.iter().fold(Cond::any(), |any, (owner, spec_id)| {
            let same = Cond::all()
                .add(experiment(Experiments::Owner).eq(owner.as_str()))
                .add(experiment(Experiments::SpecId).eq(spec_id.as_str()));
            any.add(same)
        });
        Query::select()
            .column((Runs::Table, Runs::Experiment))
            .from(Runs::Table)
            .inner_join(Experiments::Table, run(Runs::Experiment).equals((Experiments::Table, Experiments::Id)))
            .and_where(run(Runs::State).eq(RunState::Open.word()))
            .and_where(run(Runs::Lane).eq(lane.to_string()))
            .cond_where(specs)
            .to_owned()
    }
}
