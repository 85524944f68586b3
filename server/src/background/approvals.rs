//! Tells the outside of calls that wait for a person, and of the decisions: through the alerts that name these events.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use store::{Alert, ApprovalNews, NewDelivery, NewsKind, Page, StoreError};

use super::alerts::message::{for_slack, plain};
use super::repeat::Next;
use crate::api::alerts::{APPROVAL_DECIDED, APPROVAL_REQUESTED};
use crate::api::approvals::ApprovalBody;
use crate::app::App;

/// The time for which news are held while they are told.
const LEASE: Duration = Duration::from_secs(60);
/// News that are older, because no server ran meanwhile, help nobody.
const STALE: SignedDuration = SignedDuration::from_hours(1);

/// Tells of an approval, if there is news of one.
pub(super) async fn turn(app: App) -> Result<Next, StoreError> {
    let now = app.clock.now();
    let Some(news) = app.store.claim_approval_news(now, now + LEASE).await? else { return Ok(Next::soon(&app)) };
    let alerts = app.store.alerts(Some(&news.approval.owner), Page::ALL).await?.items;
    let event = event(news.kind);
    let concerned = alerts.iter().filter(|alert| !is_stale(&news, now) && concerns(alert, event, &news));
    let mut messages = Vec::new();
    for alert in concerned {
        tracing::info!("alert {} ({}): {event} {}", alert.new.id, alert.new.name, news.approval.new.id);
        messages.extend(message(&app, alert, &news, now));
    }
    app.store.approval_told(&news, &messages, now).await?;
    Ok(Next::AtOnce)
}

fn event(kind: NewsKind) -> &'static str {
    match kind {
        NewsKind::Requested => APPROVAL_REQUESTED,
        NewsKind::Decided => APPROVAL_DECIDED,
    }
}

fn concerns(alert: &Alert, event: &str, news: &ApprovalNews) -> bool {
    let is_of_spec = alert.new.eval_id.as_ref().is_none_or(|id| *id == news.approval.spec_id);
    is_of_spec && alert.new.events.iter().any(|named| named == event)
}

fn is_stale(news: &ApprovalNews, now: Timestamp) -> bool {
    let at = match news.kind {
        NewsKind::Requested => news.approval.requested_at,
        NewsKind::Decided => news.approval.decided_at.unwrap_or(news.approval.requested_at),
    };
    now.duration_since(at) > STALE
}

/// The message of an alert, with the alert's id; none for one that only writes to the log.
fn message(app: &App, alert: &Alert, news: &ApprovalNews, now: Timestamp) -> Option<(String, NewDelivery)> {
    let url = alert.new.webhook_url.clone()?;
    let body = if alert.new.notify == "slack" { slack(alert, news) } else { own(alert, news, now) };
    let id = format!("msg_{}", app.ids.hex(24));
    Some((alert.new.id.clone(), NewDelivery { id, url, body: body.to_string() }))
}

fn own(alert: &Alert, news: &ApprovalNews, now: Timestamp) -> Value {
    json!({
        "event": event(news.kind),
        "rule_id": alert.new.id,
        "rule_name": alert.new.name,
        "approval": ApprovalBody::of(&news.approval, now),
    })
}

fn slack(alert: &Alert, news: &ApprovalNews) -> Value {
    let new = &news.approval.new;
    let what = match (news.kind, &news.approval.decision) {
        (NewsKind::Requested, _) => format!("waits for a person until {}: {}", new.deadline, plain(&new.reason)),
        (NewsKind::Decided, Some(made)) => format!("{} by {}", news.approval.status.word(), plain(&made.by)),
        (NewsKind::Decided, None) => news.approval.status.word().to_owned(),
    };
    let (name, tool, spec) = (plain(&alert.new.name), plain(&new.tool), plain(&news.approval.spec_id));
    let text = format!("*{name}*: `{tool}` {what}\n`{spec}` · experiment `{}` · approval `{}`", new.run, new.id);
    for_slack(alert, &text)
}
