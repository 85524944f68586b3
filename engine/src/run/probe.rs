//! Runs the probes of every invariant of a scenario.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use scenario::evidence::{Answer, Evidence, Fired, Limit};
use tokio::time::Instant;

use crate::attempt::Attempt;
use crate::error::EngineError;
use crate::event::{Event, Events};
use crate::probes::{Prober, Watched};
use crate::world::World;

use super::activity::EndedOfServices;
use super::audit::Logs;

/// Least time for probing, also when the agent used all the time there was.
const GRACE: Duration = Duration::from_secs(120);

/// Runs the probes of all invariants that are judged here, in the order of the spec.
pub(super) async fn ask_all(
    world: &World,
    attempt: &Attempt<'_>,
    evidence: &mut Evidence,
    logs: &Logs,
    still: EndedOfServices,
    overall: Instant,
    events: &Events,
) -> Result<(), EngineError> {
    let deadline = overall.max(Instant::now() + GRACE);
    let image_changes = evidence.image_changes.clone();
    let prober = Prober {
        attempt,
        world,
        image_changes: &image_changes,
        logs,
        lost: Mutex::default(),
        ran: AtomicBool::default(),
        kept_bytes: AtomicU64::default(),
        databases: Watched::new(still),
    };
    let values = attempt.values();
    for judged in attempt.scenario.judged(attempt.spec) {
        let mut answers = Vec::new();
        for probe in judged.check.probes(&values) {
            let asked = tokio::time::timeout_at(deadline, prober.ask_with_control(&probe)).await;
            let asked = match asked {
                Ok(answer) => answer.map_err(|error| named(judged.name, error))?,
                Err(_) => {
                    evidence.offences.extend(prober.databases.offences());
                    overdue(attempt, evidence);
                    return Ok(());
                }
            };
            answers.extend(asked);
        }
        evidence.answers.insert(judged.name.to_owned(), answers);
        events.tell(Event::Probed { invariant: judged.name.to_owned() });
    }
    prober.databases.look(world).await?;
    evidence.offences.extend(prober.databases.offences());
    Ok(())
}

/// Adds the invariant to the error of a probe.
fn named(invariant: &str, error: EngineError) -> EngineError {
    match error {
        EngineError::Cancelled | EngineError::Unsupported { .. } | EngineError::Probe { .. } => error,
        other => EngineError::Probe { invariant: invariant.to_owned(), reason: other.to_string() },
    }
}

/// Looking took longer than everything together may take.
fn overdue(attempt: &Attempt<'_>, evidence: &mut Evidence) {
    let seconds = attempt.spec.resources.timeout.get().as_secs_f64();
    let detail = format!(
        "preparing, acting and probing took longer than {seconds}s, and probing longer than {}s",
        GRACE.as_secs()
    );
    evidence.limits.push(Fired { limit: Limit::Timeout, detail });
    unavailable(attempt, evidence, "there was no time left to look", Some(Limit::Timeout));
}

/// Answers everything that was not asked with a reason that counts against the agent.
pub(super) fn unavailable(attempt: &Attempt<'_>, evidence: &mut Evidence, reason: &str, limit: Option<Limit>) {
    let values = attempt.values();
    for judged in attempt.scenario.judged(attempt.spec) {
        let answer = || Answer::Unavailable { reason: reason.to_owned(), limit };
        let answers = || judged.check.probes(&values).iter().map(|_| answer()).collect();
        evidence.answers.entry(judged.name.to_owned()).or_insert_with(answers);
    }
}
