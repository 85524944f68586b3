//! Runs a script that failed once more where no agent was, to tell a script that is broken from one that the agent broke.
//!
//! A `custom` script reads what the agent left, so that an agent can make it fail: with a file that it does not understand, with
//! memory that is used up, with a database that is gone. Only a script that fails in the same way without any of that is at
//! fault itself.

use std::time::Duration;

use scenario::checks::RunsIn;
use scenario::evidence::{Answer, CommandAnswer, Exit, Probe};

use super::Prober;
use super::command::part_with;
use crate::backend::{Sandbox, WORKSPACE};
use crate::door::DoorError;
use crate::error::EngineError;
use crate::run::agent_service;

/// Empties the workspace of a new sandbox.
const EMPTY: &str = "cd / && rm -rf -- /workspace/* /workspace/.[!.]* /workspace/..?*";
/// Time limit of that.
const EMPTYING: Duration = Duration::from_secs(30);

impl Prober<'_> {
    /// Asks one question; asks it again where no agent was when the first answer may be the fault of a script.
    pub(crate) async fn ask_with_control(&self, probe: &Probe) -> Result<Vec<Answer>, EngineError> {
        let answer = match self.ask(probe).await {
            // The doorkeeper is well, and the kernel refuses what the agent left.
            Err(EngineError::Door { cause: DoorError::Failed(failure), operation }) => {
                let reason = format!("what the agent left does not let us {operation}: {}", failure.message);
                Answer::Unavailable { reason, limit: None }
            }
            answer => answer?,
        };
        let Probe::Script { script, runs_in, timeout, .. } = probe else { return Ok(vec![answer]) };
        let Answer::Command(ended) = &answer else { return Ok(vec![answer]) };
        if !is_doubtful(ended, *runs_in) {
            return Ok(vec![answer]);
        }
        if let Some(reason) = self.ended_service().await? {
            return Ok(vec![Answer::Unavailable { reason, limit: None }]);
        }
        let control = match runs_in {
            RunsIn::Host => self.on_host_without_workspace(script, *timeout).await?,
            RunsIn::Sandbox => self.without_workspace(script, *timeout).await?,
        };
        Ok(vec![answer, control])
    }

    /// A service that was there before the agent started and is not any more.
    async fn ended_service(&self) -> Result<Option<String>, EngineError> {
        let agent = agent_service(self.attempt);
        for (name, service) in self.world.services.iter().filter(|(name, _)| agent.as_ref() != Some(name)) {
            if !service.running.is_running().await? {
                return Ok(Some(format!(
                    "the script failed, and the service `{name}` ended after the agent had started"
                )));
            }
        }
        Ok(None)
    }

    /// Runs a script in a new sandbox with an empty workspace.
    async fn without_workspace(&self, script: &str, timeout: Duration) -> Result<Answer, EngineError> {
        let fresh = match self.fresh(&[]).await? {
            Ok(fresh) => fresh,
            Err(answer) => return Ok(answer),
        };
        let answer = self.in_emptied(&*fresh, script, timeout).await;
        part_with(&*fresh).await;
        answer
    }

    async fn in_emptied(&self, fresh: &dyn Sandbox, script: &str, timeout: Duration) -> Result<Answer, EngineError> {
        let words = ["sh", "-c", EMPTY].map(ToOwned::to_owned);
        match self.in_fresh(fresh, &self.line(&words, b""), EMPTYING).await? {
            Answer::Command(CommandAnswer { exit: Some(Exit::Code(0)), .. }) => {
                self.in_new_sandbox(fresh, script, timeout).await
            }
            Answer::Command(_) => {
                let reason = format!(
                    "the script failed, and {WORKSPACE} cannot be emptied to see whether the agent is the reason"
                );
                Ok(Answer::Unavailable { reason, limit: None })
            }
            answer => Ok(answer),
        }
    }
}

/// Returns true if a script may have failed by itself. A script that ran on an image that the agent changed, was ended
/// by a signal or took too long where the agent was is the agent's failure anyway.
fn is_doubtful(ended: &CommandAnswer, runs_in: RunsIn) -> bool {
    match (ended.exit, runs_in) {
        (Some(Exit::Code(0)), _) => !scenario::checks::Custom::is_result(ended),
        (Some(Exit::Code(_)), _) => ended.image_changes.is_empty(),
        (Some(Exit::Signal(_)) | None, runs_in) => runs_in == RunsIn::Host,
    }
}

#[cfg(test)]
mod tests {
    use scenario::checks::RunsIn;
    use scenario::evidence::{Captured, CommandAnswer, Exit};

    use super::is_doubtful;

    #[test]
    fn only_a_script_that_may_be_broken_is_run_again() {
        let ended = |exit, stdout: &str, changes: &[&str]| CommandAnswer {
            exit,
            stdout: Captured::from(stdout),
            stderr: Captured::default(),
            image_changes: changes.iter().map(|change| (*change).to_owned()).collect(),
        };
        for runs_in in [RunsIn::Sandbox, RunsIn::Host] {
            assert!(!is_doubtful(&ended(Some(Exit::Code(0)), "{\"passed\": false}", &[]), runs_in));
            assert!(is_doubtful(&ended(Some(Exit::Code(0)), "ok", &[]), runs_in));
            assert!(is_doubtful(&ended(Some(Exit::Code(1)), "", &[]), runs_in));
            assert!(!is_doubtful(&ended(Some(Exit::Code(1)), "", &["/bin/sh"]), runs_in));
            assert_eq!(is_doubtful(&ended(Some(Exit::Signal(9)), "", &[]), runs_in), runs_in == RunsIn::Host);
            assert_eq!(is_doubtful(&ended(None, "", &[]), runs_in), runs_in == RunsIn::Host);
        }
    }
}
