//! The exit codes, which CI relies on.

use std::process::ExitCode;

/// Description of the exit codes in the help.
pub(crate) const HELP: &str = "\
Exit codes:
  0    everything passed
  1    something failed, a bar was missed or a baseline regressed
  2    the command was used wrongly
  3    a spec is invalid
  4    at least one scenario could not be judged: infrastructure, or inconclusive
  130  interrupted, after cleaning up";

/// The exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything passed.
    Passed,
    /// Something failed.
    Failed,
    /// The command was used wrongly.
    Usage,
    /// A spec is invalid.
    InvalidSpec,
    /// Something could not be judged, and the agent is not to blame.
    Infrastructure,
    /// It was interrupted.
    Interrupted,
    /// A command in a sandbox ended like this.
    Inside(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Passed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::InvalidSpec => 3,
            Exit::Infrastructure => 4,
            Exit::Interrupted => 130,
            Exit::Inside(code) => code,
        })
    }
}
