//! The status of an experiment of a server.

/// The status of an experiment of a server, as far as this version knows the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemoteStatus {
    /// It was not run yet, is being run, or is in a state that this version does not know.
    Open,
    /// All scenarios have ended.
    Finished,
    /// It was ended early.
    Cancelled,
}

impl RemoteStatus {
    /// The status with the word that a server uses.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "finished" => Self::Finished,
            "cancelled" => Self::Cancelled,
            _ => Self::Open,
        }
    }
}
