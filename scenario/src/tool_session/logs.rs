//! The records of sessions as files: `contract.jsonl`, one for each session.

use crate::evidence::{ContractRecord, ContractSession, Evidence};

/// The file with the records of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractLog {
    /// The name: `contract.jsonl`, and `contract-2.jsonl` for the second session.
    pub name: String,
    /// The records, one JSON object a line.
    pub lines: String,
}

/// The files of all sessions, in the order in which the sessions opened; nothing without `tool_contracts`.
#[must_use]
pub fn contract_logs(evidence: &Evidence) -> Vec<ContractLog> {
    let sessions = evidence.tool_contracts.iter().flat_map(|record: &ContractRecord| &record.sessions);
    sessions.enumerate().map(|(place, session)| log(place, session)).collect()
}

fn log(place: usize, session: &ContractSession) -> ContractLog {
    let name = if place == 0 { "contract.jsonl".to_owned() } else { format!("contract-{}.jsonl", place + 1) };
    ContractLog { name, lines: session.log() }
}
