//! Asks the worker that has a sandbox.

use std::time::Duration;

use scenario::interactive::{Ask, Refusal, RefusalKind, Reply};
use store::{Sandbox, SandboxState};
use tokio::time::timeout;

use crate::app::App;
use crate::error::ApiError;

/// Timeout of an answer: less than clients wait, which is 30 s.
const PATIENCE: Duration = Duration::from_secs(28);

/// Asks about a sandbox that can be used.
pub(super) async fn ask(app: &App, sandbox: &Sandbox, ask: Ask) -> Result<Reply, ApiError> {
    require_usable(app, sandbox)?;
    forward(app, sandbox, ask).await
}

/// True when a sandbox can be asked.
pub(super) fn is_usable(app: &App, sandbox: &Sandbox) -> bool {
    require_usable(app, sandbox).is_ok()
}

fn require_usable(app: &App, sandbox: &Sandbox) -> Result<(), ApiError> {
    let refuse = |kind, message: String| Err(ApiError::of_worker(Refusal::new(kind, message)));
    let id = &sandbox.new.id;
    match sandbox.state {
        SandboxState::Creating if sandbox.wanted => {
            refuse(RefusalKind::NotReady, format!("sandbox {id} is being made; ask again when its state is `ready`"))
        }
        SandboxState::Error => {
            let reason = sandbox.error.as_deref().unwrap_or("it is broken");
            refuse(RefusalKind::Gone, format!("sandbox {id} cannot be used: {reason}"))
        }
        SandboxState::Ready if sandbox.expires_at <= app.clock.now() => {
            refuse(RefusalKind::Gone, format!("the time of sandbox {id} is over"))
        }
        SandboxState::Ready if sandbox.wanted => Ok(()),
        SandboxState::Stopped | SandboxState::Creating | SandboxState::Ready => {
            refuse(RefusalKind::Gone, format!("sandbox {id} was ended"))
        }
    }
}

/// Passes a question on to the worker of a sandbox, whatever state that is in.
pub(super) async fn forward(app: &App, sandbox: &Sandbox, ask: Ask) -> Result<Reply, ApiError> {
    let lost = || {
        let message = format!("the worker that had sandbox {} is not there any more", sandbox.new.id);
        ApiError::of_worker(Refusal::new(RefusalKind::Gone, message))
    };
    let worker = sandbox.worker.ok_or_else(lost)?;
    let known = app.store.worker(worker).await?.ok_or_else(lost)?;
    let answer = timeout(PATIENCE, app.workers.ask(&worker.to_string(), &known.new.control, ask)).await;
    match answer {
        Ok(answer) => answer.map_err(ApiError::of_worker),
        Err(_) => {
            let message = "the worker that has this sandbox did not answer in time";
            Err(ApiError::of_worker(Refusal::new(RefusalKind::TimedOut, message)))
        }
    }
}

/// An answer to another question than was asked.
pub(super) fn misunderstood() -> ApiError {
    let message = "the worker that has this sandbox answered something else than was asked; is it of another version?";
    ApiError::of_worker(Refusal::new(RefusalKind::Failed, message))
}
