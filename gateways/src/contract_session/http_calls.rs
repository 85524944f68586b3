//! Requests to governed services: which call a request is, and how it is refused.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use percent_encoding::percent_decode_str;
use scenario::hex;
use scenario::spec::sections::{ArgumentKind, BlockResponse, BodyArguments, NarrowingFeedback, PathPiece};
use scenario::spec::sections::{GovernedTool, RequestMatch};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use tool_contracts::{Outcome, Via};

use super::{ContractSession, ExecutionRequest, Permit, UnknownToken, line_of};

/// The header by which the tool gateway marks requests of calls that were decided on already.
pub(crate) const MARK: &str = "x-touchstone-decided";

/// A request to a service.
#[derive(Debug, Clone)]
pub(crate) struct ServiceRequest<'a> {
    /// The method.
    pub(crate) method: &'a str,
    /// The path without the query.
    pub(crate) path: &'a str,
    /// The parameters of the query, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// The type of the body.
    pub(crate) content_type: &'a str,
    /// The body, as far as it is kept.
    pub(crate) body: &'a [u8],
    /// The size of the body in bytes.
    pub(crate) size: u64,
    /// The token of the session in a workflow, where the request has one.
    pub(crate) token: Option<&'a str>,
}

/// Decides on the requests to one service.
#[derive(Debug)]
pub struct ServiceGovernor {
    session: Arc<ContractSession>,
    service: String,
    routes: Vec<HttpRoute>,
    refusal: Option<BlockResponse>,
    /// The value of the mark, which nobody in the sandbox knows.
    mark: String,
}

/// Requests that are calls of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRoute {
    /// The tool, with the parts of the request that are its arguments.
    pub tool: GovernedTool,
    /// The requests.
    pub matches: RequestMatch,
}

/// The decision on a request.
#[derive(Debug)]
pub(crate) enum Governed {
    /// The agent has not started, so that nothing is decided.
    NotJudged,
    /// The request may go on, as this call.
    Granted(GovernedCall),
    /// The request is refused with this answer.
    Refused(ServiceRefusal),
}

/// The answer to a request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceRefusal {
    pub(crate) status: StatusCode,
    pub(crate) body: RefusalBody,
    /// The header that names the decision, where the agent gets it.
    pub(crate) decision: Option<HeaderValue>,
}

/// The body of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefusalBody {
    /// None.
    Empty,
    /// A text.
    Text(String),
    /// JSON.
    Json(Bytes),
}

/// A request that may go on, as a call of a session.
#[derive(Debug)]
pub(crate) struct GovernedCall {
    session: Arc<ContractSession>,
    call: String,
}

impl GovernedCall {
    /// Takes the answer to the request.
    pub(crate) fn complete(&self, outcome: &Outcome, latency_ms: u64) {
        self.session.complete(&self.call, outcome, latency_ms);
    }
}

impl Drop for GovernedCall {
    /// A client that hangs up keeps no resource from other sessions.
    fn drop(&mut self) {
        self.session.inner.leave_workflow(&self.call);
    }
}

impl ServiceGovernor {
    /// Decides on the requests to a service.
    #[must_use]
    pub fn new(
        session: Arc<ContractSession>,
        service: &str,
        routes: Vec<HttpRoute>,
        refusal: Option<BlockResponse>,
        mark: &str,
    ) -> Self {
        Self { session, service: service.to_owned(), routes, refusal, mark: mark.to_owned() }
    }

    /// True when the tool gateway sent a request, which has decided on its call.
    pub(crate) fn is_decided(&self, mark: Option<&str>) -> bool {
        mark == Some(self.mark.as_str())
    }

    /// Decides on a request.
    pub(crate) async fn permit(&self, request: &ServiceRequest<'_>, model_id: Option<&str>) -> Governed {
        let (tool, arguments) = self.call_of(request);
        let Ok(session) = self.session.find(request.token) else {
            return Governed::Refused(unknown_token());
        };
        let permit = session
            .permit(ExecutionRequest { via: Via::Http, tool, arguments, model_id: model_id.map(ToOwned::to_owned) })
            .await;
        match permit {
            Permit::NotJudged => Governed::NotJudged,
            Permit::Granted(call) => Governed::Granted(GovernedCall { session, call }),
            Permit::Refused { call, reason } => {
                Governed::Refused(self.refused(reason.code.name(), &line_of(&reason), &call))
            }
            Permit::Pending => {
                let message = "a person is asked to approve this call; send it again to wait for the decision";
                Governed::Refused(self.refused("approval_pending", message, ""))
            }
            Permit::Broken => Governed::Refused(self.refused("session_killed", "the session has ended", "")),
        }
    }

    /// True when a header tells which session of a workflow a request belongs to.
    pub(crate) fn has_sessions(&self) -> bool {
        self.session.has_workflow()
    }

    /// The tool and the arguments of a request. One that no route takes is a tool of its own.
    fn call_of(&self, request: &ServiceRequest<'_>) -> (String, Json) {
        let found = self.routes.iter().find_map(|route| Some((route, route.path_arguments(request)?)));
        match found {
            Some((route, path)) => (route.tool.tool.to_string(), route.arguments(request, path)),
            None => {
                let tool = format!("http:{}:{} {}", self.service, request.method, request.path);
                (tool, body_arguments(request))
            }
        }
    }

    fn refused(&self, code: &str, message: &str, call: &str) -> ServiceRefusal {
        let (status, body) = match &self.refusal {
            Some(own) => {
                let status = u16::try_from(own.status.get()).ok().and_then(|status| StatusCode::from_u16(status).ok());
                let status = status.unwrap_or(StatusCode::FORBIDDEN);
                let body = match &own.body {
                    Some(Json::String(text)) => RefusalBody::Text(text.clone()),
                    Some(body) => RefusalBody::Json(body.to_string().into()),
                    None => RefusalBody::Empty,
                };
                (status, body)
            }
            None => {
                let error =
                    json!({"error": {"type": "contract_violation", "code": code, "message": message, "call": call}});
                (StatusCode::FORBIDDEN, RefusalBody::Json(error.to_string().into()))
            }
        };
        let tells = self.session.feedback() == NarrowingFeedback::Metadata;
        let decision = tells.then(|| HeaderValue::from_str(&format!("block;{code}")).ok()).flatten();
        ServiceRefusal { status, body, decision }
    }
}

/// The answer to a request with a token that no session has.
fn unknown_token() -> ServiceRefusal {
    let error = json!({"error": {"type": "unknown_session", "message": UnknownToken.to_string()}});
    let body = RefusalBody::Json(error.to_string().into());
    ServiceRefusal { status: StatusCode::UNAUTHORIZED, body, decision: None }
}

impl HttpRoute {
    /// The arguments in the path; `None` when the route does not take the request.
    fn path_arguments(&self, request: &ServiceRequest<'_>) -> Option<Map<String, Json>> {
        if !self.matches.method.as_str().eq_ignore_ascii_case(request.method) {
            return None;
        }
        let mut found = Map::new();
        take_path(self.matches.path.pieces(), &plain_path(request.path), &mut found).then_some(found)
    }

    fn arguments(&self, request: &ServiceRequest<'_>, path: Map<String, Json>) -> Json {
        let args = &self.tool.args;
        let mut arguments = match args.body {
            BodyArguments::Json => match body_arguments(request) {
                Json::Object(fields) => fields,
                _ => Map::new(),
            },
            BodyArguments::None => Map::new(),
        };
        if args.query {
            for (name, value) in &request.query {
                arguments.insert(name.clone(), self.typed(name, value));
            }
        }
        if args.path {
            for (name, value) in path {
                let value = value.as_str().map_or(Json::Null, |text| self.typed(&name, text));
                arguments.insert(name, value);
            }
        }
        Json::Object(arguments)
    }

    /// An argument of a path or query in its type. A text that is none of its type stays a text, so that rules refuse it.
    fn typed(&self, name: &str, text: &str) -> Json {
        let kind = self.tool.types.iter().find(|(known, _)| known.as_str() == name).map(|(_, kind)| *kind);
        let typed = match kind {
            Some(ArgumentKind::Integer) => text.parse::<i64>().ok().map(Json::from),
            Some(ArgumentKind::Number) => serde_json::from_str::<Json>(text).ok().filter(Json::is_number),
            Some(ArgumentKind::Boolean) => text.parse::<bool>().ok().map(Json::from),
            Some(ArgumentKind::String) | None => None,
        };
        typed.unwrap_or_else(|| text.into())
    }
}

/// The fields of a JSON body; another body is described.
fn body_arguments(request: &ServiceRequest<'_>) -> Json {
    if request.size == 0 {
        return json!({});
    }
    match serde_json::from_slice::<Json>(request.body) {
        Ok(fields @ Json::Object(_)) => fields,
        _ => json!({
            "_raw_sha256": hex(Sha256::digest(request.body)),
            "_bytes": request.size,
            "_content_type": request.content_type,
        }),
    }
}

/// The path with letters, digits and `-._~` as they are, however they were written. Everything else stays encoded, so that it
/// is decoded once.
fn plain_path(path: &str) -> String {
    let mut plain = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        match byte.filter(is_plain) {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = &after[2..];
            }
            None => {
                plain.push('%');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Takes a path apart by the pieces of a route. An argument takes at least one character, and no slash.
fn take_path(pieces: &[PathPiece], path: &str, found: &mut Map<String, Json>) -> bool {
    match pieces.split_first() {
        None => path.is_empty(),
        Some((PathPiece::Literal(text), rest)) => {
            path.strip_prefix(text.as_str()).is_some_and(|more| take_path(rest, more, found))
        }
        Some((PathPiece::Argument(name), rest)) => {
            let end = path.find('/').unwrap_or(path.len());
            let ends = (1..=end).rev().filter(|end| path.is_char_boundary(*end));
            for end in ends {
                let mut taken = found.clone();
                if take_path(rest, &path[end..], &mut taken) {
                    let value = percent_decode_str(&path[..end]).decode_utf8_lossy().into_owned();
                    taken.insert(name.clone(), value.into());
                    *found = taken;
                    return true;
                }
            }
            false
        }
    }
}

/// The outcome that an answer of a service is.
pub(crate) fn outcome_of(status: u16, body: &[u8], is_lost: bool) -> Outcome {
    if is_lost {
        return Outcome::Lost;
    }
    let mut output = match serde_json::from_slice::<Json>(body) {
        Ok(Json::Object(fields)) => fields,
        Ok(value) if !body.is_empty() => Map::from_iter([("_value".to_owned(), value)]),
        _ if body.is_empty() => Map::new(),
        _ => Map::from_iter([("_text".to_owned(), String::from_utf8_lossy(body).into())]),
    };
    let is_success = (200..300).contains(&status);
    if is_success && body.is_empty() {
        return Outcome::OkEmpty;
    }
    output.insert("_status".to_owned(), status.into());
    if is_success {
        return Outcome::Ok(Json::Object(output));
    }
    output.entry("status").or_insert_with(|| status.into());
    Outcome::Error(Json::Object(output))
}

#[cfg(test)]
mod tests {
    use scenario::spec::sections::ToolPath;
    use serde_json::{Map, json};
    use tool_contracts::Outcome;

    use super::{outcome_of, plain_path, take_path};

    fn taken(route: &str, path: &str) -> Option<serde_json::Value> {
        let route = ToolPath::new(route).expect("a path");
        let mut found = Map::new();
        take_path(route.pieces(), &plain_path(path), &mut found).then(|| found.into())
    }

    #[test]
    fn a_path_gives_its_arguments() {
        assert_eq!(taken("/refunds/{id}", "/refunds/7"), Some(json!({"id": "7"})));
        assert_eq!(taken("/refunds/{id}", "/refunds/a%2Fb"), Some(json!({"id": "a/b"})));
        assert_eq!(taken("/refunds/{id}", "/refunds/7/items"), None);
        assert_eq!(taken("/refunds/{id}", "/refunds/"), None);
        assert_eq!(taken("/a/{x}.json/{y}", "/a/b.c.json/d"), Some(json!({"x": "b.c", "y": "d"})));
        assert_eq!(taken("/refunds", "/refund%73"), Some(json!({})), "an encoded letter is the same letter");
        assert_eq!(taken("/refund%73/{id}", "/refunds/1"), None, "a route is written plainly");
        assert_eq!(taken("/refunds/{id}", "/%72efunds/%2531"), Some(json!({"id": "%31"})), "decoded once");
        assert_eq!(taken("/refunds", "/refunds/"), None);
    }

    #[test]
    fn an_answer_is_an_outcome() {
        assert_eq!(outcome_of(200, b"{\"ok\": true}", false), Outcome::Ok(json!({"ok": true, "_status": 200})));
        assert_eq!(outcome_of(204, b"", false), Outcome::OkEmpty);
        assert_eq!(outcome_of(200, b"done", false), Outcome::Ok(json!({"_text": "done", "_status": 200})));
        let refused = json!({"code": "no", "_status": 409, "status": 409});
        assert_eq!(outcome_of(409, b"{\"code\": \"no\"}", false), Outcome::Error(refused));
        assert_eq!(outcome_of(200, b"{}", true), Outcome::Lost);
    }
}
