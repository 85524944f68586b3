//! The end of a sandbox: it is removed, or kept for a person to look into.

use scenario::evidence::Evidence;

use super::{begin, end as end_phase, redacted};
use crate::attempt::Attempt;
use crate::backend::{Image, Sandbox};
use crate::environment;
use crate::error::EngineError;
use crate::event::{Event, Events, Phase};
use crate::kept::Visitor;
use crate::users::User;

/// Removes the sandbox, or keeps it. What a reader should know about that is in the evidence, or told where there is none.
pub(super) async fn end(
    sandbox: &dyn Sandbox,
    attempt: &Attempt<'_>,
    (image, user): (&Image, Option<&User>),
    mut outcome: Result<Evidence, EngineError>,
    events: &Events,
) -> Result<Evidence, EngineError> {
    let started = begin(events, Phase::Destroy);
    let mut notes = Vec::new();
    let visitor = visitor(attempt, image, user);
    if !is_wanted(attempt, &outcome) || !keep(sandbox, &visitor, attempt, events, &mut notes).await {
        destroy(sandbox, attempt, events, &mut notes).await;
    }
    match &mut outcome {
        Ok(evidence) => evidence.notes.extend(notes),
        Err(_) => notes.into_iter().for_each(|note| events.tell(Event::Note(note))),
    }
    end_phase(events, Phase::Destroy, started);
    outcome
}

/// Returns true if the sandbox is to be kept.
fn is_wanted(attempt: &Attempt<'_>, outcome: &Result<Evidence, EngineError>) -> bool {
    match outcome {
        Err(EngineError::Cancelled) => false,
        outcome => attempt.keep.applies(outcome.as_ref().ok()),
    }
}

/// Returns the user of a person who looks inside: the agent's user, or root when the preparation failed before it was
/// known.
fn visitor(attempt: &Attempt<'_>, image: &Image, user: Option<&User>) -> Visitor {
    let root = User { uid: 0, gid: 0, groups: Vec::new(), home: "/root".to_owned() };
    let user = user.unwrap_or(&root);
    let environment = environment::of_a_person(attempt, image, user);
    Visitor { uid: user.uid, gid: user.gid, groups: user.groups.clone(), environment }
}

/// Keeps the sandbox. When that fails it is to be removed like any other.
async fn keep(
    sandbox: &dyn Sandbox,
    visitor: &Visitor,
    attempt: &Attempt<'_>,
    events: &Events,
    notes: &mut Vec<String>,
) -> bool {
    let name = sandbox.name();
    match sandbox.keep(visitor).await {
        Ok(()) => {
            events.tell(Event::SandboxKept { name: name.to_owned() });
            let services =
                if sandbox.keeps_services() { "its services are there, its mocks" } else { "its services and mocks" };
            notes.push(format!(
                "the sandbox {name} was kept: look inside with `touchstone shell {name}`; {services} are gone; `touchstone sweep --kept` removes it"
            ));
            true
        }
        Err(error) => {
            let error = redacted::error(error, attempt.secrets);
            tracing::warn!(sandbox = %name, %error, "the sandbox {name} could not be kept");
            notes.push(format!("the sandbox could not be kept: {error}"));
            false
        }
    }
}

async fn destroy(sandbox: &dyn Sandbox, attempt: &Attempt<'_>, events: &Events, notes: &mut Vec<String>) {
    let name = sandbox.name();
    match sandbox.destroy().await {
        Ok(()) => events.tell(Event::SandboxDestroyed { name: name.to_owned() }),
        Err(error) => {
            let error = redacted::error(error, attempt.secrets);
            tracing::error!(sandbox = %name, %error, "the sandbox {name} was not removed");
            notes.push(format!("the sandbox was not removed: {error}"));
        }
    }
}
