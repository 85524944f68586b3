//! Reading what judging said.

use std::collections::HashMap;

use scenario::evidence::Usage;
use scenario::plan::Scenario;
use scenario::result::{InvariantResult, RowStatus, ScenarioError, ScenarioResult};
use scenario::verdict::{ErrorKind, Outcome, Verdict};
use sea_query::{Cond, Expr, ExprTrait as _, Order, Query, SelectStatement};
use serde::de::DeserializeOwned;

use super::{FoundScenario, StoredScenario, unword};
use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::{Scenarios, Verdicts};
use crate::time::timestamp;
use crate::{json, number};

row! {
    /// A scenario.
    ScenarioRow {
        experiment: String,
        run: i64,
        id: String,
        position: i64,
        plan: String,
        status: Option<String>,
        composite: Option<f64>,
        wall_ms: Option<i64>,
        exit_code: Option<i64>,
        error_kind: Option<String>,
        error_message: Option<String>,
        sandbox: Option<String>,
        forbidden: Option<String>,
        limits: Option<String>,
        offences: Option<String>,
        notes: Option<String>,
        caveats: Option<String>,
        faults_fired: Option<i64>,
        replay: Option<String>,
        ran_in: Option<String>,
        tool_calls: Option<i64>,
        tool_errors: Option<i64>,
        model: Option<String>,
        calls: Option<i64>,
        input_tokens: Option<i64>,
        output_tokens: Option<i64>,
        cache_read_tokens: Option<i64>,
        cost_usd: Option<f64>,
        evidence_job: Option<String>,
        evidence_attempt: Option<i64>,
        ended_at: Option<i64>,
    }
}

row! {
    /// A verdict.
    VerdictRow {
        experiment: String,
        run: i64,
        scenario: String,
        name: String,
        description: String,
        weight: f64,
        gate: bool,
        outcome: String,
        error_kind: Option<String>,
        score: f64,
        message: String,
        reason: String,
        details: String,
    }
}

impl Store {
    /// All scenarios of a run, in the order of the plan.
    pub async fn scenarios(&self, run: RunId) -> Result<Vec<StoredScenario>, StoreError> {
        let mut snapshot = self.db.snapshot().await?;
        read_all(&mut snapshot, run).await
    }

    /// Some scenarios of a run, in the order of the plan: from this place in it, at most so many.
    pub async fn scenarios_from(&self, run: RunId, place: u64, most: u64) -> Result<Vec<StoredScenario>, StoreError> {
        let mut snapshot = self.db.snapshot().await?;
        let mut select = scenarios(run);
        select.and_where(Expr::col(Scenarios::Position).gte(number::kept(place))).limit(number::limit(most));
        Ok(read_found(&mut snapshot, &select).await?.into_iter().map(|found| found.stored).collect())
    }

    /// Some scenarios of a run without a result, in the order of the plan: after so many of them, at most so many.
    pub async fn scenarios_without_result(
        &self,
        run: RunId,
        skipped: u64,
        most: u64,
    ) -> Result<Vec<StoredScenario>, StoreError> {
        let mut snapshot = self.db.snapshot().await?;
        let mut select = scenarios(run);
        select
            .and_where(Expr::col(Scenarios::Status).is_null())
            .offset(number::limit(skipped))
            .limit(number::limit(most));
        Ok(read_found(&mut snapshot, &select).await?.into_iter().map(|found| found.stored).collect())
    }

    /// The scenarios of a run with these ids, in the order of the plan.
    pub async fn scenarios_named<'a>(
        &self,
        run: RunId,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<StoredScenario>, StoreError> {
        let mut snapshot = self.db.snapshot().await?;
        let mut select = scenarios(run);
        select.and_where(Expr::col(Scenarios::Id).is_in(ids));
        Ok(read_found(&mut snapshot, &select).await?.into_iter().map(|found| found.stored).collect())
    }

    /// One scenario of a run.
    pub async fn scenario(&self, run: RunId, id: &str) -> Result<Option<StoredScenario>, StoreError> {
        let mut snapshot = self.db.snapshot().await?;
        let select = scenarios(run).and_where(Expr::col(Scenarios::Id).eq(id)).to_owned();
        Ok(read_found(&mut snapshot, &select).await?.pop().map(|found| found.stored))
    }
}

/// The results of a run that are there, in the order of the plan.
pub(crate) async fn read_in(tx: &mut Tx, run: RunId) -> Result<Vec<ScenarioResult>, StoreError> {
    Ok(read_all(tx, run).await?.into_iter().filter_map(|stored| stored.result).collect())
}

async fn read_all(tx: &mut Tx, run: RunId) -> Result<Vec<StoredScenario>, StoreError> {
    let rows = tx.fetch_all(&scenarios(run)).await?;
    let verdicts = tx.fetch_all(&verdicts(of_run(run))).await?;
    Ok(assemble(rows, verdicts)?.into_iter().map(|found| found.stored).collect())
}

/// The scenarios that a query finds, of whatever runs, in its order.
pub(super) async fn read_found(tx: &mut Tx, select: &SelectStatement) -> Result<Vec<FoundScenario>, StoreError> {
    let rows: Vec<ScenarioRow> = tx.fetch_all(select).await?;
    let mut runs: HashMap<(&str, i64), Vec<&str>> = HashMap::new();
    for row in &rows {
        runs.entry((&row.experiment, row.run)).or_default().push(&row.id);
    }
    let of_run = |((experiment, run), ids): ((&str, i64), Vec<&str>)| {
        Cond::all()
            .add(Expr::col(Verdicts::Experiment).eq(experiment))
            .add(Expr::col(Verdicts::Run).eq(run))
            .add(Expr::col(Verdicts::Scenario).is_in(ids))
    };
    // Without any, the condition would hold for all.
    let verdicts = match runs.is_empty() {
        true => Vec::new(),
        false => tx.fetch_all(&verdicts(runs.into_iter().map(of_run).fold(Cond::any(), Cond::add))).await?,
    };
    assemble(rows, verdicts)
}

fn assemble(rows: Vec<ScenarioRow>, verdicts: Vec<VerdictRow>) -> Result<Vec<FoundScenario>, StoreError> {
    let mut by_scenario: HashMap<(String, i64, String), Vec<InvariantResult>> = HashMap::new();
    for row in verdicts {
        let of = (row.experiment.clone(), row.run, row.scenario.clone());
        by_scenario.entry(of).or_default().push(row.read()?);
    }
    rows.into_iter()
        .map(|row| {
            let of = (row.experiment.clone(), row.run, row.id.clone());
            let invariants = by_scenario.remove(&of).unwrap_or_default();
            let experiment = row.experiment.parse().map_err(StoreError::damaged)?;
            Ok(FoundScenario {
                run: RunId { experiment, number: number::read(row.run)? },
                position: number::read(row.position)?,
                ended_at: row.ended_at.map(timestamp).transpose()?,
                stored: row.read(invariants)?,
            })
        })
        .collect()
}

impl ScenarioRow {
    fn read(self, invariants: Vec<InvariantResult>) -> Result<StoredScenario, StoreError> {
        let source = match (&self.evidence_job, self.evidence_attempt) {
            (Some(job), Some(attempt)) => Some((job.parse().map_err(StoreError::damaged)?, number::read(attempt)?)),
            _ => None,
        };
        let scenario: Scenario = json::read(&self.plan)?;
        let result = match self.status.as_deref() {
            Some(status) => Some(self.result(&scenario, unword(status)?, invariants)?),
            None => None,
        };
        Ok(StoredScenario { scenario, result, source })
    }

    fn result(
        &self,
        scenario: &Scenario,
        status: RowStatus,
        invariants: Vec<InvariantResult>,
    ) -> Result<ScenarioResult, StoreError> {
        let count = |number: Option<i64>| number::read::<u64>(number.unwrap_or(0));
        let error = match &self.error_kind {
            Some(kind) => {
                Some(ScenarioError { kind: unword(kind)?, message: self.error_message.clone().unwrap_or_default() })
            }
            None => None,
        };
        Ok(ScenarioResult {
            scenario: scenario.clone(),
            sandbox_id: self.sandbox.clone().unwrap_or_default(),
            status,
            composite: self.composite.unwrap_or(0.0),
            invariants,
            forbidden: list(self.forbidden.as_deref())?,
            limits: list(self.limits.as_deref())?,
            offences: list(self.offences.as_deref())?,
            error,
            wall_ms: count(self.wall_ms)?,
            exit_code: self.exit_code.map(number::read).transpose()?,
            agent_output: String::new(),
            agent_stderr: String::new(),
            tool_calls: count(self.tool_calls)?,
            tool_errors: count(self.tool_errors)?,
            usage: Usage {
                calls: count(self.calls)?,
                input_tokens: count(self.input_tokens)?,
                output_tokens: count(self.output_tokens)?,
                cache_read_tokens: count(self.cache_read_tokens)?,
                model: self.model.clone().unwrap_or_default(),
                cost_usd: self.cost_usd,
            },
            notes: list(self.notes.as_deref())?,
            caveats: list(self.caveats.as_deref())?,
            faults_fired: self.faults_fired.map(|fired| count(Some(fired))).transpose()?,
            replay: self.replay.as_deref().map(json::read).transpose()?,
            ran_in: self.ran_in.as_deref().map(json::read).transpose()?,
        })
    }
}

impl VerdictRow {
    fn read(self) -> Result<InvariantResult, StoreError> {
        let outcome = match (self.outcome.as_str(), &self.error_kind) {
            ("passed", _) => Outcome::Passed,
            ("failed", _) => Outcome::Failed,
            ("errored", Some(kind)) => Outcome::Errored(unword::<ErrorKind>(kind)?),
            (other, _) => return Err(StoreError::Damaged(format!("`{other}` is no outcome"))),
        };
        Ok(InvariantResult {
            name: self.name,
            description: self.description,
            weight: self.weight,
            gate: self.gate,
            verdict: Verdict {
                outcome,
                score: self.score,
                message: self.message,
                reason: self.reason,
                details: json::read(&self.details)?,
                is_unproven: false,
            },
        })
    }
}

fn list<T: DeserializeOwned>(text: Option<&str>) -> Result<Vec<T>, StoreError> {
    text.map_or_else(|| Ok(Vec::new()), json::read)
}

/// All that is read of scenarios.
pub(super) fn select() -> SelectStatement {
    Query::select()
        .columns([
            Scenarios::Experiment,
            Scenarios::Run,
            Scenarios::Id,
            Scenarios::Position,
            Scenarios::Plan,
            Scenarios::Status,
            Scenarios::Composite,
            Scenarios::WallMs,
            Scenarios::ExitCode,
            Scenarios::ErrorKind,
            Scenarios::ErrorMessage,
            Scenarios::Sandbox,
            Scenarios::Forbidden,
            Scenarios::Limits,
            Scenarios::Offences,
            Scenarios::Notes,
            Scenarios::Caveats,
            Scenarios::FaultsFired,
            Scenarios::Replay,
            Scenarios::RanIn,
            Scenarios::ToolCalls,
            Scenarios::ToolErrors,
            Scenarios::Model,
            Scenarios::Calls,
            Scenarios::InputTokens,
            Scenarios::OutputTokens,
            Scenarios::CacheReadTokens,
            Scenarios::CostUsd,
            Scenarios::EvidenceJob,
            Scenarios::EvidenceAttempt,
            Scenarios::EndedAt,
        ])
        .from(Scenarios::Table)
        .to_owned()
}

fn scenarios(run: RunId) -> SelectStatement {
    select()
        .and_where(Expr::col(Scenarios::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Scenarios::Run).eq(number::kept(run.number)))
        .order_by(Scenarios::Position, Order::Asc)
        .to_owned()
}

fn of_run(run: RunId) -> Cond {
    Cond::all()
        .add(Expr::col(Verdicts::Experiment).eq(run.experiment.to_string()))
        .add(Expr::col(Verdicts::Run).eq(number::kept(run.number)))
}

fn verdicts(condition: Cond) -> SelectStatement {
    Query::select()
        .columns([
            Verdicts::Experiment,
            Verdicts::Run,
            Verdicts::Scenario,
            Verdicts::Name,
            Verdicts::Description,
            Verdicts::Weight,
            Verdicts::Gate,
            Verdicts::Outcome,
            Verdicts::ErrorKind,
            Verdicts::Score,
            Verdicts::Message,
            Verdicts::Reason,
            Verdicts::Details,
        ])
        .from(Verdicts::Table)
        .cond_where(condition)
        .order_by(Verdicts::Scenario, Order::Asc)
        .order_by(Verdicts::Position, Order::Asc)
        .to_owned()
}
