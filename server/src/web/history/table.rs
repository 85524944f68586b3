//! Experiments as a table.

use jiff::Timestamp;
use maud::{Markup, html};
use scenario::untrusted;
use store::{Experiment, Past, RunNumbers, RunState, SpecVersion};

use crate::web::badges::run_badge;
use crate::web::error_page::escaped;
use crate::web::numbers::{ago, duration, money, percent};
use crate::web::tables::{self, Head};
use crate::web::untrusted_html;

/// The number of characters of an id that are shown: enough for its time to the millisecond.
const SHORT: usize = 13;
/// The most tags of a spec that are shown.
const TAGS: usize = 4;

/// Experiments as a table; with their owners, for who sees those of others.
pub(in crate::web) fn table(items: &[Past], now: Timestamp, owners: bool) -> Markup {
    let mut heads = vec![Head::Text("Status"), Head::Text("Spec"), Head::Text("Experiment")];
    if owners {
        heads.push(Head::Text("Owner"));
    }
    heads.push(Head::Text("Tags"));
    heads.extend(["Pass rate", "Passed", "Cost", "Took", "Submitted"].map(Head::Number));
    tables::table("Experiments", "wide", &heads, &html! { @for past in items { (row(past, now, owners)) } })
}

fn row(past: &Past, now: Timestamp, owners: bool) -> Markup {
    let Past { experiment, tags, run } = past;
    let link = format!("/experiments/{}", experiment.id);
    html! {
        tr {
            td { @match run {
                Some(run) => (run_badge(run.state, run.verdict)),
                None => span.badge.waiting { span.sign aria-hidden="true" { "·" } "not run yet" },
            } }
            td.once { (spec(&experiment.spec)) }
            th scope="row" {
                (named(experiment, &link))
                @if experiment.pinned { " " span.tag { "pinned" } }
            }
            @if owners { td { (owner(&experiment.owner)) } }
            td.tags {
                @for tag in tags.iter().take(TAGS) {
                    a.tag href={ "/experiments?tag=" (escaped(tag)) } { (untrusted_html::line(tag, 30)) } " "
                }
            }
            (numbers(run.as_ref(), &link))
            td.number { (ago(experiment.created_at, now)) }
        }
    }
}

/// Renders an experiment's name, when it differs from its spec's, and the beginning of its id.
fn named(experiment: &Experiment, link: &str) -> Markup {
    let id = experiment.id.to_string();
    let short = id.get(..SHORT).unwrap_or(&id);
    let name = Some(experiment.title()).filter(|title| *title != experiment.spec.spec_id);
    html! {
        @match name {
            Some(name) => { a href=(link) { (untrusted_html::line(name, 80)) } " " span.quiet { (short) } },
            None => a href=(link) { (short) },
        }
    }
}

/// A spec and its version. An id that is too long is cut on the screen, and said as a whole when somebody points at it.
fn spec(spec: &SpecVersion) -> Markup {
    html! {
        a.cut href={ "/specs/" (escaped(&spec.spec_id)) "?version=" (spec.version) } title=(untrusted::line(&spec.spec_id, 200)) {
            span { (untrusted_html::line(&spec.spec_id, 200)) } span.quiet { "v" (spec.version) }
        }
    }
}

/// Whose something is.
pub(in crate::web) fn owner(owner: &str) -> Markup {
    html! { @if owner.is_empty() { span.quiet { "this machine" } } @else { (untrusted_html::line(owner, 64)) } }
}

/// The numbers of a run, each of which leads to where it comes from.
fn numbers(run: Option<&RunNumbers>, link: &str) -> Markup {
    let Some(run) = run else {
        return html! { @for _ in 0..4 { td.number { "–" } } };
    };
    if run.state == RunState::Open {
        return html! {
            td.number { "–" }
            td.number { a href={ (link) "#scenarios" } { (run.ended) " of " (run.total) " ended" } }
            td.number { "–" }
            td.number { "–" }
        };
    }
    let took = run.ended_at.map(|ended| ended.duration_since(run.created_at).as_millis());
    html! {
        td.number {
            @match run.pass_rate() { Some(rate) => a href={ (link) "#grid" } { (percent(rate)) }, None => "–" }
        }
        td.number { a href={ (link) "#scenarios" } { (run.passed) " / " (run.total) } }
        td.number {
            @if run.cost_usd > 0.0 { a href={ (link) "#scenarios" } { (money(run.cost_usd)) } } @else { "–" }
        }
        td.number { @match took { Some(took) => (duration(u64::try_from(took).unwrap_or(0))), None => "–" } }
    }
}
