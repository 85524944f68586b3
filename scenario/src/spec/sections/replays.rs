//! `replays`: recorded sessions that the agent goes through again.

use crate::spec::section::{choice, section};
use crate::spec::types::{BundlePath, ChaosName, ReplayName};

section! {
    /// A recorded session that the agent goes through again: it gets the prompt of the session, and its HTTP mocks answer as
    /// recorded. `touchstone replay export` writes sessions.
    ///
    /// All rules of the contract must hold, whatever their severity; without a contract, all invariants. Rules with `probes`, and
    /// comparisons with a clean run, are not judged.
    ///
    /// ```yaml
    /// replays:
    ///   - session: sessions/refund-timeout.yaml
    ///     matching: strict
    /// ```
    pub struct ReplayEntry {
        /// The file of the session, in the spec's folder.
        session: BundlePath,
        /// Its name in ids and reports; without it, the name of the file.
        id: Option<ReplayName>,
        /// The way to find recorded answers, and to treat calls that the session does not have.
        matching: ReplayMatching = ReplayMatching::Fifo,
        /// Where the model's answers come from.
        model: ReplayModel = ReplayModel::Live,
        /// The chaos cell that it was recorded in, which decides about the `when` of the contract's rules. The answers of the session
        /// have the faults in them already, so none is injected.
        chaos: Option<ChaosName>,
    }
}

choice! {
    /// The way to find the answer to a call in a session.
    pub enum ReplayMatching {
        /// The next recorded answer to the same method and path. Calls with other arguments, calls that the session does not have,
        /// and recorded calls that never came are reported.
        Fifo = "fifo",
        /// The next recorded answer to the same method, path, query and body. Calls that the session does not have, and recorded
        /// calls that never came, fail the scenario.
        Strict = "strict",
    }
}

choice! {
    /// Where the model's answers come from while a session is replayed.
    pub enum ReplayModel {
        /// From the model as the spec has it. A scripted one uses the variants of the session.
        Live = "live",
        /// From the session.
        Recorded = "recorded",
    }
}

impl ReplayEntry {
    /// Its name: the given one, or that of its file without folder and ending.
    #[must_use]
    pub fn name(&self) -> String {
        self.id.as_ref().map_or_else(|| session_name(self.session.as_str()), ToString::to_string)
    }
}

/// The name of a session by its file: without folder and ending, with dashes for what ids cannot have.
#[must_use]
pub fn session_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    let words: Vec<_> = stem.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
