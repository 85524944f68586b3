//! Tells a page that there is something new about what it shows: server-sent events without content, after which it
//! asks for the part that changes.

use axum::response::Response;
use axum::response::sse::Event;
use futures::stream;
use listener::Share;
use store::{Run, RunState};
use tokio::time::Instant;

use super::badges::is_ending;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::results::oldest;
use crate::stream::news;

/// `changed` whenever there is something new about a run, or about one scenario of it, and `done` when there will be no
/// more.
pub(super) fn follow(app: App, caller: &Caller, run: Run, scenario: Option<String>) -> Result<Response, ApiError> {
    let place = app.stream_place(caller)?;
    let following = Following { app, run, scenario, seen: None, again: None, _place: place };
    Ok(news(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// A page that follows a run.
struct Following {
    app: App,
    run: Run,
    /// The scenario that it shows; `None` for all of them.
    scenario: Option<String>,
    /// The last state that it was sent. A page may be older than the stream when it opens it, so at first this is
    /// nothing.
    seen: Option<Seen>,
    /// When it is told once more: what it asks for after a scenario ended may be a little older than that.
    again: Option<Instant>,
    _place: Share,
}

/// The progress of a run, or of one scenario of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    /// The number of the last event.
    event: u64,
    /// The number of scenarios that have ended.
    ended: u64,
    /// True at the end.
    is_over: bool,
}

impl Following {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.seen.is_some_and(|seen| seen.is_over) || self.app.ending.is_cancelled() {
                return None;
            }
            match self.look().await {
                Ok(now) if self.is_news(now) => {
                    let word = if now.is_over { "done" } else { "changed" };
                    return Some(Event::default().event(word).data(now.ended.to_string()));
                }
                Err(error) if !error.is_ours() => return None,
                Ok(_) | Err(_) => {}
            }
            let _ = tokio::time::timeout(self.app.config.look, self.app.ending.cancelled()).await;
        }
    }

    /// True when this state is new to the page, which knows it from now on.
    fn is_news(&mut self, now: Seen) -> bool {
        let before = self.seen.replace(now);
        if before.is_some_and(|before| before.ended != now.ended) {
            let age = oldest(now.ended);
            self.again = (!age.is_zero()).then(|| Instant::now() + age);
        }
        before != Some(now) || self.again.take_if(|at| Instant::now() >= *at).is_some()
    }

    /// Looks how far it is. Whether it has ended is asked first: what is over has no more events.
    async fn look(&self) -> Result<Seen, ApiError> {
        let (store, id) = (&self.app.store, self.run.id);
        let run = store.run(id).await?;
        let is_run_over = run.state != RunState::Open;
        let (ended, is_over) = match &self.scenario {
            None => (run.ended, is_run_over),
            Some(scenario) => {
                let has_ended = store.scenario(id, scenario).await?.is_some_and(|stored| stored.result.is_some());
                let will_not_run = is_ending(&run) && store.running_of(id, [scenario.as_str()]).await?.is_empty();
                (u64::from(has_ended), has_ended || is_run_over || will_not_run)
            }
        };
        let event = store.last_event(id, self.scenario.as_deref()).await?;
        Ok(Seen { event, ended, is_over })
    }
}
