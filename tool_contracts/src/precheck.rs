//! The pre-check, before a request goes to a model.

use serde_json::Value as Json;

use crate::call::ModelRequest;
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::Reason;
use crate::provider;
use crate::state::{SessionState, Status};

/// The result of a pre-check.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Precheck {
    /// The reason why the request is refused; `None` when it may go on.
    pub refusal: Option<Reason>,
    /// Remarks.
    pub warnings: Vec<Reason>,
}

/// Checks a request before it goes to a model.
#[must_use]
pub fn precheck(set: &Compiled, state: &SessionState, request: &ModelRequest) -> Precheck {
    let (provider_refusal, warnings) = provider::check(set, request);
    let refusal = killed(state)
        .or(provider_refusal)
        .or_else(|| steps_used_up(set, state))
        .or_else(|| cost_used_up(set, state))
        .or_else(|| calls_used_up(set, state, request));
    Precheck { refusal, warnings }
}

fn killed(state: &SessionState) -> Option<Reason> {
    let words = match &state.status {
        Status::Killed(cause) => format!("the session was killed ({cause})"),
        Status::Closed => "the session is closed".to_owned(),
        Status::Active | Status::Paused | Status::CancelRequested => return None,
    };
    Some(Reason::new(Code::SessionKilled, "session", words))
}

fn steps_used_up(set: &Compiled, state: &SessionState) -> Option<Reason> {
    let most = set.session.limits.max_steps.filter(|most| state.total_steps >= *most)?;
    let sentence = format!("the session's {most} steps are used up");
    let reason = Reason::new(Code::SessionLimitExceeded, "session_limits/max_steps", sentence);
    Some(reason.checked("max_steps", most).found("steps", state.total_steps))
}

/// The last call may go over the budget, because its cost is not known before.
fn cost_used_up(set: &Compiled, state: &SessionState) -> Option<Reason> {
    let most = set.session.limits.max_cost_micros.filter(|most| state.cost_micros >= *most)?;
    let rule = "session_limits/max_cost_per_session";
    let reason = Reason::new(Code::SessionLimitExceeded, rule, "the session's budget for models is used up");
    Some(reason.checked("max_cost_micros", most).found("cost_micros", state.cost_micros))
}

/// A request without tools passes, so that the model can still answer in text.
fn calls_used_up(set: &Compiled, state: &SessionState, request: &ModelRequest) -> Option<Reason> {
    let offers = request.body.get("tools").and_then(Json::as_array).is_some_and(|tools| !tools.is_empty());
    if !offers || set.session.limits.is_narrowing || !state.has_used_calls(set) {
        return None;
    }
    let sentence = "the session's calls are used up, and the request offers tools";
    Some(Reason::new(Code::SessionLimitExceeded, "session_limits/max_tool_calls", sentence))
}
