//! Working on runs until they have ended, whatever comes between.

use std::future;
use std::time::Duration;

use scenario::result::RowStatus;
use store::{Clock as _, Numbers, RunId, RunState, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use worker::{Control, Notice, Observer, Worker};

use super::{Session, Teller};
use crate::clock::SystemClock;
use crate::output::{CommandError, Output};
use crate::signals::{Signals, StopRequest};

/// The way in which a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// All scenarios have ended.
    All,
    /// The user asked for the end; everything was cleaned up.
    Interrupted,
    /// The user asked for the end twice; the next run cleans up.
    Abandoned,
    /// The time was up.
    TimedOut,
    /// A scenario did not pass, and the rest was not wanted then.
    FailedFast,
    /// There was no room on the disk.
    NoRoom,
    /// Another command cancelled a run.
    Cancelled,
}

impl Finish {
    /// Returns the note for the report.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Interrupted => Some("interrupted: what had not ended was cancelled"),
            Self::Abandoned => Some("interrupted twice: what had not ended was left"),
            Self::TimedOut => Some("the time of `--timeout` was up: what had not ended was cancelled"),
            Self::FailedFast => Some("`--fail-fast`: the rest was cancelled"),
            Self::Cancelled => Some("`touchstone cancel` ended a run: what had not ended was not run"),
            Self::NoRoom => Some("there was no room on the disk: the rest was cancelled"),
        }
    }
}

/// An event that needs a reaction.
enum Happened {
    Ended(Result<(), StoreError>),
    Noticed(Notice),
    StopRequest(StopRequest),
    TimeIsUp,
}

/// Runs that are being worked on.
struct Work<'a> {
    session: &'a Session,
    runs: &'a [RunId],
    control: Control,
    finish: Finish,
}

/// Works on runs until they have ended.
pub(super) async fn work(
    session: &Session,
    runs: &[RunId],
    teller: &mut dyn Teller,
    output: &mut Output,
) -> Result<Finish, CommandError> {
    let mut signals = Signals::listen()?;
    let (sender, mut notices) = mpsc::unbounded_channel();
    let mut worker = Worker::new(session.parts(Observer::to(move |notice| {
        let _ = sender.send(notice);
    })));
    let mut work = Work { session, runs, control: worker.control(), finish: Finish::All };
    let mut working: JoinHandle<Result<(), StoreError>> = tokio::spawn(async move {
        let ended = worker.run_until_empty().await;
        worker.finish().await;
        ended
    });
    let deadline = session.options.timeout.map(|timeout| Instant::now() + timeout);
    let ended = loop {
        let happened = tokio::select! {
            biased;
            asked = signals.next() => Happened::StopRequest(asked),
            Some(notice) = notices.recv() => Happened::Noticed(notice),
            ended = &mut working => Happened::Ended(ended.unwrap_or_else(|error| Err(StoreError::Conflict(error.to_string())))),
            () = until(deadline.filter(|_| work.finish == Finish::All)) => Happened::TimeIsUp,
        };
        match happened {
            Happened::Ended(ended) => break ended,
            Happened::Noticed(notice) => {
                teller.tell(&notice, output);
                work.look(&notice, output).await;
            }
            Happened::StopRequest(StopRequest::Once) => {
                output.note("interrupted: cancelling and cleaning up");
                work.cancel(Finish::Interrupted, output).await;
            }
            Happened::StopRequest(StopRequest::Again) => {
                teller.end();
                output.note("interrupted again: the next run cleans up");
                return Ok(Finish::Abandoned);
            }
            Happened::TimeIsUp => work.cancel(Finish::TimedOut, output).await,
        }
    };
    while let Ok(notice) = notices.try_recv() {
        teller.tell(&notice, output);
    }
    teller.end();
    ended?;
    work.close().await
}

impl Work<'_> {
    /// Ends the rest once a scenario did not pass, if that is wanted.
    async fn look(&mut self, notice: &Notice, output: &mut Output) {
        let Notice::Ended { result, .. } = notice else { return };
        if self.session.options.fail_fast && result.status != RowStatus::Pass && self.finish == Finish::All {
            output.note("a scenario did not pass: cancelling the rest");
            self.cancel(Finish::FailedFast, output).await;
        }
    }

    /// Cancels everything that has not ended. The first reason counts. Sandboxes are ended and removed also when the store
    /// does not answer.
    async fn cancel(&mut self, finish: Finish, output: &mut Output) {
        if self.finish == Finish::All {
            self.finish = finish;
        }
        self.control.cancel();
        if let Err(error) = self.cancel_runs(finish.note().unwrap_or_default()).await {
            output.note(format!("problem: the runs were not cancelled: {error}"));
        }
    }

    async fn cancel_runs(&self, reason: &str) -> Result<(), CommandError> {
        let store = &self.session.store;
        for run in self.runs {
            let numbers = Numbers::of(store, *run).await?;
            store.cancel(*run, reason, SystemClock.now(), &numbers).await?;
        }
        Ok(())
    }

    /// Closes the runs that the worker could not end.
    async fn close(mut self) -> Result<Finish, CommandError> {
        for run in self.runs {
            match self.session.store.run(*run).await?.state {
                RunState::Open if matches!(self.finish, Finish::All | Finish::Cancelled) => {
                    self.finish = Finish::NoRoom;
                }
                RunState::Cancelled if self.finish == Finish::All => self.finish = Finish::Cancelled,
                _ => {}
            }
        }
        if !matches!(self.finish, Finish::All | Finish::Cancelled) {
            self.cancel_runs(self.finish.note().unwrap_or_default()).await?;
        }
        Ok(self.finish)
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => future::pending::<()>().await,
    }
}

/// Timeout of background tasks at the end of a command.
pub(crate) const LAST: Duration = Duration::from_secs(5);
