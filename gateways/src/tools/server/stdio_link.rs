//! A server that reads messages on its standard input and prints its own, a line each.

use std::sync::Arc;

use serde_json::Value as Json;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::pending::{Pending, Reaction};
use super::{Progress, ServerFailure};

/// Largest line: 16 MiB.
const LINE_BYTES: u64 = 16 * 1024 * 1024;
/// Number of messages that wait to be written.
const MOST_UNWRITTEN: usize = 256;

/// The standard output and input of a command.
pub struct ServerPipe {
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
}

/// The link to a server that is a command.
#[derive(Debug)]
pub(super) struct StdioLink {
    pending: Arc<Pending>,
    to_server: mpsc::Sender<Vec<u8>>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// A question that is cancelled unless it was answered.
struct Asked<'a> {
    link: &'a StdioLink,
    id: u64,
}

impl StdioLink {
    pub(super) fn open(pipe: ServerPipe, pending: Arc<Pending>) -> Self {
        let (to_server, lines) = mpsc::channel(MOST_UNWRITTEN);
        let reading = read(pipe.output, Arc::clone(&pending), to_server.clone());
        let writing = write(pipe.input, Arc::clone(&pending), lines);
        let tasks = [tokio::spawn(reading), tokio::spawn(writing)].map(AbortOnDropHandle::new);
        Self { pending, to_server, _tasks: tasks }
    }

    pub(super) async fn request(
        &self,
        method: &str,
        params: Json,
        progress: Option<Progress>,
    ) -> Result<Json, ServerFailure> {
        let (question, message) = self.pending.ask(method, params, progress);
        let _asked = Asked { link: self, id: question.id };
        self.send(&message).await?;
        let why = || self.pending.ended().unwrap_or_else(|| "it hung up".to_owned());
        question.answer.await.unwrap_or_else(|_| Err(self.pending.gone(&why())))
    }

    /// Writes a message.
    pub(super) async fn send(&self, message: &Json) -> Result<(), ServerFailure> {
        if let Some(why) = self.pending.ended() {
            return Err(self.pending.gone(&why));
        }
        self.to_server.send(line(message)).await.map_err(|_| self.pending.gone("its input is closed"))
    }

    pub(super) fn ended(&self) -> Option<String> {
        self.pending.ended()
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.link.pending.forget(self.id) && self.link.pending.ended().is_none() {
            // A server that reads nothing learns nothing.
            let _ = self.link.to_server.try_send(line(&Pending::cancelling(self.id)));
        }
    }
}

fn line(message: &Json) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Reads the server's output, until it ends.
async fn read(output: impl AsyncRead + Unpin, pending: Arc<Pending>, to_server: mpsc::Sender<Vec<u8>>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    let why = loop {
        line.clear();
        match (&mut output).take(LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) => break "its output ended".to_owned(),
            Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 >= LINE_BYTES => {
                break format!("it printed a line longer than {LINE_BYTES} bytes");
            }
            Ok(_) => {}
            Err(problem) => break format!("its output cannot be read: {problem}"),
        }
        if let Some(Reaction::Reply(reply)) = pending.read(&line) {
            // A server that asks without reading the answers is not waited for.
            let _ = to_server.try_send(self::line(&reply));
        }
    };
    pending.end(&why);
}

/// Writes the server's input, until the server reads no more.
async fn write(mut input: impl AsyncWrite + Unpin, pending: Arc<Pending>, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        let written = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        if let Err(problem) = written.await {
            return pending.end(&format!("its input cannot be written: {problem}"));
        }
    }
}
