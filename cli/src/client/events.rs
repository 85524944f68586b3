//! Server-sent events of a run: the stream resumes after the last event when the connection breaks.

use eventsource_stream::{EventStreamError, Eventsource as _};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::Method;
use scenario::event::Event;
use scenario::untrusted;
use serde_json::Value as Json;
use tokio::time::{Instant, sleep};

use super::idle_timeout::{PartsError, SILENCE, with_idle_timeout};
use super::refusal::{refused, unreachable};
use super::{LONGEST_PAUSE, OUTAGE, PAUSE, RemoteRun, Server, is_passing};
use crate::output::CommandError;

/// The kind of the last part of a stream.
const DONE: &str = "done";

/// A part of a stream.
#[derive(Debug, Clone)]
pub(crate) enum Streamed {
    /// An event.
    Happened(Happened),
    /// The run has ended: nothing more will happen.
    Done,
}

/// An event of a run.
#[derive(Debug, Clone)]
pub(crate) struct Happened {
    /// The event, as far as this version knows it.
    pub(crate) event: Event,
    /// All about it, as the server said it.
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
}

/// The parts of a stream as they arrive.
type Arriving = BoxStream<'static, Result<eventsource_stream::Event, EventStreamError<PartsError<reqwest::Error>>>>;

/// The events of a run, from its beginning to its end.
pub(crate) struct Stream<'a> {
    server: &'a Server,
    run: RemoteRun,
    /// The last event that was seen.
    after: u64,
    arriving: Option<Arriving>,
    /// Time since which the server has been unavailable.
    away: Option<Instant>,
}

impl<'a> Stream<'a> {
    /// Creates the stream of a run's events.
    pub(crate) fn of(server: &'a Server, run: RemoteRun) -> Self {
        Self { server, run, after: 0, arriving: None, away: None }
    }

    /// Returns the next event. A connection that breaks is made again, for a while. The future is cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Streamed, CommandError> {
        let mut pause = PAUSE;
        let mut observer = self.server.retries.observe("following the events of the server");
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
            observer.failed(&problem);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn seen(&mut self, event: &eventsource_stream::Event) -> Streamed {
        if let Ok(number) = event.id.parse() {
            self.after = number;
        }
        if event.event == DONE {
            return Streamed::Done;
        }
        let data: Json = serde_json::from_str(&event.data).unwrap_or_default();
        // A newer server may say more than this version knows.
        let known = Event::understand(&event.event, &data["body"]);
        let kind = || untrusted::line(&event.event, 100);
        let event = known.unwrap_or_else(|| Event::Unknown { kind: kind(), body: data["body"].clone() });
        Streamed::Happened(Happened { event, data })
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
        let parts = with_idle_timeout(answer.bytes_stream(), SILENCE);
        Ok(parts.eventsource().boxed())
    }
}

/// The reason why there is no stream.
enum Failed {
    ForNow(CommandError),
    ForGood(CommandError),
}
