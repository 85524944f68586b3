//! `GET /v1/experiments/{id}/events`: what happens, as it happens.

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use futures::stream;
use http::HeaderMap;
use listener::Share;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{Experiment, Run, RunState, StoredEvent};
use utoipa::{IntoParams, ToSchema};

use super::{find, find_run};
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::results::Form;
use crate::stream::news;

/// The number of events read at once.
const AT_ONCE: u64 = 200;
/// When a client that lost the stream should come back.
const COME_BACK: Duration = Duration::from_secs(1);

/// Which events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Which run, from 1; the newest one without it.
    #[param(minimum = 1)]
    run: Option<u32>,
    /// Only those after the event with this number. The header `Last-Event-ID` says the same.
    after: Option<u64>,
}

/// One event of a stream, as the format has it.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what is streamed")]
pub(crate) struct StreamedEvent {
    /// The number of the event, for `Last-Event-ID`.
    id: Option<String>,
    /// The kind of event: one word. `done` is the last.
    event: Option<String>,
    /// All about it, as JSON.
    data: Option<String>,
    /// After how many milliseconds a client may come back.
    retry: Option<u64>,
}

/// Events of an experiment, as server-sent events
///
/// Each has the number of the event as its `id`, so that a client that lost the stream goes on where it was, and what
/// happened as its `event`. The last one is `done`, with the results as its data. Before the first run the stream waits
/// for it.
#[utoipa::path(get, path = "/v1/experiments/{id}/events", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id"), EventsQuery,
        ("Last-Event-ID" = Option<u64>, Header, description = "The number of the last event that was seen")),
    responses((status = 200, body = StreamedEvent, content_type = "text/event-stream"), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 429, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn events(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
    QueryParams(query): QueryParams<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    let last = headers.get("last-event-id").map(|value| value.to_str().ok().and_then(|text| text.trim().parse().ok()));
    let last = last.map(|last| last.ok_or_else(|| ApiError::invalid("`Last-Event-ID` is the number of an event")));
    let after = query.after.or(last.transpose()?).unwrap_or(0);
    let run = find_run(&app, &experiment, query.run).await?;
    let place = app.stream_place(&caller)?;
    let following = Following {
        app,
        experiment,
        number: query.run,
        run,
        after,
        ready: VecDeque::new(),
        ended: false,
        _place: place,
    };
    Ok(news(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// Somebody who follows a run.
struct Following {
    app: App,
    experiment: Experiment,
    /// The run that was asked for; `None` for the newest one.
    number: Option<u32>,
    run: Option<Run>,
    /// The last event that was read.
    after: u64,
    /// Events to send.
    ready: VecDeque<Event>,
    ended: bool,
    _place: Share,
}

impl Following {
    /// The next event; `None` when there is no more.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.ended || self.app.ending.is_cancelled() {
                return None;
            }
            match self.look().await {
                Ok(true) => {}
                Ok(false) => self.pause().await,
                Err(error) if error.is_ours() => self.pause().await,
                // The experiment was removed.
                Err(_) => return None,
            }
        }
    }

    async fn pause(&self) {
        let _ = tokio::time::timeout(self.app.config.look, self.app.ending.cancelled()).await;
    }

    /// Looks for news; whether there is any.
    async fn look(&mut self) -> Result<bool, ApiError> {
        // Whether the run has ended is asked before its events are read: an ended run has no more of them.
        let run =
            find_run(&self.app, &self.experiment, self.run.as_ref().map(|run| run.id.number).or(self.number)).await?;
        let Some(run) = run else {
            // It may have been removed instead.
            self.app.store.experiment(self.experiment.id).await?;
            return Ok(false);
        };
        let events = self.app.store.events(run.id, self.after, AT_ONCE).await?;
        let is_done = events.is_empty() && run.state != RunState::Open;
        if is_done {
            self.ready.push_back(self.done(&run).await?);
            self.ended = true;
        }
        if let Some(last) = events.last() {
            self.after = last.number;
        }
        let has_news = !events.is_empty() || is_done;
        self.ready.extend(events.iter().map(shown));
        self.run = Some(run);
        Ok(has_news)
    }

    async fn done(&self, run: &Run) -> Result<Event, ApiError> {
        let shown = self.app.shows.of(&self.app, &self.experiment, run, Form::Summary).await?;
        let data: Value = serde_json::from_slice(&shown.thing).unwrap_or_default();
        Ok(Event::default().id(self.after.to_string()).event("done").data(data.to_string()))
    }
}

fn shown(stored: &StoredEvent) -> Event {
    let StoredEvent { number, event } = stored;
    let data = json!({
        "id": number,
        "kind": event.happened.kind(),
        "experiment_id": event.run.experiment,
        "run": event.run.number,
        "scenario_id": event.scenario,
        "attempt": event.attempt,
        "at": event.at.to_string(),
        "body": event.happened.body(),
    });
    Event::default().id(number.to_string()).event(event.happened.kind()).retry(COME_BACK).data(data.to_string())
}
