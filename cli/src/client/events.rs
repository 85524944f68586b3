//! What happens on a server, as it happens: server-sent events, which go on where they were when the connection breaks.

use eventsource_stream::Eventsource as _;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::Method;
use scenario::untrusted;
use serde_json::Value as Json;
use tokio::time::{Instant, sleep};

use super::lively::{SILENCE, lively};
use super::refusal::{refused, unreachable};
use super::{LONGEST_PAUSE, OUTAGE, PAUSE, RemoteRun, Server, is_passing};
use crate::output::CommandError;

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) struct Happened {
    /// What, in one word; `done` is the last.
    pub(crate) kind: String,
    /// All about it.
    pub(crate) data: Json,
}

impl Happened {
    /// The scenario that it is about; empty when it is about none.
    pub(crate) fn scenario(&self) -> String {
        self.word("scenario_id")
    }

    /// A text of it, safe to show.
    pub(crate) fn word(&self, name: &str) -> String {
        untrusted::line(self.data[name].as_str().unwrap_or_default(), 300)
    }

    /// A text of its body, safe to show.
    pub(crate) fn said(&self, name: &str) -> String {
        untrusted::line(self.data["body"][name].as_str().unwrap_or_default(), 300)
    }

    /// Whether it is the last.
    pub(crate) fn is_done(&self) -> bool {
        self.kind == "done"
    }
}

/// The parts of a stream as they arrive.
type Arriving = BoxStream<'static, Result<eventsource_stream::Event, String>>;

/// What happens in a run, from its beginning to its end.
pub(crate) struct Stream<'a> {
    server: &'a Server,
    run: RemoteRun,
    /// The last event that was seen.
    after: u64,
    arriving: Option<Arriving>,
    /// Since when the server has been away.
    away: Option<Instant>,
}

impl<'a> Stream<'a> {
    /// What happens in a run.
    pub(crate) fn of(server: &'a Server, run: RemoteRun) -> Self {
        Self { server, run, after: 0, arriving: None, away: None }
    }

    /// The next event. A connection that breaks is made again, for a while; whoever stops waiting loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Happened, CommandError> {
        let mut pause = PAUSE;
        loop {
            let problem = match self.arriving().await {
                Ok(arriving) => match arriving.next().await {
                    Some(Ok(event)) => {
                        self.away = None;
                        return Ok(self.seen(&event));
                    }
                    // The server ends, or somebody on the way lost patience.
                    Some(Err(_)) | None => {
                        self.arriving = None;
                        let lost = format!("the connection to {} was lost", self.server.place());
                        CommandError::Infrastructure(lost)
                    }
                },
                Err(Failed::ForNow(problem)) => problem,
                Err(Failed::ForGood(problem)) => return Err(problem),
            };
            let away = self.away.get_or_insert_with(Instant::now);
            if away.elapsed() > OUTAGE {
                return Err(problem);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn seen(&mut self, event: &eventsource_stream::Event) -> Happened {
        if let Ok(number) = event.id.parse() {
            self.after = number;
        }
        let data = serde_json::from_str(&event.data).unwrap_or_default();
        Happened { kind: untrusted::line(&event.event, 100), data }
    }

    async fn arriving(&mut self) -> Result<&mut Arriving, Failed> {
        if self.arriving.is_none() {
            self.arriving = Some(self.connect().await?);
        }
        self.arriving
            .as_mut()
            .ok_or_else(|| Failed::ForNow(CommandError::Infrastructure("there is no stream".to_owned())))
    }

    async fn connect(&self) -> Result<Arriving, Failed> {
        let request = self.server.request(Method::GET, &self.run.events(self.after));
        let answer = request.send().await.map_err(|error| Failed::ForNow(unreachable(self.server, &error)))?;
        let status = answer.status();
        if !status.is_success() {
            let problem = refused(self.server, answer).await;
            return Err(if is_passing(status) { Failed::ForNow(problem) } else { Failed::ForGood(problem) });
        }
        let parts = lively(answer.bytes_stream(), SILENCE);
        Ok(parts.eventsource().map(|event| event.map_err(|error| error.to_string())).boxed())
    }
}

/// Why there is no stream.
enum Failed {
    ForNow(CommandError),
    ForGood(CommandError),
}
