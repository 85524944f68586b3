//! Attempts, as a person reads them.

use scenario::untrusted;
use serde_json::{Value as Json, json};
use store::{AttemptOutcome, Run, RunKind, Store, StoreError, StoredAttempt};

use crate::times::second;
use crate::verdict_lines::MOST_LINE;

/// The run in which agents acted: an earlier one when evidence was judged again.
pub(in crate::commands) async fn acted(store: &Store, run: &Run) -> Result<Run, StoreError> {
    let mut run = run.clone();
    while let RunKind::Rescored { of } = run.kind {
        run = store.run(store::RunId { number: of, ..run.id }).await?;
    }
    Ok(run)
}

/// The attempts that led to a run.
pub(super) async fn of(store: &Store, run: &Run) -> Result<Vec<StoredAttempt>, StoreError> {
    store.attempts(acted(store, run).await?.id).await
}

/// Returns true if an attempt is worth mentioning in an overview: it was not the first, or was not judged.
pub(super) fn is_remarkable(attempt: &StoredAttempt) -> bool {
    attempt.number > 1 || attempt.outcome != AttemptOutcome::Judged
}

/// `attempt 2: judged, 2026-03-01T12:00:00Z, 1.5 s`.
pub(super) fn line(attempt: &StoredAttempt) -> String {
    let StoredAttempt { number, outcome, started_at, .. } = attempt;
    let took = attempt
        .ended_at
        .map_or_else(String::new, |ended_at| format!(", {:.1} s", ended_at.duration_since(*started_at).as_secs_f64()));
    let message = attempt.message.iter().map(|message| format!(": {}", untrusted::line(message, MOST_LINE)));
    let outcome = match outcome {
        // What it was is in the message: the machine, or the spec.
        AttemptOutcome::Infrastructure | AttemptOutcome::Provider => "not judged",
        other => other.word(),
    };
    let line = format!("attempt {number}: {outcome}, {}{took}", second(*started_at));
    message.fold(line, |line, message| line + &message)
}

/// An attempt as JSON.
pub(super) fn object(attempt: &StoredAttempt) -> Json {
    json!({
        "attempt": attempt.number,
        "outcome": attempt.outcome.word(),
        "message": attempt.message,
        "started_at": attempt.started_at.to_string(),
        "ended_at": attempt.ended_at.map(|time| time.to_string()),
        "evidence_digest": attempt.digest,
        "evidence_bytes": attempt.size,
    })
}
