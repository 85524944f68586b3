//! The audit: what the gateways and the sandbox saw, as evidence and as logs for check scripts.

use doorkeeper::protocol::EntryKind;
use gateways::redact::Redactor;
use scenario::evidence::{AuditEvent, Audited, Evidence};
use scenario::tool_session::{ContractLog, contract_logs};
use scenario::trace::{self, audit_lines};
use serde_json::Value as Json;

use super::setup::write;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::door::DoorError;
use crate::error::EngineError;
use crate::snapshot::Changes;
use crate::world::World;

/// The name of the audit's log.
pub(crate) const AUDIT_LOG: &str = "audit.jsonl";
/// The name of the trace.
pub(crate) const TRACE_LOG: &str = "trace.jsonl";
/// The folder that is ours in the workspace.
const FOLDER: &str = ".keystone";

/// Adds all files that the agent wrote, where the spec wants them written down. When there are too many to be seen, the
/// scenario fails: a rule over them could not be trusted.
pub(super) fn add_file_writes(evidence: &mut Evidence, changes: &Changes, attempt: &Attempt<'_>) {
    if !attempt.spec.effective_audit().file_writes {
        return;
    }
    let event = |op: &'static str| {
        move |path: &String| Audited::from(AuditEvent::FileWrite { path: path.clone(), op: op.to_owned() })
    };
    let events = (changes.added.iter().map(event("added")))
        .chain(changes.modified.iter().map(event("modified")))
        .chain(changes.removed.iter().map(event("removed")));
    evidence.audit.get_or_insert_default().extend(events);
    let is_ruled = attempt.spec.forbidden.file_writes_outside.is_some();
    if changes.incomplete || (is_ruled && changes.not_compared > 0) {
        let offence = "the workspace holds more files than can be looked at, so not all writes are known";
        evidence.offences.push(offence.to_owned());
    }
}

/// Adds what changed in the image, outside the workspace and folders that anything may write to.
pub(super) fn add_image_writes(evidence: &mut Evidence, attempt: &Attempt<'_>) {
    if attempt.spec.effective_audit().file_writes {
        let event = |path: &String| AuditEvent::FileWrite { path: path.clone(), op: "changed".to_owned() };
        let events: Vec<_> = evidence.image_changes.iter().map(|path| event(path).into()).collect();
        evidence.audit.get_or_insert_default().extend(events);
    }
}

/// The logs for check scripts, one JSON object a line.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    /// The agent's acts.
    pub(crate) audit: Vec<u8>,
    /// The requests to its model, the tools that were called, and the agent's reports about itself.
    pub(crate) trace: Vec<u8>,
    /// The records of its sessions under tool contracts, a file for each session.
    pub(crate) contracts: Vec<ContractLog>,
}

impl Logs {
    /// Makes the logs of the evidence so far.
    pub(crate) fn of(evidence: &Evidence, redactor: &Redactor) -> Self {
        let lines = |lines: Vec<Json>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        Self {
            audit: redactor.text(&lines(audit_lines(evidence))).into_bytes(),
            trace: redactor.text(&lines(trace::lines(evidence))).into_bytes(),
            // They were redacted before their hashes were computed, which another redaction would break.
            contracts: contract_logs(evidence),
        }
    }

    /// Iterates over all logs, each with the name of its file.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let own = [(AUDIT_LOG, self.audit.as_slice()), (TRACE_LOG, self.trace.as_slice())];
        own.into_iter().chain(self.contracts.iter().map(|log| (log.name.as_str(), log.lines.as_bytes())))
    }

    fn is_empty(&self) -> bool {
        self.files().all(|(_, log)| log.is_empty())
    }
}

/// Writes copies of the logs into the workspace. Where that cannot be done, the agent is to blame, and logs of its own making
/// may stand there instead: that is an offence.
pub(super) async fn write_logs(evidence: &mut Evidence, world: &World, logs: &Logs) -> Result<(), EngineError> {
    if logs.is_empty() && evidence.audit.is_none() {
        return Ok(());
    }
    if let Some(problem) = occupied(world).await? {
        evidence.offences.push(problem);
        return Ok(());
    }
    for (name, log) in logs.files() {
        let path = format!("{WORKSPACE}/{FOLDER}/{name}");
        match write(world, &path, EntryKind::File, 0o644, log.to_vec()).await {
            Err(EngineError::Door { cause: DoorError::Failed(failure), .. }) => {
                let name = name.trim_end_matches(".jsonl");
                evidence.offences.push(format!("the agent left no place for the {name} log: {}", failure.message));
            }
            other => other?,
        }
    }
    Ok(())
}

/// Describes the file that the agent put in the place of our folder, if it did. Writing follows links, so there must be
/// none.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gateways::redact::Redactor;
    use scenario::evidence::{ContractRecord, ContractSession, Evidence};
    use serde_json::json;

    use super::Logs;

    #[test]
    fn the_records_of_each_session_are_a_log_as_they_were_hashed() {
        let session =
            |kind: &str| ContractSession { records: vec![json!({ "kind": kind })], ..ContractSession::default() };
        let sessions = vec![session("session_opened"), session("hunter2")];
        let record = ContractRecord { sessions, ..ContractRecord::default() };
        let evidence = Evidence { tool_contracts: Some(record), ..Evidence::default() };
        let secrets = BTreeMap::from([("PIN".to_owned(), "hunter2".to_owned())]);
        let logs = Logs::of(&evidence, &Redactor::new(&secrets, "key"));
        let files: Vec<_> = logs.files().map(|(name, log)| (name, String::from_utf8_lossy(log).into_owned())).collect();
        let expected = [
            ("audit.jsonl", ""),
            ("trace.jsonl", ""),
            ("contract.jsonl", "{\"kind\":\"session_opened\"}\n"),
            ("contract-2.jsonl", "{\"kind\":\"hunter2\"}\n"),
        ];
        assert_eq!(files, expected.map(|(name, log)| (name, log.to_owned())));
        assert!(!logs.is_empty());
    }

    #[test]
    fn without_anything_to_tell_there_are_no_logs() {
        let logs = Logs::of(&Evidence::default(), &Redactor::new(&BTreeMap::new(), "key"));
        assert!(logs.is_empty() && logs.files().count() == 2);
    }
}
