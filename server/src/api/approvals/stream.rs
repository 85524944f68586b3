//! `GET /v1/approvals/stream`: approvals as they are asked for and decided.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::response::sse::Event;
use futures::stream;
use listener::Share;
use store::{Approval, ApprovalFilter, ApprovalStatus, Page};
use utoipa::ToSchema;

use super::body::ApprovalBody;
use crate::api::alerts::{APPROVAL_DECIDED, APPROVAL_REQUESTED};
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};
use crate::stream::news;

/// The most pending approvals that are followed: the newest ones.
const MOST: u64 = 1000;
/// The time after which a client that lost the stream should come back.
const COME_BACK: Duration = Duration::from_secs(1);

/// One event of the stream, as the format has it.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what is streamed")]
pub(crate) struct StreamedApproval {
    /// `approval.requested`, or `approval.decided` when it is not pending any more.
    event: Option<String>,
    /// The approval, as JSON.
    data: Option<String>,
    /// After how many milliseconds a client may come back.
    retry: Option<u64>,
}

/// Approvals as they are asked for and decided, as server-sent events
///
/// At first it tells of all that are pending, so a client that lost the stream misses none that it can decide on.
#[utoipa::path(get, path = "/v1/approvals/stream", tag = "approvals",
    responses((status = 200, body = StreamedApproval, content_type = "text/event-stream"), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 429, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn stream(State(app): State<App>, Reader(caller): Reader) -> Result<Response, ApiError> {
    let place = app.stream_place(&caller)?;
    let following = Following { app, caller, pending: BTreeMap::new(), ready: VecDeque::new(), _place: place };
    Ok(news(stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((event, following))
    })))
}

/// Somebody who follows approvals.
struct Following {
    app: App,
    caller: Caller,
    /// Those that were pending at the last look.
    pending: BTreeMap<String, Approval>,
    /// The events that are to be sent.
    ready: VecDeque<Event>,
    _place: Share,
}

impl Following {
    /// The next event; `None` when the server ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.app.ending.is_cancelled() {
                return None;
            }
            match self.look().await {
                Err(error) if !error.is_ours() => return None,
                Ok(()) if !self.ready.is_empty() => {}
                Ok(()) | Err(_) => {
                    let _ = tokio::time::timeout(self.app.config.look, self.app.ending.cancelled()).await;
                }
            }
        }
    }

    /// Looks which approvals are new, and which are not pending any more.
    async fn look(&mut self) -> Result<(), ApiError> {
        let now = self.app.clock.now();
        let (owner, status) = (self.caller.sees(), Some(ApprovalStatus::Pending));
        let filter = ApprovalFilter { owner, status, now, ..ApprovalFilter::default() };
        let listed = self.app.store.approvals(filter, Page { after: None, most: MOST }).await?;
        let found: BTreeMap<_, _> = listed.items.into_iter().map(|one| (one.new.id.clone(), one)).collect();
        let mut ended = Vec::new();
        for id in self.pending.keys().filter(|id| !found.contains_key(*id)) {
            // One that is gone went with its experiment, and one that is pending has many newer ones before it.
            ended
                .extend(self.app.store.approval(id).await?.filter(|one| one.status_at(now) != ApprovalStatus::Pending));
        }
        self.ready.extend(ended.iter().map(|one| shown(APPROVAL_DECIDED, one, now)));
        let new = found.values().filter(|one| !self.pending.contains_key(&one.new.id));
        self.ready.extend(new.map(|one| shown(APPROVAL_REQUESTED, one, now)));
        self.pending = found;
        Ok(())
    }
}

fn shown(kind: &str, approval: &Approval, now: jiff::Timestamp) -> Event {
    let data = serde_json::to_string(&ApprovalBody::of(approval, now)).unwrap_or_default();
    Event::default().event(kind).retry(COME_BACK).data(data)
}
