//! A service's life: until it is asked to end, and then until what it does has ended.

use std::future;
use std::io;
use std::time::Duration;

use store::StoreError;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use worker::Control;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::signals::{Signals, StopRequest};

/// Timeout for returning jobs to the queue.
const GIVING_BACK: Duration = Duration::from_secs(60);

/// The running parts of a service.
pub(crate) struct Running {
    /// The server.
    pub(crate) server: Option<JoinHandle<io::Result<()>>>,
    /// Ends the server once it was cancelled, and what was being answered is answered.
    pub(crate) ending: CancellationToken,
    /// The worker, and what can be asked of it.
    pub(crate) worker: Option<(JoinHandle<Result<(), StoreError>>, Control)>,
    /// Time that running scenarios have after the shutdown request.
    pub(crate) drain_for: Duration,
}

/// The stage of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Working,
    /// No new work is begun.
    Draining,
    /// Scenarios that have not ended are returned to the queue.
    GivingBack,
}

enum Happened {
    StopRequest(StopRequest),
    ServerEnded(Result<(), String>),
    WorkerEnded(Result<(), String>),
    TimeIsUp,
}

impl Running {
    /// Waits for the end.
    pub(crate) async fn until_ended(mut self, mut signals: Signals, output: &mut Output) -> Result<Exit, CommandError> {
        let (mut stage, mut deadline) = (Stage::Working, None);
        while self.server.is_some() || self.worker.is_some() {
            let happened = tokio::select! {
                biased;
                asked = signals.next() => Happened::StopRequest(asked),
                ended = joined(self.server.as_mut()) => Happened::ServerEnded(ended),
                ended = joined(self.worker.as_mut().map(|(worker, _)| worker)) => Happened::WorkerEnded(ended),
                () = until(deadline) => Happened::TimeIsUp,
            };
            match happened {
                Happened::StopRequest(StopRequest::Once) => {
                    output.note(self.farewell());
                    (stage, deadline) = (Stage::Draining, Some(Instant::now() + self.drain_for));
                    self.drain();
                }
                Happened::TimeIsUp if stage == Stage::Draining => {
                    output.note("the time of --drain-for is up: what is being run is given back");
                    (stage, deadline) = (Stage::GivingBack, Some(Instant::now() + GIVING_BACK));
                    self.give_back();
                }
                Happened::StopRequest(StopRequest::Again) | Happened::TimeIsUp => {
                    output.note("ended at once: other workers, or the next start, clean up");
                    return Ok(Exit::Interrupted);
                }
                Happened::ServerEnded(ended) => self.server = self.without("server", ended, stage)?,
                Happened::WorkerEnded(ended) => self.worker = self.without("worker", ended, stage)?,
            }
        }
        Ok(Exit::Passed)
    }

    fn farewell(&self) -> String {
        let left = if self.worker.is_some() { "what is being run and answered" } else { "what is being answered" };
        format!("ending: {left} ends first; a second signal ends it at once")
    }

    fn drain(&self) {
        self.ending.cancel();
        if let Some((_, control)) = &self.worker {
            control.drain();
        }
    }

    fn give_back(&self) {
        if let Some((_, control)) = &self.worker {
            control.release();
        }
    }

    /// Checks the end of a part: an error, unless it was asked to end.
    fn without<T>(&self, part: &str, ended: Result<(), String>, stage: Stage) -> Result<Option<T>, CommandError> {
        let reason = match ended {
            Ok(()) if stage != Stage::Working => return Ok(None),
            Ok(()) => "nobody asked it to".to_owned(),
            Err(reason) => reason,
        };
        Err(CommandError::Infrastructure(format!("the {part} ended: {reason}")))
    }
}

async fn joined<E: ToString>(task: Option<&mut JoinHandle<Result<(), E>>>) -> Result<(), String> {
    match task {
        Some(task) => match task.await {
            Ok(ended) => ended.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        },
        None => future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => future::pending::<()>().await,
    }
}
