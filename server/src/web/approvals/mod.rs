//! Calls that wait for a person: what they are, why they are held, until when, and two buttons.

mod item;
mod live;

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use store::{Approval, ApprovalFilter, ApprovalStatus, DecisionKind, Page};

use super::layout::{Frame, Tab, number_waiting};
use super::session::Visitor;
use crate::api::approvals::decide::{Wanted, write_decision};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::At;

pub(super) use item::waiting_hint;

/// The most that wait on the page: the newest ones.
const WAITING: u64 = 200;
/// The most that were decided on the page.
const DECIDED: u64 = 20;
/// Of how many of the newest those that were decided are taken.
const LOOKED_AT: u64 = 200;

/// The fields of the form.
#[derive(Debug, Deserialize)]
struct DecisionForm {
    token: String,
    decision: DecisionKind,
    args_hash: String,
    #[serde(default)]
    note: String,
}

/// The content of the page.
#[derive(Debug, PartialEq)]
struct Shown {
    pending: Vec<Approval>,
    decided: Vec<Approval>,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/approvals", get(page))
        .route("/approvals/part", get(part))
        .route("/approvals/live", get(live))
        .route("/approvals/{id}/decision", post(decide))
}

async fn page(State(app): State<App>, visitor: Visitor) -> Result<Markup, ApiError> {
    let now = app.clock.now();
    let shown = Shown::read(&app, &visitor.caller, now).await?;
    let body = html! {
        h1 { "Approvals" }
        p.lead {
            "Calls that a tool contract holds until a person decides. A decision is for one call with exactly these arguments."
        }
        div #live data-live="/approvals/live" data-part="/approvals/part" { (shown.content(&visitor, now)) }
    };
    Ok(Frame { title: "Approvals", tab: Tab::Approvals, visitor: Some(&visitor) }.around(&body))
}

/// Makes the part of the page that changes, and the number in the navigation.
async fn part(State(app): State<App>, visitor: Visitor) -> Result<Markup, ApiError> {
    let now = app.clock.now();
    let shown = Shown::read(&app, &visitor.caller, now).await?;
    Ok(html! {
        (number_waiting(visitor.waiting))
        div #live { (shown.content(&visitor, now)) }
    })
}

/// Tells when there is something new.
async fn live(State(app): State<App>, visitor: Visitor) -> Result<Response, ApiError> {
    live::follow(app, visitor.caller)
}

/// Writes a decision down.
async fn decide(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    Form(form): Form<DecisionForm>,
) -> Result<Redirect, ApiError> {
    visitor.require_submit()?;
    visitor.require_token(&form.token)?;
    let DecisionForm { decision, args_hash, note, .. } = form;
    let wanted = Wanted { decision, args_hash, by: String::new(), note };
    write_decision(&app, &visitor.caller, &id, wanted).await?;
    Ok(Redirect::to("/approvals"))
}

impl Shown {
    async fn read(app: &App, caller: &Caller, now: Timestamp) -> Result<Self, ApiError> {
        let of = |status| ApprovalFilter { owner: caller.sees(), status, now, ..ApprovalFilter::default() };
        let waiting = Page { after: None, most: WAITING };
        let pending = app.store.approvals(of(Some(ApprovalStatus::Pending)), waiting).await?.items;
        let newest = Page { after: None, most: LOOKED_AT };
        let mut decided = app.store.approvals(of(None), newest).await?.items;
        decided.retain(|one| one.status_at(now) != ApprovalStatus::Pending);
        decided.sort_by_key(|one| std::cmp::Reverse(one.decided_at));
        decided.truncate(usize::try_from(DECIDED).unwrap_or(usize::MAX));
        Ok(Self { pending, decided })
    }

    fn content(&self, visitor: &Visitor, now: Timestamp) -> Markup {
        html! {
            @if self.pending.is_empty() {
                div.empty { p { "No call waits for a person." } }
            } @else {
                (item::all_pending(visitor, &self.pending, now))
            }
            @if !self.decided.is_empty() { (item::decided(&self.decided, now)) }
        }
    }
}
