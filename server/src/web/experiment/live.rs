//! Tells a page that there is something new about a run: server-sent events without content, after which it asks for the part
//! that changes.

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use futures::stream;
use store::{Run, RunState};
use tokio::sync::OwnedSemaphorePermit;

use super::ExperimentQuery;
use crate::api::experiments::{find, require_run};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, At};
use crate::stream::news;
use crate::web::session::Visitor;

/// How many events are passed over at once.
const AT_ONCE: u64 = 500;

/// `changed` whenever there is something new, and `done` when there will be no more.
pub(super) async fn live(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Asked(query): Asked<ExperimentQuery>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, query.run).await?;
    let streams = app.streams.clone();
    let place = streams.try_acquire_owned().map_err(|_| ApiError::busy("all streams are taken; try again soon"))?;
    let following = Following { app, run, after: 0, ended: false, is_first: true, _place: place };
    Ok(news(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// A page that follows a run.
struct Following {
    app: App,
    run: Run,
    /// The last event that was seen.
    after: u64,
    ended: bool,
    is_first: bool,
    _place: OwnedSemaphorePermit,
}

impl Following {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.ended || self.app.ending.is_cancelled() {
                return None;
            }
            match self.look().await {
                Ok(true) => {
                    return Some(
                        Event::default()
                            .event(if self.ended { "done" } else { "changed" })
                            .data(self.run.ended.to_string()),
                    );
                }
                Err(error) if !error.is_ours() => return None,
                Ok(false) | Err(_) => {}
            }
            let _ = tokio::time::timeout(self.app.config.look, self.app.ending.cancelled()).await;
        }
    }

    /// Looks for news; whether there is any. What a page has when it opens the stream may be older than the stream, so the
    /// first look is news.
    async fn look(&mut self) -> Result<bool, ApiError> {
        let run = self.app.store.run(self.run.id).await?;
        let mut has_news = std::mem::take(&mut self.is_first) || run.ended != self.run.ended;
        loop {
            let events = self.app.store.events(run.id, self.after, AT_ONCE).await?;
            let Some(last) = events.last() else { break };
            (self.after, has_news) = (last.number, true);
        }
        self.ended = run.state != RunState::Open;
        self.run = run;
        Ok(has_news || self.ended)
    }
}
