//! The story in time: a line for each moment, with a bar that says when and how long, which opens all that is known of it.

use maud::{Markup, html};

use super::Shown;
use super::moment::{KINDS, Moment, Source, moments};
use super::told::told;
use crate::web::numbers::{count, duration};
use crate::web::refusal::escaped;

/// How many moments a page has.
const PART: usize = 200;

/// The story, or the part of it that was asked for.
pub(super) fn section(shown: &Shown) -> Markup {
    let all = moments(shown.evidence.as_deref(), &shown.events);
    let wanted = |moment: &&Moment<'_>| shown.query.kind.is_empty() || moment.kind.word() == shown.query.kind;
    let chosen: Vec<_> = all.iter().filter(wanted).collect();
    let from = shown.query.from.min(chosen.len());
    let part = &chosen[from..chosen.len().min(from + PART)];
    let whole = Span::of(&all);
    html! {
        section aria-labelledby="story" {
            h2 #story { "Story" }
            @if all.is_empty() { p.quiet { "Nothing has happened yet." } } @else {
                (choices(shown, &all))
                p.quiet.axis {
                    span { (offset(whole.from)) }
                    span { "time since the agent started" }
                    span { (offset(whole.to)) }
                }
                ol.story { @for (index, moment) in part.iter().enumerate() { (line(shown, moment, whole, from + index)) } }
                (pager(shown, from, part.len(), chosen.len()))
            }
        }
    }
}

/// The time from the first moment to the last.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: i64,
    to: i64,
}

impl Span {
    fn of(all: &[Moment<'_>]) -> Self {
        let from = all.iter().map(|moment| moment.at).min().unwrap_or(0);
        let end = |moment: &Moment<'_>| moment.at.saturating_add(i64::try_from(moment.took).unwrap_or(0));
        Self { from, to: all.iter().map(end).max().unwrap_or(0).max(from + 1) }
    }

    /// Where a moment begins, and how wide it is, of 1000.
    fn place(self, moment: &Moment<'_>) -> (i64, i64) {
        let whole = i128::from(self.to - self.from).max(1);
        let share = |length: i128| i64::try_from(length * 1000 / whole).unwrap_or(0);
        let (begin, wide) = (share(i128::from(moment.at - self.from)), share(i128::from(moment.took)));
        (begin.min(996), wide.clamp(4, 1000))
    }
}

/// The kinds of moments that there are, each with its number.
fn choices(shown: &Shown, all: &[Moment<'_>]) -> Markup {
    let place = shown.place();
    let chosen = shown.query.kind.as_str();
    html! {
        nav.choices aria-label="Kinds of moments" {
            a href={ (place) "#story" } aria-current=[chosen.is_empty().then_some("true")] {
                "all " (count(all.len() as u64))
            }
            @for kind in KINDS {
                @let many = all.iter().filter(|moment| moment.kind == kind).count();
                @if many > 0 {
                    a href={ (place) "&kind=" (kind.word()) "#story" }
                        aria-current=[(chosen == kind.word()).then_some("true")] {
                        span class={ "dot " (kind.word()) } aria-hidden="true" {} (kind.word()) " " (count(many as u64))
                    }
                }
            }
        }
    }
}

fn line(shown: &Shown, moment: &Moment<'_>, whole: Span, index: usize) -> Markup {
    let (begin, wide) = whole.place(moment);
    let (label, details) = told(shown, moment);
    let took = if moment.took > 0 { format!(", took {}", duration(moment.took)) } else { String::new() };
    html! {
        li { details id={ "moment-" (name(shown, moment, index)) } {
            summary {
                span class={ "kind " (moment.kind.word()) } { (moment.kind.word()) }
                span.label { (label) }
                svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                    rect class=(moment.kind.word()) x=(begin) y="1" width=(wide) height="8" rx="2" {}
                }
                span.when { (offset(moment.at)) (took) }
            }
            div.evidence { (details) }
        } }
    }
}

/// What a moment is called in its page: an event by its number, which stays while others come before it.
fn name(shown: &Shown, moment: &Moment<'_>, index: usize) -> String {
    match moment.source {
        Source::Event(at) => shown.events.get(at).map(|stored| format!("event-{}", stored.number)).unwrap_or_default(),
        _ => index.to_string(),
    }
}

/// `+1.24 s` after the agent started, `−800 ms` before.
fn offset(at: i64) -> String {
    let sign = if at < 0 { "−" } else { "+" };
    format!("{sign}{}", duration(at.unsigned_abs()))
}

fn pager(shown: &Shown, from: usize, many: usize, all: usize) -> Markup {
    if all <= PART {
        return html! {};
    }
    let kind = &shown.query.kind;
    let place = |from: usize| format!("{}&kind={}&from={from}#story", shown.place(), escaped(kind));
    html! {
        nav.pager aria-label="Parts of the story" {
            @if from > 0 { a href=(place(from.saturating_sub(PART))) { "← Before" } }
            span.quiet { (count(from as u64 + 1)) " to " (count((from + many) as u64)) " of " (count(all as u64)) }
            @if from + many < all { a rel="next" href=(place(from + many)) { "Next →" } }
        }
    }
}
