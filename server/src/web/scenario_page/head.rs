//! Where the page is, how the scenario stands, and what it was run with.

use maud::{Markup, html};
use scenario::plan::parameter_text;
use scenario::untrusted;

use super::Shown;
use crate::api::experiments::details::FoundScenario;
use crate::web::numbers::{duration, score as two_digits};
use crate::web::untrusted_html;

/// The head of the page.
pub(super) fn head(shown: &Shown) -> Markup {
    let FoundScenario { experiment, run, stored, .. } = &shown.found;
    let scenario = &stored.scenario;
    html! {
        nav.crumbs aria-label="Where this is" {
            a href="/experiments" { "Experiments" } " / "
            a href={ "/experiments/" (experiment.id) "?run=" (run.id.number) } { (untrusted_html::line(experiment.title(), 60)) }
            " / "
            span { (scenario.id) }
        }
        div.head { h1 { (scenario.id) } (shown.status.badge()) }
        p.facts {
            @for (name, value) in &scenario.parameters {
                span { (untrusted_html::line(name, 60)) " " code { (untrusted::line(&parameter_text(value), 80)) } }
            }
            @if !scenario.chaos.is_empty() { span { "Chaos " code { (untrusted_html::line(&scenario.chaos, 60)) } } }
            span { "Replica " (scenario.replica) }
            span { "Seed " code { (scenario.seed) } }
            @if let Some(result) = &stored.result {
                span { "Composite "
                    @if result.is_judged() { a href="#invariants" { (two_digits(result.composite)) } } @else { "–" }
                }
                span { "Took " a href="#story" { (duration(result.wall_ms)) } }
                @if let Some(code) = result.exit_code { span { "Exit code " a href="#output" { (code) } } }
            }
        }
    }
}
