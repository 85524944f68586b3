//! Asks an MCP server on standard input and output for its tools.

use std::process::Stdio;
use std::time::Duration;

use scenario::untrusted;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines, Take};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// The version of the protocol that is spoken.
const PROTOCOL: &str = "2025-06-18";
/// The time that the server has for everything: some are downloaded before they start.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time that it has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// The most that it may write, in bytes.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// The most pages that its list may have.
const MOST_PAGES: u64 = 1000;
/// The length at which its words are cut.
const SHOWN: usize = 300;

/// A reason for which a server did not list its tools.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error("cannot start `{command}`: {cause}")]
    Start {
        command: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("cannot talk to `{command}`: {cause}")]
    Talk {
        command: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("`{command}` ended before it answered `{method}`; does it speak MCP on standard input and output?")]
    Ended { command: String, method: &'static str },
    #[error("`{command}` refused `{method}`: {said}")]
    Refused { command: String, method: &'static str, said: String },
    #[error("`{command}` did not list its tools within {} s", PATIENCE.as_secs())]
    Slow { command: String },
    #[error("`{command}` lists its tools on more than {MOST_PAGES} pages")]
    Endless { command: String },
}

/// A conversation with a server.
struct Talk {
    command: String,
    stdin: ChildStdin,
    lines: Lines<BufReader<Take<ChildStdout>>>,
    next_id: u64,
}

/// The tools that the server lists, all pages together.
pub(super) fn listed(words: &[String]) -> Result<Json, ListError> {
    let command = untrusted::line(&words.join(" "), SHOWN);
    let start = |cause| ListError::Start { command: command.clone(), cause };
    let runtime = Runtime::new().map_err(start)?;
    runtime.block_on(async {
        let mut child = spawn(words).map_err(start)?;
        let talk = Talk::with(&mut child, command.clone())
            .ok_or_else(|| ListError::Ended { command: command.clone(), method: "initialize" })?;
        let listed = timeout(PATIENCE, talk.list()).await;
        end(child).await;
        listed.unwrap_or(Err(ListError::Slow { command: command.clone() }))
    })
}

fn spawn(words: &[String]) -> Result<Child, std::io::Error> {
    let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.kill_on_drop(true).spawn()
}

/// Waits a little for a server whose input was closed, and ends it otherwise.
async fn end(mut child: Child) {
    if timeout(GRACE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

impl Talk {
    fn with(child: &mut Child, command: String) -> Option<Self> {
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        Some(Self { command, stdin, lines: BufReader::new(stdout.take(MOST_BYTES)).lines(), next_id: 1 })
    }

    /// Greets the server and asks for its tools. The server's input is closed at the end, which asks it to end.
    async fn list(mut self) -> Result<Json, ListError> {
        let client = json!({"name": "touchstone", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client});
        self.ask("initialize", hello).await?;
        let ready = "notifications/initialized";
        self.send(ready, &json!({"jsonrpc": "2.0", "method": ready})).await?;
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let parameters = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let mut page = self.ask("tools/list", parameters).await?;
            match page.get_mut("tools").map(Json::take) {
                Some(Json::Array(more)) => tools.extend(more),
                _ => return Ok(page),
            }
            cursor = page.get("nextCursor").filter(|cursor| !cursor.is_null()).cloned();
            if cursor.is_none() {
                return Ok(json!({ "tools": tools }));
            }
        }
        Err(ListError::Endless { command: self.command })
    }

    /// Sends a request and returns its result. Messages of the server before it are skipped.
    async fn ask(&mut self, method: &'static str, parameters: Json) -> Result<Json, ListError> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(method, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters})).await?;
        loop {
            let line = self.lines.next_line().await.map_err(|cause| self.broken(method, cause))?;
            let line = line.ok_or_else(|| ListError::Ended { command: self.command.clone(), method })?;
            let Ok(mut answer) = serde_json::from_str::<Json>(&line) else { continue };
            if answer.get("id").and_then(Json::as_u64) != Some(id) || answer.get("method").is_some() {
                continue;
            }
            if let Some(error) = answer.get("error") {
                let said = error.get("message").and_then(Json::as_str).unwrap_or("without a reason");
                let said = untrusted::line(said, SHOWN);
                return Err(ListError::Refused { command: self.command.clone(), method, said });
            }
            return Ok(answer.get_mut("result").map(Json::take).unwrap_or_default());
        }
    }

    async fn send(&mut self, method: &'static str, message: &Json) -> Result<(), ListError> {
        let written = self.stdin.write_all(format!("{message}\n").as_bytes()).await;
        let written = match written {
            Ok(()) => self.stdin.flush().await,
            Err(error) => Err(error),
        };
        written.map_err(|cause| self.broken(method, cause))
    }

    fn broken(&self, method: &'static str, cause: std::io::Error) -> ListError {
        let command = self.command.clone();
        match cause.kind() {
            std::io::ErrorKind::BrokenPipe => ListError::Ended { command, method },
            _ => ListError::Talk { command, cause },
        }
    }
}
