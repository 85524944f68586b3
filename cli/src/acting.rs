//! Who acts instead of a spec's own agent, and what this machine's owner allows: what `try` and `run` share.

use std::io;

use clap::ValueEnum;
use engine::attempt::{AgentChoice, HostChecks, Permissions};

/// Who acts instead of a spec's own agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtherAgent {
    /// Does nothing.
    Noop,
    /// Solves the task with `task.solution`.
    Oracle,
}

impl OtherAgent {
    /// What the engine calls it.
    pub(crate) fn choice(self) -> AgentChoice {
        match self {
            Self::Noop => AgentChoice::Noop,
            Self::Oracle => AgentChoice::Oracle,
        }
    }

    /// What the store calls it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Oracle => "oracle",
        }
    }
}

/// What the machine's owner allows; scripts beside the worker are confined by a command of our own.
pub(crate) fn permissions(allow_host_checks: bool) -> io::Result<Permissions> {
    if !allow_host_checks {
        return Ok(Permissions::default());
    }
    let own = std::env::current_exe()?.display().to_string();
    let host_checks = Some(HostChecks { confine: vec![own, "confine".to_owned()] });
    Ok(Permissions { host_checks, ..Permissions::default() })
}
