//! Two experiments side by side.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use scenario::result::ScenarioResult;
use scenario::score::{ComparedMetric, Comparison, Direction, ExperimentScore};
use serde::Deserialize;
use store::{Experiment, ExperimentId, HistoryFilter, Page, Past, Run};

use super::foreign;
use super::layout::{Frame, Tab};
use super::marks::{Mark, run_badge};
use super::numbers::{count, duration, money, percent};
use super::refusal::escaped;
use super::session::Visitor;
use super::tables::{Head, table};
use crate::api::experiments::{find, find_run};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Asked;

/// How many scenarios of each are compared one by one.
const MOST: u64 = 1000;
/// How many experiments are looked at to find one by the beginning of its id.
const LOOKED_AT: u64 = 50;
/// How many differences are listed.
const LISTED: usize = 200;

/// Which two. What stands before is the baseline.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompareQuery {
    a: String,
    b: String,
}

/// One of them.
struct Side {
    experiment: Experiment,
    run: Run,
    score: ExperimentScore,
    results: BTreeMap<String, ScenarioResult>,
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/compare", get(compare))
}

async fn compare(
    State(app): State<App>,
    visitor: Visitor,
    Asked(query): Asked<CompareQuery>,
) -> Result<Markup, ApiError> {
    let body = if query.a.trim().is_empty() || query.b.trim().is_empty() {
        html! {
            h1 { "Compare" }
            p.lead { "Two experiments that have ended: what was before, and what is now." }
            (form(&query))
        }
    } else {
        let before = side(&app, &visitor, query.a.trim()).await?;
        let now = side(&app, &visitor, query.b.trim()).await?;
        content(&query, &before, &now)
    };
    Ok(Frame { title: "Compare", tab: Tab::Compare, visitor: Some(&visitor) }.around(&body))
}

/// One of them, if it has ended.
async fn side(app: &App, visitor: &Visitor, name: &str) -> Result<Side, ApiError> {
    let experiment = meant(app, visitor, name).await?;
    let run = find_run(app, &experiment, None).await?;
    let unended = || ApiError::conflict(format!("the experiment `{}` has not ended", experiment.id));
    let run = run.ok_or_else(unended)?;
    let score = run.score.clone().ok_or_else(unended)?;
    let stored = app.store.scenarios_from(run.id, 0, MOST).await?;
    let results = stored.into_iter().filter_map(|one| Some((one.scenario.id.to_string(), one.result?))).collect();
    Ok(Side { experiment, run, score, results })
}

/// The experiment that is meant, of those that the visitor sees: by its id, by the beginning of its id, or by `latest`.
async fn meant(app: &App, visitor: &Visitor, name: &str) -> Result<Experiment, ApiError> {
    if name.parse::<ExperimentId>().is_ok() {
        return find(app, &visitor.caller, name).await;
    }
    let text = Some(name).filter(|name| *name != "latest");
    let filter = HistoryFilter { owner: visitor.caller.sees(), text, ..HistoryFilter::default() };
    let listed = app.store.history(filter, Page { after: None, most: LOOKED_AT }).await?;
    let begins = |past: &Past| text.is_none_or(|text| past.experiment.id.to_string().starts_with(&text.to_lowercase()));
    let mut found = listed.items.into_iter().filter(begins).map(|past| past.experiment);
    let shown = scenario::untrusted::line(name, 100);
    let missing = || ApiError::not_found(format!("there is no experiment whose id begins with `{shown}`"));
    let first = found.next().ok_or_else(missing)?;
    if text.is_some() && found.next().is_some() {
        return Err(ApiError::conflict(format!(
            "several experiments have an id that begins with `{shown}`; give more of it"
        )));
    }
    Ok(first)
}

fn form(query: &CompareQuery) -> Markup {
    html! {
        form.filters.two method="get" action="/compare" {
            @for (name, words, value) in [("a", "Before", &query.a), ("b", "Now", &query.b)] {
                div {
                    label for=(name) { (words) }
                    input id=(name) type="text" name=(name) value=(value) required spellcheck="false"
                        placeholder="id, its beginning, or latest";
                }
            }
            div.actions {
                button.primary type="submit" { "Compare" }
                a.button href={ "/compare?a=" (escaped(&query.b)) "&b=" (escaped(&query.a)) } { "Swap" }
            }
        }
    }
}

fn content(query: &CompareQuery, before: &Side, now: &Side) -> Markup {
    let comparison = Comparison::of(&before.score, &now.score);
    let specs_differ = before.run.digest != now.run.digest;
    html! {
        h1 { "Compare" }
        (form(query))
        p class={ "notice " (if comparison.regressed { "bad" } else { "good" }) } role="status" {
            (foreign::prose(&comparison.summary))
        }
        @if specs_differ { p.notice { "They ran different specs: a change may be the spec's." } }
        section aria-labelledby="numbers" {
            h2 #numbers { "Numbers" }
            div.scroll tabindex="0" role="region" aria-label="Numbers" { table {
                thead { tr {
                    th scope="col" { "Number" }
                    @for side in [before, now] { th.number scope="col" { (named(side)) } }
                    th.number scope="col" { "Change" }
                    th scope="col" { "Which is" }
                } }
                tbody { @for metric in &comparison.metrics { (row(metric, before, now)) } }
            } }
        }
        (scenarios(before, now))
    }
}

fn named(side: &Side) -> Markup {
    let when = side.experiment.created_at.to_string();
    html! {
        a href={ "/experiments/" (side.experiment.id) } { (foreign::line(side.experiment.title(), 40)) } br;
        span.quiet { (when.get(..16).unwrap_or(&when).replace('T', " ")) } br;
        (run_badge(side.run.state, side.run.verdict))
    }
}

fn row(metric: &ComparedMetric, before: &Side, now: &Side) -> Markup {
    let shown = |value: f64| match metric.name {
        "pass_rate" | "mean_pass_k" | "tool_success_rate" => percent(value),
        "total_cost_usd" | "mean_cost_per_run_usd" => money(value),
        "mean_wall_ms" | "p95_wall_ms" => duration(whole(value)),
        "mean_composite" | "mean_tool_calls" => format!("{value:.2}"),
        _ => count(whole(value)),
    };
    let change = match (metric.delta.abs(), metric.delta < 0.0) {
        (0.0, _) => "–".to_owned(),
        (size, true) => format!("−{}", shown(size)),
        (size, false) => format!("+{}", shown(size)),
    };
    let (class, word) = match metric.direction {
        Direction::Better => ("better", "↑ better"),
        Direction::Worse => ("worse", "↓ worse"),
        Direction::Same => ("quiet", "= the same"),
    };
    html! {
        tr {
            th scope="row" { (called(metric.name)) }
            td.number { a href={ "/experiments/" (before.experiment.id) "#scenarios" } { (shown(metric.baseline)) } }
            td.number { a href={ "/experiments/" (now.experiment.id) "#scenarios" } { (shown(metric.candidate)) } }
            td.number { (change) }
            td { span class=(class) { (word) } }
        }
    }
}

/// What people call a number.
fn called(name: &str) -> &str {
    match name {
        "pass_rate" => "Pass rate",
        "mean_pass_k" => "pass^k",
        "mean_composite" => "Composite",
        "errors" => "Errors",
        "side_effect_violations" => "Violations of rules",
        "tool_success_rate" => "Tool calls that went well",
        "mean_tool_calls" => "Tool calls of a scenario",
        "mean_tokens" => "Tokens of a scenario",
        "mean_cost_per_run_usd" => "Cost of a scenario",
        "total_cost_usd" => "Cost",
        "mean_wall_ms" => "Time of a scenario",
        "p95_wall_ms" => "Time that 95 of 100 take at most",
        other => other,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is shown is small and not below 0")]
fn whole(number: f64) -> u64 {
    number.max(0.0).round() as u64
}

/// Scenarios that stand differently, and which of their invariants do.
fn scenarios(before: &Side, now: &Side) -> Markup {
    let ids: BTreeSet<_> = before.score.statuses.keys().chain(now.score.statuses.keys()).collect();
    let stands = |side: &Side, id| side.score.statuses.get(id).map(|status| Mark::of_status(*status));
    let changed: Vec<_> = ids
        .into_iter()
        .map(|id| (id, stands(before, id), stands(now, id)))
        .filter(|(_, before, now)| before != now)
        .collect();
    let rows = html! {
        @for (id, was, is) in changed.iter().take(LISTED) { tr {
            th scope="row" { (id) }
            td { (linked(before, id.as_str(), *was)) }
            td { (linked(now, id.as_str(), *is)) }
            td { (invariants(before.results.get(id.as_str()), now.results.get(id.as_str()))) }
        } }
    };
    html! {
        section aria-labelledby="scenarios" {
            h2 #scenarios { "Scenarios that stand differently" }
            @if changed.is_empty() { p.quiet { "None." } } @else {
                (table("Scenarios", "wide", &["Scenario", "Before", "Now", "Invariants"].map(Head::Text), &rows))
                @if changed.len() > LISTED { p.quiet { "and " (changed.len() - LISTED) " more" } }
            }
        }
    }
}

fn linked(side: &Side, id: &str, mark: Option<Mark>) -> Markup {
    html! { @match mark {
        Some(mark) => a.bare href={ "/experiments/" (side.experiment.id) "/scenarios/" (id) "?run=" (side.run.id.number) } {
            (mark.badge())
        },
        None => span.quiet { "not there" },
    } }
}

/// The invariants that were judged differently.
fn invariants(before: Option<&ScenarioResult>, now: Option<&ScenarioResult>) -> Markup {
    let outcomes = |result: Option<&ScenarioResult>| -> BTreeMap<String, Mark> {
        let all = result.into_iter().flat_map(|result| &result.invariants);
        all.map(|one| (one.name.clone(), Mark::of_outcome(one.verdict.outcome))).collect()
    };
    let (before, now) = (outcomes(before), outcomes(now));
    let changed =
        now.iter().filter_map(|(name, is)| Some((name, *before.get(name)?, *is))).filter(|(_, was, is)| was != is);
    html! {
        @for (name, was, is) in changed {
            span.change-of {
                (foreign::line(name, 60)) " " span class=(was.class()) { (was.sign()) } "→" span class=(is.class()) { (is.sign()) }
            } " "
        }
    }
}
