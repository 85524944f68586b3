//! The faults of a scenario: every rule with its counts, and what the agent did after each fault.

use maud::{Markup, html};
use scenario::evidence::{AttackRecord, FaultRecord, Firing, Recovery, RuleCount};
use scenario::untrusted;

use super::Shown;
use crate::web::numbers::{count, count_noun, duration};
use crate::web::tables::{Head, table};

/// The most faults that a page shows.
const MOST: usize = 100;

const RULES: [Head<'_>; 5] =
    [Head::Text("Rule"), Head::Text("Mode"), Head::Text("Calls of"), Head::Number("Matched"), Head::Number("Faulted")];

const FIRINGS: [Head<'_>; 5] =
    [Head::Number("At"), Head::Text("Fault"), Head::Text("Call"), Head::Number("Number"), Head::Text("Then")];

const RECOVERIES: [Head<'_>; 4] =
    [Head::Text("Call"), Head::Number("First fault"), Head::Number("Calls since"), Head::Text("Then")];

const ATTACKS: [Head<'_>; 3] = [Head::Text("Attack"), Head::Text("Type"), Head::Text("Effect")];

/// The faults of the scenario; nothing when it has no rule for any.
pub(super) fn section(shown: &Shown) -> Markup {
    let faults = shown.evidence.as_ref().and_then(|evidence| evidence.faults.as_ref());
    html! { @if let Some(faults) = faults {
        section aria-labelledby="faults" {
            h2 #faults { "Faults" }
            @if faults.is_vacuous() {
                p.notice.bad { "Vacuous: no fault fired, so nothing was put to the test." }
            }
            (table("Rules", "", &RULES, &html! { @for rule in &faults.rules { (rule_row(rule)) } }))
            @if !faults.firings.is_empty() { (firings(faults)) }
            @if !faults.recoveries.is_empty() { (recoveries(&faults.recoveries)) }
            @for twice in &faults.duplicates {
                p.notice.bad {
                    "The same change was accepted " (count_noun(twice.count, "time")) ": "
                    code { (untrusted::line(&twice.target, 140)) }
                }
            }
            @if !faults.attacks.is_empty() { (attacks(&faults.attacks)) }
        }
    } }
}

fn rule_row(rule: &RuleCount) -> Markup {
    html! {
        tr {
            th scope="row" { code { (untrusted::line(&rule.rule, 60)) } }
            td { (untrusted::line(&rule.mode, 40)) }
            td { code { (untrusted::line(&rule.target, 100)) } }
            td.number { (count(rule.matched)) }
            td.number { (count(rule.fired)) }
        }
    }
}

fn recoveries(recoveries: &[Recovery]) -> Markup {
    let row = |one: &Recovery| {
        html! {
            tr {
                th scope="row" { code { (untrusted::line(&one.target, 140)) } }
                td.number { (duration(one.first_fault_ms)) }
                td.number { (count(one.calls)) }
                td {
                    @match one.after_ms {
                        Some(after) => { "worked after " (duration(after)) },
                        None => span.bad { "never worked again" },
                    }
                }
            }
        }
    };
    html! {
        h3 { "Recovery" }
        (table("Recovery", "", &RECOVERIES, &html! { @for one in recoveries { (row(one)) } }))
    }
}

fn attacks(attacks: &[AttackRecord]) -> Markup {
    let row = |attack: &AttackRecord| {
        html! {
            tr {
                th scope="row" { code { (untrusted::line(&attack.rule, 60)) } }
                td { (untrusted::line(&attack.kind, 40)) }
                td {
                    @if attack.not_scored { span.quiet { "not known: its text has no canary" } }
                    @else if attack.took_effect.is_empty() { "none" }
                    @for (index, effect) in attack.took_effect.iter().enumerate() {
                        @if index > 0 { ", " }
                        span.bad { "canary in " (untrusted::line(&effect.place, 100)) }
                    }
                }
            }
        }
    };
    html! {
        h3 { "Context attacks" }
        (table("Context attacks", "", &ATTACKS, &html! { @for attack in attacks { (row(attack)) } }))
    }
}

fn firings(faults: &FaultRecord) -> Markup {
    let left_out = faults.total().saturating_sub(faults.firings.len().min(MOST) as u64);
    html! {
        h3 { "What was injected, and what the agent did next" }
        (table("Faults", "", &FIRINGS, &html! { @for firing in faults.firings.iter().take(MOST) { (firing_row(firing)) } }))
        @if left_out > 0 { p.quiet { (count_noun(left_out, "more fault")) " in the evidence." } }
    }
}

fn firing_row(firing: &Firing) -> Markup {
    html! {
        tr {
            td.number { (duration(firing.at_ms)) }
            td { (untrusted::line(&firing.mode, 40)) " " span.quiet { (untrusted::line(&firing.rule, 60)) } }
            td { code { (untrusted::line(&firing.target, 140)) } }
            td.number { (count(firing.call)) }
            td {
                @match firing.retried_after_ms {
                    Some(after) => { "tried again after " (duration(after)) },
                    None => span.quiet { "never made the call again" },
                }
                @if firing.kept_retry_after() == Some(false) { ", " span.bad { "earlier than it was asked to" } }
            }
        }
    }
}
