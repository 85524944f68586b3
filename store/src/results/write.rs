//! Writing what judging said.

use jiff::Timestamp;
use scenario::result::ScenarioResult;
use scenario::verdict::Outcome;
use sea_query::{Expr, ExprTrait as _, Query};

use super::word;
use crate::db::Tx;
use crate::error::StoreError;
use crate::ids::{JobId, RunId};
use crate::tables::{Scenarios, Verdicts};
use crate::time::millis;
use crate::{json, number};

/// The number of rows written with one statement.
const AT_ONCE: usize = 500;

/// Writes what came of a scenario.
pub(crate) async fn write(
    tx: &mut Tx,
    run: RunId,
    result: &ScenarioResult,
    source: Option<(JobId, u32)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let usage = &result.usage;
    let update = Query::update()
        .table(Scenarios::Table)
        .values([
            (Scenarios::Status, word(&result.status)?.into()),
            (Scenarios::Composite, number::fraction(result.composite).into()),
            (Scenarios::WallMs, number::kept(result.wall_ms).into()),
            (Scenarios::ExitCode, result.exit_code.map(i64::from).into()),
            (Scenarios::ErrorKind, result.error.as_ref().map(|error| word(&error.kind)).transpose()?.into()),
            (Scenarios::ErrorMessage, result.error.as_ref().map(|error| error.message.clone()).into()),
            (Scenarios::Sandbox, result.sandbox_id.as_str().into()),
            (Scenarios::Forbidden, json::text(&result.forbidden)?.into()),
            (Scenarios::Limits, json::text(&result.limits)?.into()),
            (Scenarios::Offences, json::text(&result.offences)?.into()),
            (Scenarios::Notes, json::text(&result.notes)?.into()),
            (Scenarios::Caveats, json::text(&result.caveats)?.into()),
            (Scenarios::FaultsFired, result.faults_fired.map(number::kept).into()),
            (Scenarios::Replay, result.replay.as_ref().map(json::text).transpose()?.into()),
            (Scenarios::RanIn, result.ran_in.as_ref().map(json::text).transpose()?.into()),
            (Scenarios::ToolCalls, number::kept(result.tool_calls).into()),
            (Scenarios::ToolErrors, number::kept(result.tool_errors).into()),
            (Scenarios::Model, usage.model.as_str().into()),
            (Scenarios::Calls, number::kept(usage.calls).into()),
            (Scenarios::InputTokens, number::kept(usage.input_tokens).into()),
            (Scenarios::OutputTokens, number::kept(usage.output_tokens).into()),
            (Scenarios::CacheReadTokens, number::kept(usage.cache_read_tokens).into()),
            (Scenarios::CostUsd, usage.cost_usd.into()),
            (Scenarios::EvidenceJob, source.map(|(job, _)| job.to_string()).into()),
            (Scenarios::EvidenceAttempt, source.map(|(_, attempt)| i64::from(attempt)).into()),
            (Scenarios::EndedAt, millis(now).into()),
        ])
        .and_where(Expr::col(Scenarios::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Scenarios::Run).eq(number::kept(run.number)))
        .and_where(Expr::col(Scenarios::Id).eq(result.scenario.id.as_str()))
        .to_owned();
    if tx.execute(&update).await? != 1 {
        return Err(StoreError::Damaged(format!("the run {run} has no scenario `{}`", result.scenario.id)));
    }
    write_verdicts(tx, run, result).await
}

async fn write_verdicts(tx: &mut Tx, run: RunId, result: &ScenarioResult) -> Result<(), StoreError> {
    for (first, chunk) in result.invariants.chunks(AT_ONCE).enumerate() {
        let mut insert = Query::insert()
            .into_table(Verdicts::Table)
            .columns([
                Verdicts::Experiment,
                Verdicts::Run,
                Verdicts::Scenario,
                Verdicts::Position,
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
            .to_owned();
        for (index, invariant) in chunk.iter().enumerate() {
            let verdict = &invariant.verdict;
            let (outcome, kind) = match verdict.outcome {
                Outcome::Passed => ("passed", None),
                Outcome::Failed => ("failed", None),
                Outcome::Errored(kind) => ("errored", Some(word(&kind)?)),
            };
            insert.values_panic([
                run.experiment.to_string().into(),
                number::kept(run.number).into(),
                result.scenario.id.as_str().into(),
                number::kept(first * AT_ONCE + index).into(),
                invariant.name.as_str().into(),
                invariant.description.as_str().into(),
                number::fraction(invariant.weight).into(),
                invariant.gate.into(),
                outcome.into(),
                kind.into(),
                number::fraction(verdict.score).into(),
                verdict.message.as_str().into(),
                verdict.reason.as_str().into(),
                json::text(&verdict.details)?.into(),
            ]);
        }
        tx.execute(&insert).await?;
    }
    Ok(())
}
