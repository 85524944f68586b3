//! Calls under tool contracts: permitted before they are carried out, and tools that are hidden from lists.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::{Value as Json, json};
use tokio::time::{Instant, interval_at};
use tool_contracts::{Outcome, Via};

use super::Inner;
use super::call::ToolCall;
use super::protocol::notification;
use super::result::ToolResult;
use crate::contract_session::{ContractSession, ExecutionRequest, Permit, SESSION_TOKEN, UnknownToken, line_of};

/// Interval at which a client that wants progress is notified that its call waits.
const STILL_WAITING: Duration = Duration::from_secs(5);

/// A call that tool contracts let through.
#[derive(Debug)]
pub(super) struct PermittedCall {
    session: Option<Arc<ContractSession>>,
    id: String,
    began: Instant,
}

impl Inner {
    /// Requests permission to carry a call out; returns the agent's result where it is refused.
    pub(super) async fn permit(&self, call: &ToolCall) -> Result<PermittedCall, ToolResult> {
        let began = Instant::now();
        let Some(session) = call.contracts.as_ref().or(self.contracts.as_ref()) else {
            return Ok(PermittedCall { session: None, id: String::new(), began });
        };
        let request = ExecutionRequest {
            via: Via::Mcp,
            tool: call.tool.clone(),
            arguments: Json::Object(call.arguments.clone()),
            model_id: call.id.clone(),
        };
        match waited_for(session.permit(request), call).await {
            Permit::NotJudged => Ok(PermittedCall { session: None, id: String::new(), began }),
            Permit::Granted(id) => Ok(PermittedCall { session: Some(Arc::clone(session)), id, began: Instant::now() }),
            Permit::Refused { call, reason } => Err(refused(reason.code.name(), &line_of(&reason), &call)),
            Permit::Pending => {
                Err(refused("approval_pending", "a person is asked to approve this call; call it again to wait", ""))
            }
            Permit::Broken => Err(refused("session_killed", "the session has ended", "")),
        }
    }

    /// The session of a workflow that a request names, by either header; `None` when it belongs to the only one, or the first.
    pub(super) fn session_of(&self, headers: &HeaderMap) -> Result<Option<Arc<ContractSession>>, UnknownToken> {
        let Some(root) = self.contracts.as_ref().filter(|root| root.has_workflow()) else { return Ok(None) };
        // A header that is no text is no token of ours.
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let bearer = text(AUTHORIZATION.as_str()).map(|value| match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => "",
        });
        root.find(text(SESSION_TOKEN).or(bearer)).map(Some)
    }

    /// Notifies clients when contracts show other tools than before, for ever.
    pub(super) async fn follow_contracts(self: Arc<Self>, session: Arc<ContractSession>) {
        let offered = || self.catalogue.offered().iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
        let mut shown = session.follow_shown(&offered());
        loop {
            shown.changed(&session, offered).await;
            self.sessions.notify(notification("notifications/tools/list_changed", json!({})));
        }
    }
}

/// Waits for a decision, and tells a client that wants progress that its call waits.
async fn waited_for(permit: impl Future<Output = Permit>, call: &ToolCall) -> Permit {
    let Some(progress) = &call.progress else { return permit.await };
    tokio::pin!(permit);
    let mut ticks = interval_at(Instant::now() + STILL_WAITING, STILL_WAITING);
    let mut told = 0;
    loop {
        tokio::select! {
            permit = &mut permit => return permit,
            _ = ticks.tick() => {
                told += 1;
                progress.tell(json!({"progress": told, "message": "waiting for an approval"}));
            }
        }
    }
}

/// A refusal that the model can read.
fn refused(code: &str, message: &str, call: &str) -> ToolResult {
    ToolResult::refused(
        format!("The call was refused ({code}): {message}"),
        &json!({"contract": {"code": code, "message": message, "call": call}}),
    )
}

impl PermittedCall {
    /// Reports the outcome of the call to the session, before the agent gets the answer.
    pub(super) fn complete(self, result: Option<&ToolResult>, error: Option<&str>, is_lost: bool) {
        let Some(session) = self.session else { return };
        let outcome = match (result, error) {
            _ if is_lost => Outcome::Lost,
            (Some(result), _) if result.is_error() => Outcome::Error(object(result.to_value())),
            (Some(result), _) if result.is_blank() => Outcome::OkEmpty,
            (Some(result), _) => Outcome::Ok(object(result.to_value())),
            (None, error) => Outcome::Error(json!({"message": error.unwrap_or_default()})),
        };
        let latency = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        session.complete(&self.id, &outcome, latency);
    }
}

/// A value as rules read it: an object or a list as it is, anything else as `_text`.
fn object(value: Json) -> Json {
    match value {
        Json::Object(_) | Json::Array(_) => value,
        Json::String(text) => json!({"_text": text}),
        other => json!({"_text": other.to_string()}),
    }
}
