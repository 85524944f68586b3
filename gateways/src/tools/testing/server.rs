//! MCP servers in memory.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scenario::spec::sections::ToolServer;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::super::{McpServer, ServerFailure, ServerLink, ServerPipe};
use super::tools;

/// Time limit for whatever a test waits for.
const DEADLINE: Duration = Duration::from_secs(20);

/// A server in memory. Its tools are `echo`, and whatever else a test gives it.
#[derive(Clone)]
pub(in crate::tools) struct Fake {
    state: Arc<Mutex<State>>,
    out: mpsc::UnboundedSender<String>,
}

#[derive(Default)]
struct State {
    tools: Vec<Json>,
    got: Vec<Json>,
    /// A method that is not answered.
    silent: Option<String>,
    /// The call that waits for the answer to a question of the server.
    asking: Option<Json>,
}

/// Waits for something that must happen in time.
pub(in crate::tools) async fn deadline<T>(what: impl Future<Output = T>) -> T {
    timeout(DEADLINE, what).await.expect("in time")
}

/// Waits until something is true.
pub(in crate::tools) async fn until(is_true: impl Fn() -> bool) {
    deadline(async {
        while !is_true() {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// A tool of a server.
fn tool(name: &str, description: &str) -> Json {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

impl Fake {
    /// A server with these tools that is not started.
    pub(in crate::tools) fn new(names: &[&str]) -> (Self, mpsc::UnboundedReceiver<String>) {
        let (out, lines) = mpsc::unbounded_channel();
        let tools = names.iter().map(|name| tool(name, "first")).collect();
        (Self { state: Arc::new(Mutex::new(State { tools, ..State::default() })), out }, lines)
    }

    /// A server with these tools, and the gateway's end of it. `declared` is its entry in a spec.
    pub(in crate::tools) async fn open(declared: &str, names: &[&str]) -> (Self, (McpServer, Vec<Json>)) {
        let (fake, lines) = Self::new(names);
        let opened = fake.opened(declared, lines).await.expect("a server");
        (fake, opened)
    }

    /// Begins to speak with it over standard input and output.
    pub(in crate::tools) async fn opened(
        &self,
        declared: &str,
        lines: mpsc::UnboundedReceiver<String>,
    ) -> Result<(McpServer, Vec<Json>), ServerFailure> {
        let (output, from) = tokio::io::duplex(64 * 1024);
        let (input, to) = tokio::io::duplex(64 * 1024);
        tokio::spawn(print(from, lines));
        tokio::spawn(self.clone().listen(to));
        let pipe = ServerPipe { output: Box::new(output), input: Box::new(input) };
        McpServer::open(declared_server(declared), ServerLink::Stdio(pipe)).await
    }

    async fn listen(self, from: DuplexStream) {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            for message in self.heard(&serde_json::from_str(&line).expect("JSON")) {
                self.print(&message.to_string());
            }
        }
    }

    /// Returns the server's answers to a message.
    pub(in crate::tools) fn heard(&self, message: &Json) -> Vec<Json> {
        let mut state = self.state();
        state.got.push(message.clone());
        if message["method"].is_null() {
            let call = state.asking.take().unwrap_or_default();
            return vec![answer(&call, text(&message["error"]["code"].to_string()))];
        }
        let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
        if id.is_null() || state.silent.as_deref() == Some(method) {
            return Vec::new();
        }
        match method {
            "initialize" => vec![answer(id, greeting())],
            "tools/list" => vec![answer(id, json!({"tools": state.tools}))],
            "tools/call" => state.called(id, &message["params"]),
            "resources/list" => vec![answer(id, json!({"resources": [{"uri": "memo:1", "name": "one"}]}))],
            "resources/read" => {
                vec![answer(id, json!({"contents": [{"uri": message["params"]["uri"], "text": "hi"}]}))]
            }
            "prompts/list" => vec![answer(id, json!({"prompts": [{"name": "greet"}]}))],
            _ => vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not here"}})],
        }
    }

    /// Prints a line.
    pub(in crate::tools) fn print(&self, line: &str) {
        let _ = self.out.send(format!("{line}\n"));
    }

    /// Prints this without an end of the line; nothing at all ends the output.
    pub(in crate::tools) fn print_raw(&self, text: &str) {
        let _ = self.out.send(text.to_owned());
    }

    /// Changes the description of a tool.
    pub(in crate::tools) fn describe(&self, name: &str, description: &str) {
        self.state()
            .tools
            .iter_mut()
            .filter(|tool| tool["name"] == name)
            .for_each(|one| *one = tool(name, description));
    }

    /// Removes a tool.
    pub(in crate::tools) fn remove(&self, name: &str) {
        self.state().tools.retain(|tool| tool["name"] != name);
    }

    /// Notifies the gateway that its list changed.
    pub(in crate::tools) fn tell_change(&self) {
        self.print(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string());
    }

    /// Answers a method no more.
    pub(in crate::tools) fn silence(&self, method: &str) {
        self.state().silent = Some(method.to_owned());
    }

    /// Returns the number of messages with this method that it received.
    pub(in crate::tools) fn heard_of(&self, method: &str) -> usize {
        self.state().got.iter().filter(|message| message["method"] == method).count()
    }

    /// The last message of a method.
    pub(in crate::tools) fn last(&self, method: &str) -> Json {
        self.state().got.iter().rfind(|message| message["method"] == method).cloned().unwrap_or_default()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn called(&mut self, id: &Json, params: &Json) -> Vec<Json> {
        let token = &params["_meta"]["progressToken"];
        let progress = |done: u64| {
            let params = json!({"progressToken": token, "progress": done, "total": 2});
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        };
        match params["name"].as_str().unwrap_or_default() {
            "wait" => Vec::new(),
            "begin" => vec![progress(1)],
            "steps" => vec![progress(1), progress(2), answer(id, text("done"))],
            "ask" => {
                self.asking = Some(id.clone());
                vec![json!({"jsonrpc": "2.0", "id": "q1", "method": "sampling/createMessage", "params": {}})]
            }
            "refuse" => vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "not today"}})],
            _ => vec![answer(id, text(&params["arguments"].to_string()))],
        }
    }
}

/// The declaration of a server.
pub(in crate::tools) fn declared_server(yaml: &str) -> ToolServer {
    tools(&format!("[{yaml}]")).servers().next().expect("a server").clone()
}

fn greeting() -> Json {
    let capabilities = json!({"tools": {}, "resources": {}, "prompts": {}});
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "serverInfo": {"name": "fake", "version": "3"},
    })
}

fn answer(id: &Json, result: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn text(text: &str) -> Json {
    json!({"content": [{"type": "text", "text": text}]})
}

async fn print(mut to: DuplexStream, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if line.is_empty() || to.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}
