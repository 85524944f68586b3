//! Outcomes of faults over time: a bar for each run, with a part for each outcome.

use maud::{Markup, html};
use scenario::score::{Outcome, OutcomeCounts};
use store::ComparableRun;

use super::trends::{label, link};
use crate::web::numbers::precise;

/// The size of the chart.
const WIDE: f64 = 320.0;
const HIGH: f64 = 96.0;
/// The room above and below the bars.
const EDGE: f64 = 10.0;
/// The widest that a bar is.
const WIDEST: f64 = 24.0;

/// The chart of runs that had faults; nothing when none had. The runs are given oldest first.
pub(super) fn chart(runs: &[ComparableRun]) -> Markup {
    let counted = |run| Some((run, counts(run)?));
    let runs: Vec<(&ComparableRun, OutcomeCounts)> = runs.iter().filter_map(counted).collect();
    let Some((_, newest)) = runs.last() else { return html! {} };
    let step = WIDE / precise(runs.len() as u64);
    html! {
        figure.trend.outcomes-over-time {
            figcaption {
                "Outcomes of faults " strong { (newest.words()) }
                span.quiet { " newest of " (runs.len()) }
            }
            svg viewBox={ "0 0 " (WIDE) " " (HIGH) } role="group" aria-label="Outcomes of faults over time, oldest first" {
                line.axis x1="0" x2=(WIDE) y1=(HIGH - EDGE) y2=(HIGH - EDGE) {}
                @for (place, (run, counts)) in runs.iter().enumerate() {
                    (bar(run, counts, precise(place as u64) * step, step))
                }
            }
            p.legend { @for outcome in Outcome::ALL { span class=(format!("outcome {}", outcome.word())) { (outcome.word()) } } }
        }
    }
}

/// The outcomes of a run that had faults.
fn counts(run: &ComparableRun) -> Option<OutcomeCounts> {
    run.run.outcomes.filter(|counts| counts.total() > 0)
}

/// A bar of a run, good outcomes at the bottom. It leads to the contract of the run.
fn bar(run: &ComparableRun, counts: &OutcomeCounts, left: f64, step: f64) -> Markup {
    let wide = (step * 0.8).min(WIDEST);
    let left = left + (step - wide) / 2.0;
    let told = format!("{}: {}", label(run), counts.words());
    html! {
        a href={ (link(run)) "#contract" } aria-label=(told) {
            title { (told) }
            @for (outcome, top, high) in parts(counts) {
                rect class=(outcome.word()) x=(places(left)) y=(places(top)) width=(places(wide)) height=(places(high)) {}
            }
        }
    }
}

/// The parts of a bar from the bottom up: each with its upper edge and its height.
fn parts(counts: &OutcomeCounts) -> Vec<(Outcome, f64, f64)> {
    let whole = HIGH - 2.0 * EDGE;
    let mut top = HIGH - EDGE;
    let mut parts = Vec::new();
    for outcome in Outcome::ALL.into_iter().filter(|outcome| counts.of(*outcome) > 0) {
        let high = whole * precise(counts.of(outcome)) / precise(counts.total());
        top -= high;
        parts.push((outcome, top, high));
    }
    parts
}

fn places(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use scenario::score::{Outcome, OutcomeCounts};

    use super::parts;

    #[test]
    fn a_bar_has_a_part_for_each_outcome_and_is_as_high_as_all_others() {
        let counts = OutcomeCounts { recovered: 3, corrupted: 1, ..OutcomeCounts::default() };
        assert_eq!(parts(&counts), [(Outcome::Recovered, 29.0, 57.0), (Outcome::Corrupted, 10.0, 19.0)]);
    }
}
