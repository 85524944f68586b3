//! One call that waits, and those that did.

use jiff::Timestamp;
use maud::{Markup, html};
use serde_json::Value;
use store::{Approval, ApprovalStatus};

use crate::web::json;
use crate::web::numbers::{ago, count, duration, time};
use crate::web::session::Visitor;
use crate::web::tables::{Head, table};
use crate::web::untrusted_html::{self, Marks};

/// The most bytes of a text that stands without a frame of its own.
const SHORT: usize = 500;

/// The columns of decided calls.
const COLUMNS: [Head<'_>; 6] = [
    Head::Text("Call"),
    Head::Text("Scenario"),
    Head::Text("Decision"),
    Head::Text("By"),
    Head::Text("Note"),
    Head::Number("When"),
];

/// Calls that wait.
pub(super) fn all_pending(visitor: &Visitor, approvals: &[Approval], now: Timestamp) -> Markup {
    html! {
        section aria-labelledby="pending" {
            h2 #pending { "Waiting for a decision" }
            @for approval in approvals { (pending(visitor, approval, now)) }
        }
    }
}

/// A call that waits, with the form to decide.
fn pending(visitor: &Visitor, approval: &Approval, now: Timestamp) -> Markup {
    let new = &approval.new;
    html! {
        article.invariant id=(new.id) aria-labelledby={ (new.id) "-call" } {
            header {
                h3 id={ (new.id) "-call" } { code { (untrusted_html::line(&new.tool, 100)) } }
                (countdown(approval, now))
                span.quiet { "then it " @if new.allows_on_timeout { "goes on" } @else { "is refused" } }
            }
            p { (untrusted_html::prose(&new.reason)) }
            (facts(approval))
            (context(approval))
            @if visitor.may_submit() { (form(visitor, approval)) }
        }
    }
}

/// The time that is left. A script counts it down.
fn countdown(approval: &Approval, now: Timestamp) -> Markup {
    let deadline = approval.new.deadline;
    let left = u64::try_from(deadline.duration_since(now).as_secs()).unwrap_or(0);
    html! {
        span { time datetime=(deadline) data-deadline=(deadline) { (duration(left.saturating_mul(1000))) } " left" }
        span.quiet { "until " (time(deadline)) }
    }
}

fn facts(approval: &Approval) -> Markup {
    let new = &approval.new;
    html! {
        p.facts {
            span { "Scenario " (scenario(approval)) }
            span { "Session " code { (untrusted_html::line(&new.session, 60)) } }
            span { "Call " code { (untrusted_html::line(&new.call, 60)) } }
            @for checkpoint in &new.checkpoints { span { "Checkpoint " code { (untrusted_html::line(checkpoint, 60)) } } }
            span { "Arguments " code.digest { (untrusted_html::line(&new.arguments_hash, 80)) } }
        }
    }
}

fn scenario(approval: &Approval) -> Markup {
    let new = &approval.new;
    let place = format!("/experiments/{}/scenarios/{}?run={}", new.run.experiment, new.scenario, new.run.number);
    html! {
        a href=(place) { (untrusted_html::line(&new.scenario, 80)) }
        " of " (untrusted_html::line(&approval.spec_id, 80))
    }
}

/// The arguments that a person is to see.
fn context(approval: &Approval) -> Markup {
    html! {
        @if !approval.new.context.is_empty() {
            dl.pairs {
                @for (label, value) in &approval.new.context {
                    dt { (untrusted_html::line(label, 100)) }
                    dd { (shown(value)) }
                }
            }
        }
    }
}

fn shown(value: &Value) -> Markup {
    match value {
        Value::String(text) if text.len() <= SHORT => untrusted_html::text(text),
        // It says how much of it is left out: nobody is to approve what they did not see.
        Value::String(text) => json::block(text, Marks::default()),
        Value::Array(_) | Value::Object(_) => json::value(value, Marks::default()),
        plain => html! { code { (plain) } },
    }
}

fn form(visitor: &Visitor, approval: &Approval) -> Markup {
    let new = &approval.new;
    let note = format!("{}-note", new.id);
    html! {
        form.actions.after method="post" action={ "/approvals/" (new.id) "/decision" } {
            input type="hidden" name="token" value=(visitor.token);
            input type="hidden" name="args_hash" value=(new.arguments_hash);
            div { label for=(note) { "Note" } input id=(note) type="text" name="note" maxlength="2000" autocomplete="off"; }
            button.primary type="submit" name="decision" value="approve" { "Approve" }
            button type="submit" name="decision" value="deny" { "Deny" }
        }
    }
}

/// Calls that do not wait any more.
pub(super) fn decided(approvals: &[Approval], now: Timestamp) -> Markup {
    html! {
        section aria-labelledby="decided" {
            h2 #decided { "Decided lately" }
            (table("Decided lately", "wide", &COLUMNS, &html! { @for one in approvals { (row(one, now)) } }))
        }
    }
}

fn row(approval: &Approval, now: Timestamp) -> Markup {
    let status = approval.status_at(now);
    let made = approval.decision.as_ref();
    html! {
        tr {
            th scope="row" { code { (untrusted_html::line(&approval.new.tool, 100)) } }
            td { (scenario(approval)) }
            td { (word(status)) }
            td { @if let Some(made) = made { (untrusted_html::line(&made.by, 60)) } }
            td { @if let Some(made) = made { (untrusted_html::line(&made.note, 200)) } }
            td.number { (ago(approval.decided_at.unwrap_or(approval.new.deadline), now)) }
        }
    }
}

fn word(status: ApprovalStatus) -> &'static str {
    match status {
        ApprovalStatus::Used => "approved, and it went on",
        other => other.word(),
    }
}

/// A hint on other pages that calls wait; nothing when none does.
pub(in crate::web) fn waiting_hint(waiting: u64) -> Markup {
    html! {
        @if waiting > 0 {
            p.notice role="status" {
                @if waiting == 1 { "A call waits for a person: " } @else { (count(waiting)) " calls wait for a person: " }
                a href="/approvals" { "decide" } "."
            }
        }
    }
}
