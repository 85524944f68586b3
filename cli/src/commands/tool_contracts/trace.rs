//! The call trace of a recorded scenario, or of a file.

use std::fs;
use std::path::Path;

use scenario::untrusted;
use serde_json::Value as Json;
use tokio::runtime::Runtime;
use tool_contracts::TraceEntry;

use crate::data_dir::StoreOption;
use crate::evidence_of::EvidenceHere;
use crate::output::CommandError;

/// The entries of a trace: of EXPERIMENT/SCENARIO of the history, or of a file.
pub(super) fn entries(trace: &str, store: &StoreOption) -> Result<Vec<TraceEntry>, CommandError> {
    let path = Path::new(trace);
    let found = if path.is_file() { read_file(path)? } else { stored(trace, store)? };
    let wrong = |error| CommandError::usage(format!("{} is no call trace: {error}", untrusted::line(trace, 200)));
    serde_json::from_value(found).map_err(wrong)
}

fn stored(reference: &str, store: &StoreOption) -> Result<Json, CommandError> {
    let reference = reference.parse().map_err(CommandError::usage)?;
    let found = Runtime::new()?.block_on(EvidenceHere::find(store, &reference))?;
    serde_json::to_value(&found.evidence.call_trace).map_err(CommandError::usage)
}

/// A trace as a list, or under `call_trace`.
fn read_file(path: &Path) -> Result<Json, CommandError> {
    let cannot =
        |cause: &dyn std::fmt::Display| CommandError::usage(format!("{} cannot be read: {cause}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| cannot(&error))?;
    let value: Json = serde_json::from_str(&text).map_err(|error| cannot(&error))?;
    Ok(value.get("call_trace").cloned().unwrap_or(value))
}
