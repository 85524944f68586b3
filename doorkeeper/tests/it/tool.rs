//! `touchstone-tool` against a server of MCP over HTTP.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The ways in which a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// JSON with a length.
    Json,
    /// Events, and a stream that stays open.
    Stream,
    /// JSON, and the first call finds that its session is over.
    LostSession,
    /// A page that is no MCP.
    Page,
}

/// The headers of a request, with its method, and its message.
type Seen = (BTreeMap<String, String>, Json);

/// The parts of an answer.
struct Body {
    parts: VecDeque<Bytes>,
    /// True when the answer has no end.
    stays_open: bool,
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.parts.pop_front() {
            Some(part) => Poll::Ready(Some(Ok(Frame::data(part)))),
            None if self.stays_open => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

/// A server, and the requests that it got.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Seen>>>,
    _runtime: Runtime,
}

impl Server {
    fn start(mode: Mode) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&requests);
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let seen = Arc::clone(&seen);
                let service = service_fn(move |request: Request<Incoming>| {
                    let seen = Arc::clone(&seen);
                    async move {
                        let headers = request.headers().iter();
                        let headers: BTreeMap<_, _> = headers
                            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
                            .chain([("method".to_owned(), request.method().to_string())])
                            .collect();
                        let body = request.into_body().collect().await?.to_bytes();
                        let message = serde_json::from_slice(&body).unwrap_or_default();
                        let answer = answer(mode, &headers, &message, &seen);
                        seen.lock().unwrap().push((headers, message));
                        Ok::<_, hyper::Error>(answer)
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, requests, _runtime: runtime }
    }

    /// The words of the requests that it got: methods of MCP, or of HTTP.
    fn methods(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let method = |(headers, message): &Seen| {
            message["method"].as_str().map_or_else(|| headers["method"].clone(), ToOwned::to_owned)
        };
        requests.iter().map(method).collect()
    }

    /// Runs the program; its exit code, output and errors.
    fn run(&self, arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
        run(&format!("http://{}/mcp", self.address), arguments, stdin)
    }
}

fn run(url: &str, arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_doorkeeper"));
    command.arg0("/.touchstone/bin/touchstone-tool").args(arguments).env("TOUCHSTONE_MCP_URL", url);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn answer(mode: Mode, headers: &BTreeMap<String, String>, message: &Json, seen: &Mutex<Vec<Seen>>) -> Response<Body> {
    let status = |status: u16| Response::builder().status(status);
    let plain = |text: String| Body { parts: VecDeque::from([text.into()]), stays_open: false };
    let is_call = message["method"] == "tools/call";
    let is_first_call = !seen.lock().unwrap().iter().any(|(_, message)| message["method"] == "tools/call");
    if mode == Mode::Page {
        return Response::new(plain("<html>".to_owned()));
    }
    if message["method"] != "initialize" && headers.get("mcp-session-id").map(String::as_str) != Some("s-1") {
        return status(400).body(plain("no session".to_owned())).unwrap();
    }
    if mode == Mode::LostSession && is_call && is_first_call {
        return status(404).body(plain("no such session".to_owned())).unwrap();
    }
    let Some(reply) = reply(message) else { return status(202).body(plain(String::new())).unwrap() };
    let response = status(200).header("Mcp-Session-Id", "s-1");
    if mode != Mode::Stream {
        return response.header("Content-Type", "application/json").body(plain(reply.to_string())).unwrap();
    }
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}});
    let events = [progress, reply].map(|message| Bytes::from(format!("event: message\ndata: {message}\n\n")));
    let body = Body { parts: VecDeque::from(events), stays_open: true };
    response.header("Content-Type", "text/event-stream").body(body).unwrap()
}

/// The answer to a message; `None` to one that asks for none.
fn reply(message: &Json) -> Option<Json> {
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let result = match (message["method"].as_str().unwrap_or_default(), &message["params"]) {
        ("initialize", parameters) => json!({"protocolVersion": parameters["protocolVersion"], "capabilities": {}}),
        ("tools/list", parameters) if parameters["cursor"] == "2" => json!({"tools": [{"name": "write_note"}]}),
        ("tools/list", _) => {
            let tool = json!({"name": "read_note", "description": "Read a note", "inputSchema": schema});
            json!({"tools": [tool], "nextCursor": "2"})
        }
        ("tools/call", call) => match (call["name"].as_str(), call["arguments"]["id"].as_str()) {
            (Some("read_note"), Some("7")) => json!({"content": [{"type": "text", "text": "Call Ada back"}]}),
            (Some("read_note"), Some("8")) => {
                json!({"content": [{"type": "text", "text": "the note is locked"}], "isError": true})
            }
            (Some("read_note"), _) => json!({"content": [], "structuredContent": {"z": [1], "a": "ä"}}),
            _ => {
                let error = json!({"code": -32602, "message": "there is no tool of this name"});
                return Some(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
        },
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

#[test]
fn tools_are_listed_shown_and_called() {
    for mode in [Mode::Json, Mode::Stream] {
        let server = Server::start(mode);
        let listed = "read_note   Read a note\nwrite_note\n";
        assert_eq!(server.run(&[], ""), (Some(0), listed.to_owned(), String::new()), "{mode:?}");
        let (code, shown, _) = server.run(&["read_note"], "");
        assert!(code == Some(0) && shown.contains("\"required\"") && shown.contains("'{\"id\":\"…\"}'"), "{shown}");
        let called = (Some(0), "Call Ada back\n".to_owned(), String::new());
        assert_eq!(server.run(&["read_note", r#"{"id": "7"}"#], ""), called);
        assert_eq!(server.run(&["read_note", "-"], r#"{"id": "7"}"#), called);
        let structured = "{\n  \"z\": [\n    1\n  ],\n  \"a\": \"ä\"\n}\n";
        assert_eq!(server.run(&["read_note", "{}"], ""), (Some(0), structured.to_owned(), String::new()));
    }
}

#[test]
fn errors_of_tools_and_problems_have_exit_codes_of_their_own() {
    let server = Server::start(Mode::Json);
    let locked = (Some(1), String::new(), "the note is locked\n".to_owned());
    assert_eq!(server.run(&["read_note", r#"{"id": "8"}"#], ""), locked);
    let cases: [(&[&str], &str); 7] = [
        (&["send_note", "{}"], "there is no tool of this name"),
        (&["send_note"], "there is no tool `send_note`; there are: read_note, write_note"),
        (&["read_note", "7"], "arguments are a JSON object"),
        (&["read_note", "{id: 7}"], "the arguments are no JSON"),
        (&["read_note", "{}", "{}"], "too many arguments"),
        (&["--list"], "there is no option `--list`"),
        (&["read_note", "-"], "the arguments are no JSON"),
    ];
    for (arguments, problem) in cases {
        let (code, stdout, stderr) = server.run(arguments, "");
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.starts_with("touchstone-tool: ") && stderr.contains(problem), "{arguments:?}: {stderr}");
    }
    let (code, usage, _) = server.run(&["--help"], "");
    assert!(code == Some(0) && usage.contains("touchstone-tool NAME '{JSON}'"), "{usage}");
    let page = Server::start(Mode::Page).run(&[], "");
    assert_eq!(page.2, "touchstone-tool: the answer to `initialize` is no message of MCP\n");
    assert_eq!(run("https://x/mcp", &[], "").0, Some(2));
}

#[test]
fn nobody_at_the_address_is_a_problem_that_names_it() {
    let address = {
        let server = Server::start(Mode::Json);
        server.address
    };
    let (code, stdout, stderr) = run(&format!("http://{address}/mcp"), &[], "");
    let begins = format!("touchstone-tool: cannot ask the gateway of tools at http://{address}/mcp: ");
    assert!(code == Some(2) && stdout.is_empty() && stderr.starts_with(&begins), "{stderr}");
}

#[test]
fn a_session_is_begun_used_and_ended() {
    let server = Server::start(Mode::Json);
    server.run(&["read_note", r#"{"id": "7"}"#], "");
    assert_eq!(server.methods(), ["initialize", "notifications/initialized", "tools/call", "DELETE"]);
    let requests = server.requests.lock().unwrap();
    let header = |index: usize, name: &str| requests[index].0.get(name).map(String::as_str);
    assert_eq!((header(0, "mcp-protocol-version"), header(0, "mcp-session-id")), (None, None));
    for index in 1..4 {
        assert_eq!(header(index, "mcp-session-id"), Some("s-1"));
        assert_eq!(header(index, "mcp-protocol-version"), Some("2025-06-18"));
    }
    assert_eq!(header(2, "accept"), Some("application/json, text/event-stream"));
    assert_eq!(requests[2].1["params"], json!({"name": "read_note", "arguments": {"id": "7"}}));
}

#[test]
fn a_session_that_is_over_is_begun_again_once() {
    let server = Server::start(Mode::LostSession);
    let (code, stdout, _) = server.run(&["read_note", r#"{"id": "7"}"#], "");
    assert_eq!((code, stdout.as_str()), (Some(0), "Call Ada back\n"));
    let again = ["initialize", "notifications/initialized", "tools/call"];
    let expected: Vec<_> = again.iter().chain(&again).chain(&["DELETE"]).copied().collect();
    assert_eq!(server.methods(), expected);
}
