//! Tools that are HTTP operations of services.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use scenario::spec::sections::{ArgumentPlace, HttpTool, PathPiece};
use serde_json::{Map, Value as Json};

use super::result::ToolResult;
use super::service_client::{ServiceAnswer, ServiceClient, ServiceFailure};

/// The characters that stand for themselves in a piece of a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An HTTP operation that is ready to be called.
#[derive(Debug)]
pub(super) struct Operation {
    operation: HttpTool,
    /// Headers with templates replaced. They may hold secrets.
    headers: Vec<(HeaderName, HeaderValue)>,
    client: ServiceClient,
}

/// The reason why arguments make no request.
#[derive(Debug, thiserror::Error)]
enum NoRequest {
    #[error("the argument `{0}` is missing, and the path needs it")]
    Missing(String),
    #[error("the argument `{0}` is empty, and the path needs it")]
    Empty(String),
    #[error("the arguments make a path that leads up")]
    LeadsUp,
    #[error("the arguments make no request that can be sent")]
    Unsendable(#[from] http::Error),
}

impl Operation {
    /// An operation with its headers, of the service that the client reaches. Headers that HTTP does not have are left out.
    pub(super) fn new(operation: HttpTool, headers: &[(String, String)], client: ServiceClient) -> Self {
        let header = |(name, value): &(String, String)| {
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(value.as_bytes()).ok()?))
        };
        Self { operation, headers: headers.iter().filter_map(header).collect(), client }
    }

    /// Closes connections to its service that nobody uses.
    pub(super) fn close_idle(&self) {
        self.client.close_idle();
    }

    /// Calls it.
    pub(super) async fn call(&self, arguments: &Map<String, Json>) -> ToolResult {
        let request = match self.request(arguments) {
            Ok(request) => request,
            Err(problem) => return ToolResult::error(problem.to_string()),
        };
        match self.client.send(request).await {
            Ok(answer) => result_of(&answer),
            Err(failure) => ToolResult::error(self.told(&failure)),
        }
    }

    fn told(&self, failure: &ServiceFailure) -> String {
        format!("the service `{}` did not answer: {failure}", self.operation.service)
    }

    fn request(&self, arguments: &Map<String, Json>) -> Result<Request<Full<Bytes>>, NoRequest> {
        let method = Method::from_bytes(self.operation.method.as_bytes()).map_err(http::Error::from)?;
        let request = Request::builder().method(method).uri(self.uri(arguments)?);
        let mut request = request.header(HOST, self.client.host()).header(ACCEPT, "application/json, */*");
        let body = self.body(arguments);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let mut request = request.body(Full::new(body.unwrap_or_default()))?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(request)
    }

    fn uri(&self, arguments: &Map<String, Json>) -> Result<String, NoRequest> {
        let mut uri = String::new();
        for piece in self.operation.path.pieces() {
            match piece {
                PathPiece::Literal(text) => uri.push_str(text),
                PathPiece::Argument(name) => {
                    let value = arguments.get(name).ok_or_else(|| NoRequest::Missing(name.clone()))?;
                    let text = plain(value);
                    // An empty piece would name another resource.
                    if text.is_empty() {
                        return Err(NoRequest::Empty(name.clone()));
                    }
                    uri.extend(utf8_percent_encode(&text, PATH));
                }
            }
        }
        if uri.split('/').any(|step| step == "." || step == "..") {
            return Err(NoRequest::LeadsUp);
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.placed(arguments, ArgumentPlace::Query) {
            for value in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
                query.append_pair(name, &plain(value));
            }
        }
        let query = query.finish();
        Ok(if query.is_empty() { uri } else { format!("{uri}?{query}") })
    }

    /// The body; `None` for an operation that has none.
    fn body(&self, arguments: &Map<String, Json>) -> Option<Bytes> {
        let fields: Map<String, Json> =
            self.placed(arguments, ArgumentPlace::Body).map(|(name, value)| (name.clone(), value.clone())).collect();
        let has_body = self.operation.body.is_some() || self.operation.has_body();
        has_body.then(|| Json::Object(fields).to_string().into())
    }

    fn placed<'a>(
        &self,
        arguments: &'a Map<String, Json>,
        place: ArgumentPlace,
    ) -> impl Iterator<Item = (&'a String, &'a Json)> {
        arguments.iter().filter(move |(name, _)| self.operation.place_of(name) == Some(place))
    }
}

/// A value as it stands in a path or query.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// The result that an answer of the service is.
fn result_of(answer: &ServiceAnswer) -> ToolResult {
    let result = match serde_json::from_slice::<Json>(&answer.body) {
        Ok(value) => ToolResult::value(&value),
        Err(_) => ToolResult::text(String::from_utf8_lossy(&answer.body)),
    };
    if answer.status.is_client_error() || answer.status.is_server_error() {
        return with_status(answer.status, &result);
    }
    result
}

/// Makes a failed result: the status stands before the service's text.
fn with_status(status: StatusCode, said: &ToolResult) -> ToolResult {
    let text = said.joined_text();
    let separator = if text.is_empty() { "" } else { ": " };
    let mut failed = ToolResult::error(format!("{status}{separator}{text}")).to_json();
    if !said.structured().is_null() {
        failed["structuredContent"] = said.structured().clone();
    }
    ToolResult::of_server(failed)
}
