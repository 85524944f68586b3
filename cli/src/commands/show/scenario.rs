//! One scenario: its verdicts, its attempts, and where its evidence came from.

use scenario::evidence::{Evidence, ImageRecord, ProcessUse, WorkspaceChanges};
use scenario::plan::parameter_text;
use scenario::result::RowStatus;
use scenario::score::Status;
use scenario::tool_session::ToolSessions;
use scenario::untrusted;
use serde_json::{Value as Json, json};
use store::{RunState, StoreError, StoredScenario};

use super::{Shown, attempts};
use crate::lane_lines;
use crate::output::{CommandError, Output};
use crate::times::size;
use crate::verdict_lines::{MOST_LINE, lines, own_status};
use store::with_output;

/// Maximum number of changed paths that are shown.
const SHOWN_PATHS: usize = 5;
/// The length at which a prompt is cut; all of it is in the JSON.
const MOST_PROMPT: usize = 4000;

/// Prints a scenario for a person.
pub(super) async fn text(shown: &Shown, scenario: &StoredScenario, output: &mut Output) -> Result<(), CommandError> {
    for line in head(shown, scenario) {
        output.line(line)?;
    }
    let store = &shown.home.store;
    match with_output(store, scenario.clone()).await? {
        Some(result) => {
            for note in &result.notes {
                output.line(format!("note: {}", untrusted::line(note, MOST_LINE)))?;
            }
            let flaky = flaky(shown, scenario);
            let status = if flaky.is_some() { Status::Flaky } else { own_status(&result) };
            for line in lines(&result, status).into_iter().chain(flaky) {
                output.line(line)?;
            }
        }
        None if shown.run.state == RunState::Open => output.line("it has not ended")?,
        None => output.line("it was not run: its run was ended before")?,
    }
    output.line("")?;
    for attempt in attempts::of(store, &shown.run).await?.iter().filter(|one| is_of(one, scenario)) {
        output.line(attempts::line(attempt))?;
    }
    let evidence = match scenario.source {
        Some((job, attempt)) => as_far_as_readable(store.evidence(job, attempt).await)?,
        None => None,
    };
    let sessions = ToolSessions::of(evidence.as_ref(), scenario.result.as_ref());
    let about = evidence.iter().flat_map(|evidence| prompt(scenario, evidence).into_iter().chain(provenance(evidence)));
    for line in about.chain(lane_lines::lines(&sessions)) {
        output.line(line)?;
    }
    output.line(format!("run it again: touchstone rerun {}", shown.name(scenario)))
}

/// Prints a scenario for a program.
pub(super) async fn json(shown: &Shown, scenario: &StoredScenario, output: &mut Output) -> Result<(), CommandError> {
    let store = &shown.home.store;
    let attempts = attempts::of(store, &shown.run).await?;
    let attempts: Vec<_> = attempts.iter().filter(|one| is_of(one, scenario)).map(attempts::object).collect();
    let evidence = match scenario.source {
        Some((job, attempt)) => as_far_as_readable(store.evidence_text(job, attempt).await)?,
        None => None,
    };
    let evidence: Option<Json> = evidence.as_deref().map(serde_json::from_str).transpose().map_err(|error| {
        CommandError::Infrastructure(format!("the evidence of `{}` is no JSON: {error}", shown.name(scenario)))
    })?;
    let result = with_output(store, scenario.clone()).await?;
    let status = result.as_ref().map(|result| match flaky(shown, scenario) {
        Some(_) => Status::Flaky.word(),
        None => own_status(result).word(),
    });
    output.json(&json!({ "status": status, "result": result, "attempts": attempts, "evidence": evidence }))
}

/// Returns `None` instead of evidence that cannot be read: the result says so already.
fn as_far_as_readable<T>(read: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(error) if error.is_about_evidence() => Ok(None),
        read => read,
    }
}

/// Describes a scenario that failed while other replicas of its cell passed.
fn flaky(shown: &Shown, scenario: &StoredScenario) -> Option<String> {
    let cell = shown.scenarios.iter().filter(|other| other.scenario.cell == scenario.scenario.cell);
    let statuses: Option<Vec<_>> = cell.map(|other| other.result.as_ref().map(|result| result.status)).collect();
    let statuses = statuses?;
    let passed = statuses.iter().filter(|status| **status == RowStatus::Pass).count();
    let failed = scenario.result.as_ref().is_some_and(|result| result.status == RowStatus::Fail);
    let words = || format!("it is flaky: {passed} of the {} replicas of its cell passed", statuses.len());
    (failed && passed > 0).then(words)
}

fn is_of(attempt: &store::StoredAttempt, scenario: &StoredScenario) -> bool {
    attempt.scenario == scenario.scenario.id.as_str()
}

fn head(shown: &Shown, stored: &StoredScenario) -> Vec<String> {
    let scenario = &stored.scenario;
    let mut lines = vec![
        format!("scenario    {}", shown.name(stored)),
        format!("spec        {} v{}", shown.experiment.spec.spec_id, shown.experiment.spec.version),
    ];
    let parameters: Vec<_> =
        scenario.parameters.iter().map(|(name, value)| format!("{name}={}", parameter_text(value))).collect();
    if !parameters.is_empty() {
        lines.push(format!("parameters  {}", untrusted::line(&parameters.join(" "), MOST_LINE)));
    }
    if !scenario.chaos.is_empty() {
        lines.push(format!("chaos       {}", scenario.chaos));
    }
    lines.extend(scenario.purpose.label().map(|label| format!("purpose     {}", untrusted::line(&label, MOST_LINE))));
    lines.push(format!("replica     {}", scenario.replica));
    lines.push(format!("seed        {}", scenario.seed));
    lines.push(String::new());
    lines
}

/// The prompt that the agent got, where it is not the task's own.
fn prompt(stored: &StoredScenario, evidence: &Evidence) -> Vec<String> {
    let purpose = &stored.scenario.purpose;
    let is_other = purpose.mutation().is_some() || purpose.replay().is_some();
    let Some(prompt) = evidence.prompt.as_ref().filter(|_| is_other) else { return Vec::new() };
    let shown = untrusted::cut(&untrusted::visible(prompt), MOST_PROMPT);
    let lines = shown.lines().map(|line| format!("  | {line}"));
    std::iter::once(format!("the prompt that the agent got ({}):", size(prompt.len() as u64))).chain(lines).collect()
}

/// Describes the agent's changes, and the origin of its sandbox.
fn provenance(evidence: &Evidence) -> Vec<String> {
    let world = &evidence.world;
    let mut lines = vec![format!("workspace: {}", changes(&evidence.workspace))];
    lines.extend(evidence.agent.used.as_ref().map(used));
    if world.backend.is_empty() {
        return lines;
    }
    lines.push(format!("sandbox: {}, made by {} with {}", world.sandbox, world.backend, world.runtime));
    lines.extend(world.images.iter().map(image));
    lines
}

/// `used: 0.450 s of processor time, at most 12.5 MB of memory in one process`.
fn used(used: &ProcessUse) -> String {
    let (whole, rest) = (used.processor_ms() / 1000, used.processor_ms() % 1000);
    let memory = size(used.most_memory);
    format!("used: {whole}.{rest:03} s of processor time, at most {memory} of memory in one process")
}

/// `2 added (a, b), 1 modified (c)`.
fn changes(changes: &WorkspaceChanges) -> String {
    let WorkspaceChanges { added, removed, modified, incomplete } = changes;
    let mut parts = Vec::new();
    for (word, paths) in [("added", added), ("modified", modified), ("removed", removed)] {
        if !paths.is_empty() {
            let first: Vec<_> = paths.iter().take(SHOWN_PATHS).map(String::as_str).collect();
            let more = if paths.len() > first.len() { ", …" } else { "" };
            parts.push(format!("{} {word} ({}{more})", paths.len(), untrusted::line(&first.join(", "), MOST_LINE)));
        }
    }
    match (parts.is_empty(), incomplete) {
        (true, false) => "nothing was changed".to_owned(),
        (_, true) => format!("{}, and more that is not listed", parts.join(", ")),
        (false, false) => parts.join(", "),
    }
}

fn image(image: &ImageRecord) -> String {
    let asked = if image.is_stand_in() { format!(" instead of {}", image.reference) } else { String::new() };
    untrusted::line(&format!("image: {}{asked} ({})", image.name, image.digest), MOST_LINE)
}
