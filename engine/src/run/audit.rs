//! The audit: what the gateways and the sandbox saw, as evidence and as a log for check scripts.

use doorkeeper::protocol::EntryKind;
use scenario::evidence::{AuditEvent, Evidence};

use super::setup::write;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::door::DoorError;
use crate::error::EngineError;
use crate::redact::Redactor;
use crate::snapshot::Changes;
use crate::world::World;

/// The folder that is ours in the workspace.
const FOLDER: &str = ".keystone";

/// Adds all files that the agent wrote, where the spec wants them written down. When there are too many to be seen, the
/// scenario fails: a rule over them could not be trusted.
pub(super) fn add_file_writes(evidence: &mut Evidence, changes: &Changes, attempt: &Attempt<'_>) {
    if !attempt.spec.effective_audit().file_writes {
        return;
    }
    let event = |op: &'static str| move |path: &String| AuditEvent::FileWrite { path: path.clone(), op: op.to_owned() };
    let events = (changes.added.iter().map(event("added")))
        .chain(changes.modified.iter().map(event("modified")))
        .chain(changes.removed.iter().map(event("removed")));
    evidence.audit.get_or_insert_default().extend(events);
    if changes.incomplete {
        let offence = "the workspace holds more files than can be looked at, so not all writes are known";
        evidence.offences.push(offence.to_owned());
    }
}

/// Writes a copy of the log into the workspace. Where that cannot be done, the agent is to blame, and a log of its own making
/// may stand there instead: that is an offence.
pub(super) async fn write_log(evidence: &mut Evidence, world: &World) -> Result<(), EngineError> {
    let Some(events) = &evidence.audit else { return Ok(()) };
    if let Some(problem) = occupied(world).await? {
        evidence.offences.push(problem);
        return Ok(());
    }
    let path = format!("{WORKSPACE}/{FOLDER}/audit.jsonl");
    match write(world, &path, EntryKind::File, 0o644, log(events, &world.redactor)).await {
        Err(EngineError::Door { cause: DoorError::Failed(failure), .. }) => {
            evidence.offences.push(format!("the agent left no place for the audit log: {}", failure.message));
            Ok(())
        }
        other => other,
    }
}

/// What the agent put in the place of our folder. Writing follows links, so there must be none.
async fn occupied(world: &World) -> Result<Option<String>, EngineError> {
    let listed = world.sandbox.door().walk(WORKSPACE, FOLDER.as_bytes(), 1, false).await;
    let kind = match listed {
        Ok(listing) => listing.entries.first().map(|entry| entry.kind),
        // When it is gone it is made again.
        Err(DoorError::Failed(_)) => None,
        Err(error) => return Err(EngineError::door("look at the workspace")(error)),
    };
    let is_fit = kind.is_none_or(|kind| kind == EntryKind::Directory);
    let problem = || format!("the agent replaced the folder {WORKSPACE}/{FOLDER} of the audit log by something else");
    Ok((!is_fit).then(problem))
}

/// One event a line, for check scripts.
pub(crate) fn log(events: &[AuditEvent], redactor: &Redactor) -> Vec<u8> {
    let line = |event: &AuditEvent| serde_json::to_string(event).unwrap_or_default() + "\n";
    redactor.text(&events.iter().map(line).collect::<String>()).into_bytes()
}
