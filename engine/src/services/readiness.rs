//! Waits until services are ready.

use std::sync::Arc;
use std::time::Duration;

use gateways::redact::Redactor;
use scenario::spec::sections::{Container, Service};
use tokio::time::Instant;

use super::start::LiveService;
use crate::attempt::Attempt;
use crate::backend::RunningService;
use crate::database::{Dial, NotReady, Readiness, ThroughDoor, ready};
use crate::error::EngineError;

/// Time limit of one try of `wait_for`.
const TRY: Duration = Duration::from_secs(10);
/// The pause between tries of `wait_for`.
const PAUSE: Duration = Duration::from_millis(100);
/// Interval of checks whether the container has ended.
const GLANCE: Duration = Duration::from_millis(500);
/// Length of a service's output in an error.
const SHOWN: usize = 1500;

/// The reason why a service is not ready.
#[derive(Debug, thiserror::Error)]
pub(super) enum WaitError {
    /// Its container is gone.
    #[error("its container ended")]
    Ended,
    /// The command of `wait_for` never succeeded.
    #[error("`{command}` did not succeed within {}s: {reason}", limit.as_secs_f64())]
    Command {
        /// The command.
        command: String,
        /// The time that it had.
        limit: Duration,
        /// The result of the last try.
        reason: String,
    },
    /// The service does not answer at one of its ports.
    #[error(transparent)]
    NoAnswer(#[from] NotReady),
}

/// The signs by which a service is known to be ready, and how long they may take.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    signs: Signs,
    limit: Duration,
}

/// The signs of a service that is ready.
#[derive(Debug, Clone)]
enum Signs {
    /// A command that succeeds in it.
    Command(String),
    /// Answers at all of its ports.
    Answers(Vec<Readiness>),
}

impl Ready {
    /// The signs that the spec states for a service, or the usual ones.
    pub(super) fn of(live: &LiveService, service: &Service, container: &Container, attempt: &Attempt<'_>) -> Self {
        let signs = match &container.wait_for {
            Some(command) => Signs::Command(command.render(&attempt.values())),
            None => Signs::Answers(answers(live, service, container)),
        };
        Self { signs, limit: container.wait_timeout.get() }
    }

    /// Waits until the service is ready; else the reason why it is not.
    pub(super) async fn wait(&self, running: &dyn RunningService) -> Result<(), WaitError> {
        let waiting = async {
            match &self.signs {
                Signs::Command(command) => wait_for(running, command, self.limit).await,
                Signs::Answers(answers) => wait_for_answers(running, answers, self.limit).await,
            }
        };
        tokio::select! {
            result = waiting => result,
            () = ended(running) => Err(WaitError::Ended),
        }
    }
}

/// Waits until a service is ready, and says what it printed when it is not.
pub(super) async fn wait(
    live: &LiveService,
    service: &Service,
    ready: &Ready,
    attempt: &Attempt<'_>,
) -> Result<(), EngineError> {
    let Err(error) = ready.wait(&*live.running).await else { return Ok(()) };
    // Before it is cut: half a secret would not be found any more.
    let output = Redactor::new(attempt.secrets, "hidden").text(&live.running.last_output().await);
    let length = output.chars().count();
    let output: String = output.chars().skip(length.saturating_sub(SHOWN)).collect();
    let output = if output.is_empty() { String::new() } else { format!("\nits last output:\n{output}") };
    Err(EngineError::ServiceNotReady { service: service.name().to_string(), reason: error.to_string(), output })
}

/// Returns once the container has ended.
async fn ended(running: &dyn RunningService) {
    loop {
        tokio::time::sleep(GLANCE).await;
        if matches!(running.is_running().await, Ok(false)) {
            return;
        }
    }
}

async fn wait_for(running: &dyn RunningService, command: &str, limit: Duration) -> Result<(), WaitError> {
    let words = ["sh", "-c", command].map(ToOwned::to_owned);
    let deadline = Instant::now() + limit;
    let mut reason = "it was still running".to_owned();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match tokio::time::timeout(TRY.min(left), running.run(&words, TRY)).await {
            Ok(Ok((0, _))) => return Ok(()),
            Ok(Ok((code, output))) => reason = format!("exit code {code} {output}"),
            Ok(Err(error)) => reason = error.to_string(),
            // What an earlier try said is more than that this one had no time left.
            Err(_) => {}
        }
        if Instant::now() >= deadline {
            return Err(WaitError::Command { command: command.to_owned(), limit, reason: reason.trim().to_owned() });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn wait_for_answers(
    running: &dyn RunningService,
    answers: &[Readiness],
    limit: Duration,
) -> Result<(), WaitError> {
    let dial: Arc<dyn Dial> = Arc::new(ThroughDoor(running.door().clone()));
    for readiness in answers {
        ready(readiness, &dial, limit).await?;
    }
    Ok(())
}

/// The usual signs: a database answers a question, others accept a connection at each port.
fn answers(live: &LiveService, service: &Service, container: &Container) -> Vec<Readiness> {
    let is_redis = container.image.source().to_lowercase().contains("redis");
    let ports = service.ports().into_iter().filter_map(|port| u16::try_from(port).ok());
    match &live.database {
        Some((database, credentials)) => {
            vec![Readiness::Sql { database: *database, credentials: credentials.clone() }]
        }
        None if is_redis => ports.map(|port| Readiness::Redis { port }).collect(),
        None => ports.map(|port| Readiness::Tcp { port }).collect(),
    }
}
