//! Tells the page of approvals that there is something new.

use axum::response::Response;
use axum::response::sse::Event;
use futures::stream;
use listener::Share;

use super::Shown;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::stream::news;

/// `changed` at first, and whenever an approval is asked for or decided.
pub(super) fn follow(app: App, caller: Caller) -> Result<Response, ApiError> {
    let place = app.stream_place(&caller)?;
    let following = Following { app, caller, seen: None, _place: place };
    Ok(news(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// A page that follows approvals.
struct Following {
    app: App,
    caller: Caller,
    /// The state that it was told last. A page may be older than the stream that it opens, so at first there is none.
    seen: Option<Shown>,
    _place: Share,
}

impl Following {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.app.ending.is_cancelled() {
                return None;
            }
            match Shown::read(&self.app, &self.caller, self.app.clock.now()).await {
                Ok(shown) if self.seen.as_ref() != Some(&shown) => {
                    let pending = shown.pending.len().to_string();
                    self.seen = Some(shown);
                    return Some(Event::default().event("changed").data(pending));
                }
                Err(error) if !error.is_ours() => return None,
                Ok(_) | Err(_) => {}
            }
            let _ = tokio::time::timeout(self.app.config.look, self.app.ending.cancelled()).await;
        }
    }
}
