//! Which moments of a story are shown: of a kind, and in parts. Names that were found are looked up so often that they would
//! hide the rest.

use maud::{Markup, html};
use scenario::evidence::AuditEvent;

use super::Shown;
use super::moment::{KINDS, Kind, Moment, Source};
use crate::web::numbers::{count, counted};
use crate::web::refusal::escaped;

/// How many moments a page has.
pub(super) const PART: usize = 200;

/// The moments that were asked for.
pub(super) struct Chosen<'a> {
    shown: &'a Shown,
    all: &'a [Moment<'a>],
    /// Those that are shown, in their order.
    pub(super) moments: Vec<&'a Moment<'a>>,
    /// How many lookups of names are left out.
    left_out: usize,
}

impl<'a> Chosen<'a> {
    /// The moments that a page was asked for.
    pub(super) fn of(shown: &'a Shown, all: &'a [Moment<'a>]) -> Self {
        let query = &shown.query;
        let is_wanted = |moment: &&Moment<'_>| query.kind.is_empty() || moment.kind.word() == query.kind;
        let mut moments: Vec<_> = all.iter().filter(is_wanted).collect();
        let before = moments.len();
        if query.kind.is_empty() && query.lookups.is_empty() {
            moments.retain(|moment| !is_found_name(shown, moment));
        }
        Self { shown, all, left_out: before - moments.len(), moments }
    }

    /// From which of them the page has some; one that was asked for and is beyond the last is the last part's first.
    pub(super) fn from(&self) -> usize {
        match self.shown.query.from {
            from if from < self.moments.len() => from,
            _ => self.moments.len().saturating_sub(1) / PART * PART,
        }
    }

    /// The kinds of moments that there are, each with its number.
    pub(super) fn choices(&self) -> Markup {
        let chosen = self.shown.query.kind.as_str();
        let many = |kind: Kind| self.all.iter().filter(|moment| moment.kind == kind).count();
        html! {
            nav.choices aria-label="Kinds of moments" {
                a href={ (self.shown.place()) "#story" } aria-current=[chosen.is_empty().then_some("true")] {
                    "all " (count(self.all.len() as u64))
                }
                @for (kind, many) in KINDS.map(|kind| (kind, many(kind))) {
                    @if many > 0 {
                        a href={ (self.shown.place()) "&kind=" (kind.word()) "#story" }
                            aria-current=[(chosen == kind.word()).then_some("true")] {
                            span class={ "dot " (kind.word()) } aria-hidden="true" {} (kind.word()) " " (count(many as u64))
                        }
                    }
                }
            }
        }
    }

    /// What is not shown, and how to see it.
    pub(super) fn note(&self) -> Markup {
        let place = self.shown.place();
        html! {
            @if self.left_out > 0 {
                p.quiet {
                    (counted(self.left_out as u64, "lookup")) " of names that were found "
                    (if self.left_out == 1 { "is" } else { "are" }) " not shown: "
                    a href={ (place) "&lookups=show#story" } { "show them" }
                }
            } @else if self.moments.is_empty() {
                p.quiet { "No moment of this kind. " a href={ (place) "#story" } { "Show all" } }
            }
        }
    }

    /// The way to the other parts of a long story.
    pub(super) fn pager(&self, from: usize, many: usize) -> Markup {
        let all = self.moments.len();
        if all <= PART {
            return html! {};
        }
        let query = &self.shown.query;
        let place = |from: usize| {
            let (kind, lookups) = (escaped(&query.kind), escaped(&query.lookups));
            format!("{}&kind={kind}&lookups={lookups}&from={from}#story", self.shown.place())
        };
        html! {
            nav.pager aria-label="Parts of the story" {
                @if from > 0 { a href=(place(from.saturating_sub(PART))) { "← Before" } }
                span.quiet { (count(from as u64 + 1)) " to " (count((from + many) as u64)) " of " (count(all as u64)) }
                @if from + many < all { a rel="next" href=(place(from + many)) { "Next →" } }
            }
        }
    }
}

/// Whether a moment is the lookup of a name that is there.
fn is_found_name(shown: &Shown, moment: &Moment<'_>) -> bool {
    let Source::Audit(index) = moment.source else { return false };
    let audited = || shown.evidence.as_deref()?.audit.as_ref()?.get(index);
    matches!(audited().map(|audited| &audited.event), Some(AuditEvent::Dns { answer: Some(_), .. }))
}
