//! A client of MCP over HTTP: one session, in which tools are listed and called.

use std::fmt;
use std::io;

use serde_json::{Map, Value as Json, json};

use super::address::Address;
use super::answer::message;
use super::http::{self, Answer, Request};

/// The version of MCP that is spoken.
const VERSION: &str = "2025-06-18";
/// Number of pages that a list may have.
const MOST_PAGES: usize = 1000;
/// Length at which an answer that is no message is cut off when it is shown.
const MOST_SHOWN: usize = 300;

/// A session.
#[derive(Debug)]
pub(super) struct Client {
    address: Address,
    session: Option<String>,
    version: String,
    /// Number of requests that were made, which is also the id of the last one.
    requests: u64,
}

/// The gateway could not be asked.
#[derive(Debug)]
pub(super) enum ClientError {
    /// No answer came.
    Connection { address: Address, cause: io::Error },
    /// The answer has a status that stands for a failure.
    Status { status: u16, body: String },
    /// The answer is no message of MCP.
    NoMessage { method: &'static str },
    /// The request was refused.
    Refused { message: String },
    /// A list has no end.
    Endless,
}

impl Client {
    /// Begins a session.
    pub(super) fn connect(address: Address) -> Result<Self, ClientError> {
        let mut client = Self { address, session: None, version: VERSION.to_owned(), requests: 0 };
        client.initialize()?;
        Ok(client)
    }

    /// All tools, of all pages.
    pub(super) fn tools(&mut self) -> Result<Vec<Json>, ClientError> {
        let mut tools = Vec::new();
        let mut page = json!({});
        for _ in 0..MOST_PAGES {
            let result = self.ask("tools/list", &page)?;
            tools.extend(result.get("tools").and_then(Json::as_array).cloned().unwrap_or_default());
            match result.get("nextCursor").filter(|cursor| cursor.is_string()) {
                Some(cursor) => page = json!({ "cursor": cursor }),
                None => return Ok(tools),
            }
        }
        Err(ClientError::Endless)
    }

    /// Calls a tool.
    pub(super) fn call(&mut self, name: &str, arguments: Map<String, Json>) -> Result<Json, ClientError> {
        self.ask("tools/call", &json!({ "name": name, "arguments": arguments }))
    }

    fn initialize(&mut self) -> Result<(), ClientError> {
        self.session = None;
        VERSION.clone_into(&mut self.version);
        let info = json!({ "name": super::NAME, "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": info });
        let (answer, result) = self.exchange("initialize", &hello)?;
        let session = answer.header("mcp-session-id").filter(|id| id.bytes().all(|byte| byte.is_ascii_graphic()));
        self.session = session.map(ToOwned::to_owned);
        let version = result.get("protocolVersion").and_then(Json::as_str);
        if let Some(version) = version.filter(|version| version.bytes().all(|byte| byte.is_ascii_graphic())) {
            version.clone_into(&mut self.version);
        }
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), &|_| true)?;
        Ok(())
    }

    /// Makes a request. A session that the gateway no longer knows is begun again, once: it has done nothing then.
    fn ask(&mut self, method: &'static str, parameters: &Json) -> Result<Json, ClientError> {
        match self.exchange(method, parameters) {
            Err(ClientError::Status { status: 404, .. }) if self.session.is_some() => {
                self.initialize()?;
                self.exchange(method, parameters).map(|(_, result)| result)
            }
            other => other.map(|(_, result)| result),
        }
    }

    fn exchange(&mut self, method: &'static str, parameters: &Json) -> Result<(Answer, Json), ClientError> {
        self.requests += 1;
        let id = self.requests;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        let answer = self.send(&request, &|answer| message(answer, id).is_some())?;
        let mut reply = message(&answer, id).ok_or(ClientError::NoMessage { method })?;
        if let Some(error) = reply.get("error") {
            let text = error.get("message").and_then(Json::as_str).map_or_else(|| error.to_string(), ToOwned::to_owned);
            return Err(ClientError::Refused { message: text });
        }
        let result = reply.get_mut("result").map(Json::take).unwrap_or_default();
        Ok((answer, result))
    }

    /// Sends a message; an answer that stands for a failure is an error.
    fn send(&self, message: &Json, is_enough: &dyn Fn(&Answer) -> bool) -> Result<Answer, ClientError> {
        let mut headers = self.headers();
        headers.push(("Content-Type", "application/json".to_owned()));
        headers.push(("Accept", "application/json, text/event-stream".to_owned()));
        let body = message.to_string();
        let request = Request { method: "POST", headers: &headers, body: body.as_bytes(), is_enough };
        let answer = http::send(&self.address, &request)
            .map_err(|cause| ClientError::Connection { address: self.address.clone(), cause })?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        let body = String::from_utf8_lossy(&answer.body).chars().take(MOST_SHOWN).collect();
        Err(ClientError::Status { status: answer.status, body })
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if self.requests > 1 || self.session.is_some() {
            headers.push(("MCP-Protocol-Version", self.version.clone()));
        }
        headers.extend(self.session.clone().map(|session| ("Mcp-Session-Id", session)));
        headers
    }
}

impl Drop for Client {
    /// Ends the session, so that the gateway need not keep it.
    fn drop(&mut self) {
        if self.session.is_some() {
            let request = Request { method: "DELETE", headers: &self.headers(), body: &[], is_enough: &|_| true };
            let _ = http::send(&self.address, &request);
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { address, cause } => {
                write!(
                    formatter,
                    "cannot ask the gateway of tools at http://{}{}: {cause}",
                    address.authority(),
                    address.path
                )
            }
            Self::Status { status, body } => {
                write!(formatter, "the gateway of tools answers with status {status}: {body}")
            }
            Self::NoMessage { method } => write!(formatter, "the answer to `{method}` is no message of MCP"),
            Self::Refused { message } => write!(formatter, "{message}"),
            Self::Endless => write!(formatter, "the list of tools has more than {MOST_PAGES} pages"),
        }
    }
}
