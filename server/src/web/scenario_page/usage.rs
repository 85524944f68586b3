//! Resource usage, world and attempts of a scenario.

use maud::{Markup, html};
use scenario::evidence::{Evidence, ProcessUse, Usage};
use scenario::report::Row;
use scenario::untrusted;
use store::StoredAttempt;

use super::Shown;
use crate::web::numbers::{bytes, count, count_noun, duration, money, precise, time};
use crate::web::tables::{Head, table};
use crate::web::untrusted_html;

/// The shortest acting time in milliseconds for which processor use is shown.
const LONG_ENOUGH: u64 = 100;

/// The columns of attempts.
const HEADS: [Head<'_>; 5] = [
    Head::Text("Attempt"),
    Head::Text("Outcome"),
    Head::Number("Began"),
    Head::Number("Evidence"),
    Head::Text("SHA-256"),
];

/// Renders resource usage and world.
pub(super) fn section(shown: &Shown, row: Option<&Row>) -> Markup {
    html! {
        section aria-labelledby="use" {
            h2 #use { "What it used" }
            div.columns {
                @if let Some(row) = row { div { h3 { "Resources" } (resources(shown, row)) } }
                @if let Some(evidence) = shown.evidence.as_deref() { div { h3 { "World" } (world(evidence)) } }
                @if let Some(row) = row { (notes(shown, row)) }
            }
            (attempts(shown))
        }
    }
}

fn resources(shown: &Shown, row: &Row) -> Markup {
    let result = &row.result;
    let acted = shown.evidence.as_deref().and_then(acted);
    html! {
        dl.pairs {
            dt { "Agent acted" }
            dd { @match acted { Some(acted) => a href="#story" { (duration(acted)) }, None => "–" } }
            @if let Some(used) = shown.evidence.as_ref().and_then(|evidence| evidence.agent.used) {
                dt { "Processor time" }
                dd {
                    (duration(used.processor_ms()))
                    @if let Some(share) = acted.and_then(|acted| share(&used, acted)) { " " span.quiet { "of " (share) " processors" } }
                }
                dt { "Most memory" } dd { (bytes(used.most_memory)) " " span.quiet { "in one process" } }
            }
            dt { "Scenario took" } dd { (duration(result.wall_ms)) }
            dt { "Tool calls" }
            dd {
                (linked(&count(result.tool_calls), result.tool_calls, "tool", &shown.place()))
                @if result.tool_errors > 0 { ", " (count(result.tool_errors)) " with errors" }
            }
            (usage("Model", &result.usage, &shown.place()))
            @if let Some(evidence) = shown.evidence.as_deref() { (usage("Judges", &evidence.judge_usage, &shown.place())) }
            @for fired in &result.limits { dt { "Limit " (fired.limit) } dd.bad { (shown.marks().prose(&fired.detail)) } }
        }
    }
}

/// For how many milliseconds the agent acted; `None` when it was never started.
fn acted(evidence: &Evidence) -> Option<u64> {
    let agent = &evidence.agent;
    (agent.started_at.is_some() || agent.wall_ms > 0).then_some(agent.wall_ms)
}

/// Renders the mean number of busy processors while the agent acted, when it acted for long enough.
fn share(used: &ProcessUse, acted: u64) -> Option<String> {
    let processors = precise(used.processor_ms()) / precise(acted.max(1));
    (acted >= LONG_ENOUGH).then(|| format!("{processors:.2}"))
}

fn usage(who: &str, usage: &Usage, place: &str) -> Markup {
    if usage.calls == 0 {
        return html! {};
    }
    html! {
        dt { (who) } dd {
            (linked(&count_noun(usage.calls, "call"), usage.calls, "model", place)) ", "
            (count_noun(usage.input_tokens, "token")) " in, " (count(usage.output_tokens)) " out"
            @if usage.cache_read_tokens > 0 { ", " (count(usage.cache_read_tokens)) " from the cache" }
            @match usage.cost() { Some(cost) => { ", " (money(cost)) }, None => ", without a price" }
            " " span.quiet { (untrusted::line(&usage.model, 80)) }
        }
    }
}

/// A count that leads to the moments that were counted.
fn linked(words: &str, number: u64, kind: &str, place: &str) -> Markup {
    html! { @if number > 0 { a href={ (place) "&kind=" (kind) "#story" } { (words) } } @else { (words) } }
}

fn world(evidence: &Evidence) -> Markup {
    let world = &evidence.world;
    html! {
        dl.pairs {
            dt { "Sandbox" }
            dd {
                (untrusted::line(&world.sandbox, 100)) " "
                span.quiet { (untrusted::line(&world.backend, 20)) " " (untrusted::line(&world.runtime, 40)) }
            }
            @for image in &world.images {
                dt { "Image" } dd { code { (untrusted::line(&image.reference, 120)) }
                    @if image.is_stand_in() { " by its stand-in " code { (untrusted::line(&image.name, 120)) } }
                    br; span.quiet.digest { (untrusted::line(&image.digest, 100)) } }
            }
            @if let Some(snapshot) = &world.snapshot {
                dt { "Agent" } dd { (untrusted::line(&snapshot.name, 80)) " v" (snapshot.version) }
            }
        }
    }
}

/// Renders notes: informational; not part of the verdict.
fn notes(shown: &Shown, row: &Row) -> Markup {
    let notes = &row.result.notes;
    html! {
        @if !notes.is_empty() {
            div { h3 { "Notes" } ul.notes { @for note in notes { li { (shown.marks().prose(note)) } } } }
        }
    }
}

fn attempts(shown: &Shown) -> Markup {
    let run = shown.found.run.id.number;
    html! {
        @if !shown.found.attempts.is_empty() {
            h3 { "Attempts" }
            (table("Attempts", "", &HEADS, &html! { @for one in &shown.found.attempts { (attempt(shown, one)) } }))
            p.after {
                a href={ (shown.api()) "?run=" (run) } { "As JSON" } " · "
                a href={ (shown.api()) "/artifacts?run=" (run) } { "Artifacts" }
            }
        }
    }
}

fn attempt(shown: &Shown, attempt: &StoredAttempt) -> Markup {
    let number = attempt.number;
    let is_judged = shown.found.stored.source.is_some_and(|(_, judged)| judged == number);
    let evidence = format!("{}/evidence?run={}&attempt={number}", shown.api(), shown.found.run.id.number);
    html! {
        tr {
            th scope="row" {
                a href={ (shown.place()) "&attempt=" (number) } { (number) }
                @if is_judged { " " span.tag { "judged" } }
            }
            td {
                (attempt.outcome.word())
                @if let Some(message) = &attempt.message { " " span.quiet { (untrusted_html::short_prose(message, 200)) } }
            }
            td.number { (time(attempt.started_at)) }
            td.number { @match attempt.size {
                Some(size) => a download={ "evidence-" (number) ".json" } href=(evidence) { (bytes(size)) },
                None => "–",
            } }
            td.digest { (attempt.digest.as_deref().unwrap_or("–")) }
        }
    }
}
