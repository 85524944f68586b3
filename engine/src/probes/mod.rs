//! Questions to the sandbox, one file a kind. Whatever the agent can have broken is an answer; only what it cannot have
//! caused is an error.

mod carry;
mod command;
mod control_run;
mod database_watch;
mod files;
mod host;
mod script;
mod sql;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use scenario::evidence::{Answer, Limit, Probe};

use crate::attempt::Attempt;
use crate::backend::End;
use crate::door::DoorError;
use crate::error::EngineError;
use crate::run::audit::Logs;
use crate::world::World;

pub(crate) use command::{Line, exit, not_started, run_on};
pub(crate) use database_watch::Watched;

/// State that probing needs.
#[derive(Debug)]
pub(crate) struct Prober<'a> {
    /// The attempt.
    pub(crate) attempt: &'a Attempt<'a>,
    /// The world that the agent left.
    pub(crate) world: &'a World,
    /// Paths of the image that the agent changed.
    pub(crate) image_changes: &'a [String],
    /// Logs of the agent's doings.
    pub(crate) logs: &'a Logs,
    /// Reason why the sandbox cannot be asked any more, once that is so.
    pub(crate) lost: Mutex<Option<String>>,
    /// True when a check has run something that the agent left.
    pub(crate) ran: AtomicBool,
    /// Number of bytes of files that were kept.
    pub(crate) kept_bytes: AtomicU64,
    /// Databases in which nothing goes on.
    pub(crate) databases: Watched,
}

impl Prober<'_> {
    /// Asks one question.
    pub(crate) async fn ask(&self, probe: &Probe) -> Result<Answer, EngineError> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(reason) = lost {
            return Ok(Answer::Unavailable { reason, limit: None });
        }
        if self.world.sandbox.door().is_closed() {
            return self.gone().await;
        }
        match probe {
            Probe::Command { command, timeout, verify } => self.command(command, *timeout, verify).await,
            Probe::Files { path, content_bytes, most } => self.files(path, *content_bytes, *most).await,
            Probe::Sql { service, query } => self.sql(service, query).await,
            Probe::Script { script, runs_in, verify, timeout } => self.script(script, *runs_in, verify, *timeout).await,
        }
    }

    /// The sandbox is gone: by what a check ran in it, or by nothing that the agent could have done.
    async fn gone(&self) -> Result<Answer, EngineError> {
        let error = DoorError::Closed { reason: "it hung up".to_owned() };
        if self.ran.load(Ordering::Relaxed) {
            return Ok(self.blame(error).await);
        }
        Err(EngineError::door("look at what the agent left")(error))
    }

    /// Blames the agent for the failure of a command that runs where the agent was: it runs files that the agent left.
    /// When it took the whole sandbox with it, nothing can be asked any more.
    async fn blame(&self, error: DoorError) -> Answer {
        let mut limit = None;
        let reason = if error.is_closed() {
            let post_mortem = self.world.sandbox.post_mortem().await;
            limit = (post_mortem.end == End::OutOfMemory).then_some(Limit::Memory);
            let reason = format!("the sandbox ended while a check ran in it: {}", post_mortem.description);
            *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.clone());
            reason
        } else {
            format!("the check could not be run in the sandbox that the agent left: {error}")
        };
        Answer::Unavailable { reason, limit }
    }
}
