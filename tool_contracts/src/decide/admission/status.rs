//! R1: the session goes on.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::state::{SessionState, Status};

/// Refuses every call of a session that was ended or asked to end.
pub(crate) fn judge(context: &Context<'_>) -> Option<Reason> {
    ended(context.state)
}

/// Returns why the session calls nothing more.
pub(crate) fn ended(state: &SessionState) -> Option<Reason> {
    let (code, words) = match &state.status {
        Status::Killed(cause) => (Code::SessionKilled, format!("the session was killed ({cause})")),
        Status::Closed => (Code::SessionKilled, "the session is closed".to_owned()),
        Status::CancelRequested => (Code::SessionCancelRequested, "the session was asked to end".to_owned()),
        Status::Active | Status::Paused => return None,
    };
    Some(Reason::new(code, "session", words).found("status", state.status.name()))
}
