//! The story in time: a line for each moment, with a bar that says when and how long, which opens all that is known of
//! it.

use maud::{Markup, html};
use scenario::trace::{Moment, Source, TimedEvent, agent_started, timeline};

use super::Shown;
use super::exchange::only_counted;
use super::moment_filter::{Chosen, PART};
use super::moment_html::{Beside, told};
use crate::web::numbers::duration;

/// The story, or the part of it that was asked for.
pub(super) fn section(shown: &Shown) -> Markup {
    let events = shown.timed_events();
    let all = timeline(shown.evidence.as_deref(), &events);
    let chosen = Chosen::of(shown, &all);
    let from = chosen.from();
    let part = &chosen.moments[from..chosen.moments.len().min(from + PART)];
    let whole = Span::of(&all);
    let beside = Beside::of(shown.evidence.as_deref(), part);
    html! {
        section aria-labelledby="story" {
            h2 #story { "Story" }
            @if all.is_empty() { p.quiet { "Nothing has happened yet." } } @else {
                (chosen.choices())
                (chosen.note())
                (only_counted(shown.evidence.as_deref()))
                @if !part.is_empty() {
                    (axis(shown, &events, whole))
                    ol.story { @for (index, moment) in part.iter().enumerate() { (line(shown, &beside, moment, whole, from + index)) } }
                }
                (chosen.pager(from, part.len()))
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
        let from = all.iter().map(|moment| moment.at_ms).min().unwrap_or(0);
        let end = |moment: &Moment<'_>| moment.at_ms.saturating_add(i64::try_from(moment.duration_ms).unwrap_or(0));
        Self { from, to: all.iter().map(end).max().unwrap_or(0).max(from + 1) }
    }

    /// Which part of 1000 a length is.
    fn share(self, length: i128) -> i64 {
        i64::try_from(length * 1000 / i128::from(self.to - self.from).max(1)).unwrap_or(0)
    }

    /// Where a moment begins, and how wide it is, of 1000.
    fn place(self, moment: &Moment<'_>) -> (i64, i64) {
        let (begin, wide) =
            (self.share(i128::from(moment.at_ms) - i128::from(self.from)), self.share(moment.duration_ms.into()));
        (begin.min(996), wide.clamp(4, 1000))
    }

    /// Where the time 0 is, of 1000; `None` when it is at an edge or outside, where a line says nothing.
    fn zero(self) -> Option<i64> {
        let zero = self.share(-i128::from(self.from));
        (1..1000).contains(&zero).then_some(zero)
    }
}

/// The times above the bars, in the same columns as these.
fn axis(shown: &Shown, events: &[TimedEvent<'_>], whole: Span) -> Markup {
    /// Nearer to an edge, the 0 would stand in the edge's own time.
    const FREE: std::ops::Range<i64> = 250..700;
    let since = match agent_started(shown.evidence.as_deref(), events) {
        Some(_) => "time since the agent started",
        None => "time since a worker took it; no agent started",
    };
    html! {
        div.axis {
            span.words { (since) }
            svg.scale role="img" aria-label={ "From " (offset(whole.from)) " to " (offset(whole.to)) ", " (since) } {
                text.from x="0" y="75%" { (offset(whole.from)) }
                @if let Some(zero) = whole.zero().filter(|zero| FREE.contains(zero)) {
                    text.zero x={ (zero / 10) "." (zero % 10) "%" } y="75%" { "0" }
                }
                text.to x="100%" y="75%" { (offset(whole.to)) }
            }
        }
    }
}

fn line(shown: &Shown, beside: &Beside<'_>, moment: &Moment<'_>, whole: Span, index: usize) -> Markup {
    let (begin, wide) = whole.place(moment);
    let (label, details) = told(shown, beside, moment);
    let took = if moment.duration_ms > 0 { format!(", took {}", duration(moment.duration_ms)) } else { String::new() };
    let class = if moment.broken_off { "failed" } else { moment.kind.word() };
    html! {
        li { details id={ "moment-" (name(shown, moment, index)) } {
            summary {
                span class={ "kind " (moment.kind.word()) } { (moment.kind.word()) }
                span.label { (label) }
                svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                    @if let Some(zero) = whole.zero() { line.zero x1=(zero) x2=(zero) y1="0" y2="10" {} }
                    rect class=(class) x=(begin) y="1" width=(wide) height="8" rx="2" {}
                }
                span.when { (offset(moment.at_ms)) (took) }
            }
            div.evidence { (details) }
        } }
    }
}

/// The anchor of a moment on its page: an event by its number, which stays when others come before it.
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

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn the_line_at_0_stands_where_the_agent_started() {
        for (from, to, expected) in [(-250, 750, Some(250)), (0, 900, None), (5, 900, None), (-900, 0, None)] {
            assert_eq!(Span { from, to }.zero(), expected, "{from} to {to}");
        }
    }
}
