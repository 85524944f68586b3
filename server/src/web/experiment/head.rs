//! Where the page is, how the run stands, and what was run.

use maud::{Markup, html};
use store::{Experiment, Run, RunKind, RunState};

use crate::app::App;
use crate::web::badges::{is_ending, standing_badge};
use crate::web::error_page::escaped;
use crate::web::numbers::{ago, time};
use crate::web::session::Visitor;
use crate::web::untrusted_html;

/// The most runs that are offered.
const RUNS: u32 = 20;

/// The heading, and how the run stands. It changes while the run goes on.
pub(super) fn standing(visitor: &Visitor, experiment: &Experiment, run: Option<&Run>) -> Markup {
    html! {
        nav.crumbs aria-label="Where this is" { a href="/experiments" { "Experiments" } " / " span { (experiment.id) } }
        div.head {
            h1 { (untrusted_html::line(experiment.title(), 120)) }
            @if let Some(run) = run {
                (standing_badge(run))
                @if run.state == RunState::Open && !is_ending(run) && visitor.may_submit() { (end_early(visitor, experiment)) }
            }
        }
        @if let Some((run, reason)) = run.and_then(|run| Some((run, run.reason.as_ref()?))) {
            p.notice {
                @if is_ending(run) { "It is being ended early: " } @else { "It was ended early: " }
                (untrusted_html::short_prose(reason, 300))
            }
        }
    }
}

fn end_early(visitor: &Visitor, experiment: &Experiment) -> Markup {
    html! {
        form method="post" action={ "/experiments/" (experiment.id) "/cancel" } {
            input type="hidden" name="token" value=(visitor.token);
            button type="submit" { "End it early" }
        }
    }
}

/// Facts about the run.
pub(super) fn facts(app: &App, experiment: &Experiment, tags: &[String]) -> Markup {
    let spec = &experiment.spec;
    html! {
        p.facts {
            span { "Spec "
                a href={ "/specs/" (escaped(&spec.spec_id)) "?version=" (spec.version) } {
                    (untrusted_html::line(&spec.spec_id, 80)) " v" (spec.version)
                }
            }
            span { "Submitted " (ago(experiment.created_at, app.clock.now())) ", " (time(experiment.created_at)) }
            span { "Seed " code { (experiment.seed) } }
            @if !experiment.owner.is_empty() { span { "Owner " (untrusted_html::line(&experiment.owner, 64)) } }
            @for tag in tags { a.tag href={ "/experiments?tag=" (escaped(tag)) } { (untrusted_html::line(tag, 40)) } }
            @if let Some(of) = &experiment.settings.rerun_of { span { "Repeats " (untrusted_html::line(of, 80)) } }
        }
    }
}

/// The runs of an experiment that has several, and what is special about this one.
pub(super) fn runs(experiment: &Experiment, run: &Run) -> Markup {
    let number = run.id.number;
    html! {
        @if let RunKind::Rescored { of } = run.kind {
            p.notice { "This run judged the evidence of run " (of) " again." }
        }
        @if number > 1 {
            p.facts { "Runs: "
                @for other in (1..=number).rev().take(RUNS as usize) {
                    a href={ "/experiments/" (experiment.id) "?run=" (other) }
                        aria-current=[(other == number).then_some("true")] { (other) } " "
                }
            }
        }
    }
}
