//! The lane of a session: a band for each phase, with its calls and what else happened in it.

use maud::{Markup, html};
use scenario::tool_session::{LaneNote, LaneRow, PhaseBand, SessionLane};

use super::super::Shown;
use super::call::{self, Place};
use crate::web::numbers::{count_noun, duration};
use crate::web::untrusted_html;

/// The most calls and events that a page shows of a session.
pub(super) const MOST_ROWS: usize = 300;

/// The bands of a lane.
pub(super) fn bands(shown: &Shown, session: usize, lane: &SessionLane) -> Markup {
    let hidden = lane.rows.len().saturating_sub(MOST_ROWS);
    html! {
        @if lane.rows.is_empty() { p.quiet { "No call was made." } }
        @else { ol.bands { @for band in lane.bands_of_first(MOST_ROWS) { (phase(shown, session, &band)) } } }
        @if hidden > 0 { p.quiet { (count_noun(hidden as u64, "more row")) " in the evidence." } }
    }
}

fn phase(shown: &Shown, session: usize, band: &PhaseBand<'_>) -> Markup {
    let rows = band.rows.iter().enumerate();
    let rows = rows.map(|(index, row)| (Place { session, row: band.first + index }, row));
    html! {
        li.band {
            p.phase {
                @match band.phase {
                    Some(phase) => { span.quiet { "Phase " } strong { (untrusted_html::line(phase, 60)) } },
                    None => span.quiet { "No phases" },
                }
                (time(band))
            }
            @if band.rows.is_empty() { p.quiet { "The session ended here." } }
            @else { ol.calls { @for (place, row) in rows { (line(shown, place, row)) } } }
        }
    }
}

/// The time of a band, where it is known.
fn time(band: &PhaseBand<'_>) -> Markup {
    let Some(from) = band.from_ms.filter(|_| !band.rows.is_empty()) else { return html! {} };
    let to = band.to_ms.filter(|to| *to > from);
    html! { " " span.when { (duration(from)) @if let Some(to) = to { " to " (duration(to)) } } }
}

fn line(shown: &Shown, place: Place, row: &LaneRow) -> Markup {
    match row {
        LaneRow::Call(one) => call::item(shown, place, one),
        LaneRow::Note(one) => note(shown, one),
    }
}

fn note(shown: &Shown, note: &LaneNote) -> Markup {
    html! {
        li.note.quiet {
            @if let Some(at) = note.at_ms { span.when { (duration(at)) } " " }
            (shown.marks().prose(&note.words))
        }
    }
}
