//! Which moments of a story are shown: of a kind, with a text, those that a fault hit, and in parts. Names that were
//! found are looked up so often that they would hide the rest.

use maud::{Markup, html};
use scenario::evidence::AuditEvent;
use scenario::trace::{Kind, Moment, Source};
use scenario::untrusted;

use super::Shown;
use super::search::Search;
use crate::web::error_page::escaped;
use crate::web::numbers::{count, count_noun};

/// The number of moments on a page.
pub(super) const PART: usize = 200;

/// The moments that were asked for.
pub(super) struct Chosen<'a> {
    shown: &'a Shown,
    all: &'a [Moment<'a>],
    /// Those that are shown, in their order.
    pub(super) moments: Vec<&'a Moment<'a>>,
    /// The number of hidden DNS lookups.
    left_out: usize,
}

impl<'a> Chosen<'a> {
    /// The moments that a page was asked for.
    pub(super) fn of(shown: &'a Shown, all: &'a [Moment<'a>]) -> Self {
        let query = &shown.query;
        let search = Search::of(&query.text, shown.evidence.as_deref());
        let is_wanted = |moment: &&Moment<'_>| {
            (query.kind.is_empty() || moment.kind.word() == query.kind)
                && (query.faulted.is_empty() || is_faulted(shown, moment))
                && search.as_ref().is_none_or(|search| search.finds(shown, moment))
        };
        let mut moments: Vec<_> = all.iter().filter(is_wanted).collect();
        let before = moments.len();
        if query.kind.is_empty() && query.faulted.is_empty() && search.is_none() && query.lookups.is_empty() {
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

    /// Where the moments of a kind are, of those that were asked for otherwise.
    fn place(&self, kind: &str) -> String {
        self.place_of(kind, &self.shown.query.faulted)
    }

    fn place_of(&self, kind: &str, faulted: &str) -> String {
        let query = &self.shown.query;
        let attempt = query.attempt.map(|attempt| format!("&attempt={attempt}")).unwrap_or_default();
        let lookups = ("lookups", query.lookups.as_str());
        let pairs = [("kind", kind), ("text", query.text.trim()), lookups, ("faulted", faulted)];
        let said = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let said: String = said.map(|(name, value)| format!("&{name}={}", escaped(value))).collect();
        format!("{}{attempt}{said}", self.shown.place())
    }

    /// The kinds of moments that there are, each with its number, and a field for a text.
    pub(super) fn choices(&self) -> Markup {
        let chosen = self.shown.query.kind.as_str();
        let many = |kind: Kind| self.all.iter().filter(|moment| moment.kind == kind).count();
        html! {
            div.choose {
                nav.choices aria-label="Kinds of moments, and faults" {
                    a href={ (self.place("")) "#story" } aria-current=[chosen.is_empty().then_some("true")] {
                        "all " (count(self.all.len() as u64))
                    }
                    @for (kind, many) in Kind::ALL.map(|kind| (kind, many(kind))) {
                        @if many > 0 {
                            a href={ (self.place(kind.word())) "#story" }
                                aria-current=[(chosen == kind.word()).then_some("true")] {
                                span class={ "dot " (kind.word()) } aria-hidden="true" {} (kind.word()) " " (count(many as u64))
                            }
                        }
                    }
                    (self.faulted_choice())
                }
                // What somebody enters would be lost while the page keeps itself up to date, and there is little to find yet.
                @if !self.shown.goes_on() { (self.form()) }
            }
        }
    }

    /// A link that shows the moments that a fault hit and no others, or all again; nothing where no fault hit any.
    fn faulted_choice(&self) -> Markup {
        let many = self.all.iter().filter(|moment| is_faulted(self.shown, moment)).count();
        let query = &self.shown.query;
        let is_chosen = !query.faulted.is_empty();
        let place = self.place_of(&query.kind, if is_chosen { "" } else { "only" });
        html! {
            @if many > 0 || is_chosen {
                a href={ (place) "#story" } aria-current=[is_chosen.then_some("true")] { "faulted only " (count(many as u64)) }
            }
        }
    }

    fn form(&self) -> Markup {
        let Shown { query, found, .. } = self.shown;
        html! {
            form.search method="get" action={ (path(self.shown)) "#story" } role="search" aria-label="Moments" {
                input type="hidden" name="run" value=(found.run.id.number);
                @if let Some(attempt) = query.attempt { input type="hidden" name="attempt" value=(attempt); }
                @if !query.kind.is_empty() { input type="hidden" name="kind" value=(untrusted::line(&query.kind, 40)); }
                @if !query.faulted.is_empty() { input type="hidden" name="faulted" value="only"; }
                label.visually-hidden for="story-text" { "Text in the story" }
                input #story-text type="search" name="text" value=(untrusted::line(&query.text, 200)) placeholder="text, also of bodies";
                button type="submit" { "Find" }
            }
        }
    }

    /// Renders a note about what is hidden, and how to see it.
    pub(super) fn note(&self) -> Markup {
        let place = self.shown.place();
        let is_searched = !self.shown.query.text.trim().is_empty();
        html! {
            @if self.left_out > 0 {
                p.quiet {
                    (count_noun(self.left_out as u64, "lookup")) " of names that were found "
                    (if self.left_out == 1 { "is" } else { "are" }) " not shown: "
                    a href={ (place) "&lookups=show#story" } { "show them" }
                }
            }
            @if self.moments.is_empty() && self.left_out == 0 {
                p.quiet {
                    (if is_searched { "No moment has this text. " } else { "No moment of this kind. " })
                    a href={ (place) "#story" } { "Show all" }
                }
            } @else if is_searched {
                p.quiet role="status" {
                    (count_noun(self.moments.len() as u64, "moment")) " with this text. " a href={ (place) "#story" } { "Show all" }
                }
            }
        }
    }

    /// The way to the other parts of a long story.
    pub(super) fn pager(&self, from: usize, many: usize) -> Markup {
        let all = self.moments.len();
        if all <= PART {
            return html! {};
        }
        let place = |from: usize| format!("{}&from={from}#story", self.place(&self.shown.query.kind));
        html! {
            nav.pager aria-label="Parts of the story" {
                @if from > 0 { a href=(place(from.saturating_sub(PART))) { "← Before" } }
                span.quiet { (count(from as u64 + 1)) " to " (count((from + many) as u64)) " of " (count(all as u64)) }
                @if from + many < all { a rel="next" href=(place(from + many)) { "Next →" } }
            }
        }
    }
}

/// Tells if a fault hit a moment.
fn is_faulted(shown: &Shown, moment: &Moment<'_>) -> bool {
    shown.evidence.as_deref().is_some_and(|evidence| moment.is_faulted(evidence))
}

/// True for a successful DNS lookup.
fn is_found_name(shown: &Shown, moment: &Moment<'_>) -> bool {
    let Source::Audit(index) = moment.source else { return false };
    let audited = || shown.evidence.as_deref()?.audit.as_ref()?.get(index);
    matches!(audited().map(|audited| &audited.event), Some(AuditEvent::Dns { answer: Some(_), .. }))
}

/// Where the page is, without what it was asked for: a form says that again.
fn path(shown: &Shown) -> String {
    shown.place().split('?').next().unwrap_or_default().to_owned()
}
