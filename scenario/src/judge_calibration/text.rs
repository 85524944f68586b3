//! A calibration for a terminal.

use std::fmt::Write as _;

use super::calibration::{Calibration, Disagreement, InvariantCalibration};
use crate::count_noun;
use crate::statistics::{Agreement, Interval};
use crate::untrusted;

/// The most disagreements of an invariant that are listed.
const MOST_APART: usize = 50;
/// The most labels without an output that are listed.
const MOST_UNMATCHED: usize = 10;
/// The most characters of an untrusted text.
const MOST_TEXT: usize = 120;
/// With fewer labels than this, the best threshold is mostly chance.
const FEW: usize = 30;

/// The calibration as text.
#[must_use]
pub fn text(calibration: &Calibration) -> String {
    let mut text: String = calibration.invariants.iter().map(of_invariant).collect();
    for label in calibration.unmatched.iter().take(MOST_UNMATCHED) {
        let _ = writeln!(text, "no output for the label {}", line(&format!("{}/{}", label.scenario, label.invariant)));
    }
    if calibration.unmatched.len() > MOST_UNMATCHED {
        let _ = writeln!(text, "  and {}", count_noun(calibration.unmatched.len() - MOST_UNMATCHED, "more label"));
    }
    text
}

fn of_invariant(found: &InvariantCalibration) -> String {
    let InvariantCalibration { labelled, outputs, threshold, agreement, .. } = found;
    let mut text = format!("{}: {labelled} of {} labelled", line(&found.invariant), count_noun(*outputs, "output"));
    for (number, what) in [(found.undecided, "on which people are split"), (found.unscored, "without a score")] {
        if number > 0 {
            let _ = write!(text, ", {number} {what}");
        }
    }
    let _ = writeln!(text, "\n  agreement      {}", words(agreement));
    let confusion = agreement.confusion;
    let _ = writeln!(text, "                 people pass  people fail");
    let _ = writeln!(text, "  judge passes   {:>11}  {:>11}", confusion.both_pass, confusion.judge_only);
    let _ = writeln!(text, "  judge fails    {:>11}  {:>11}", confusion.people_only, confusion.both_fail);
    let pairs = confusion.pairs();
    let _ = write!(text, "  threshold      {threshold}: {} of {pairs} agree", confusion.agreeing());
    if let Some(best) = found.best {
        let is_present = (best.suggested - threshold).abs() < 1e-12;
        if is_present {
            let _ = write!(text, "; none would agree with more");
        } else {
            let _ = write!(
                text,
                "; {} (any above {} up to {}) would be {}",
                best.suggested, best.above, best.up_to, best.agreeing
            );
        }
        if pairs < FEW {
            let _ = write!(text, "; {} are few to choose by", count_noun(pairs, "label"));
        }
    }
    text.push('\n');
    if let Some(distance) = found.mean_distance {
        let _ = writeln!(text, "  distance       {distance:.3} between the judge's and people's scores on average");
    }
    if let Some(people) = found.people_agree {
        let _ = writeln!(text, "  people         agree with each other in {:.1} % of pairs", people * 100.0);
    }
    for family in &found.families {
        let _ = writeln!(text, "  family {:<7} {}", line(&family.family), words(&family.agreement));
    }
    text.push_str(&to_review(&found.disagreements));
    text
}

/// The share with its interval, and κ with its.
fn words(agreement: &Agreement) -> String {
    let Some(raw) = agreement.raw else { return "nothing to compare".to_owned() };
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let range = |interval: Interval| format!(" ({} to {})", percent(interval.low), percent(interval.high));
    let kappa = agreement.kappa.map_or_else(|| "κ –".to_owned(), |kappa| format!("κ {kappa:.2}"));
    let of_kappa = agreement.kappa_interval.map(|one| format!(" ({:.2} to {:.2})", one.low, one.high));
    format!(
        "{} %{}, {kappa}{}",
        percent(raw),
        agreement.raw_interval.map(range).unwrap_or_default(),
        of_kappa.unwrap_or_default()
    )
}

fn to_review(disagreements: &[Disagreement]) -> String {
    let mut text = String::new();
    if !disagreements.is_empty() {
        let _ = writeln!(text, "  to review");
    }
    for apart in disagreements.iter().take(MOST_APART) {
        let people = if apart.people_pass { "pass" } else { "fail" };
        let place = line(&format!("{}/{}", apart.experiment, apart.scenario));
        let _ = writeln!(text, "    {place}  judge {}, people {people}", apart.score);
        if !apart.reason.is_empty() {
            let _ = writeln!(text, "      judge: {}", line(&apart.reason));
        }
        for label in &apart.labels {
            let by = if label.by.is_empty() { "somebody" } else { &label.by };
            let note = if label.note.is_empty() { String::new() } else { format!(": {}", label.note) };
            let _ = writeln!(text, "      {}", line(&format!("{by} says {}{note}", label.label)));
        }
    }
    if disagreements.len() > MOST_APART {
        let _ = writeln!(text, "    and {} more", disagreements.len() - MOST_APART);
    }
    text
}

fn line(text: &str) -> String {
    untrusted::line(text, MOST_TEXT)
}

#[cfg(test)]
mod tests {
    use crate::judge_calibration::calibrate;
    use crate::judge_calibration::calibration::tests::example;

    #[test]
    fn a_calibration_can_be_read() {
        let (outputs, mut labels) = example();
        labels[3].note = "curt\u{1b}[31m".to_owned();
        insta::assert_snapshot!(super::text(&calibrate(&outputs, &labels)));
    }
}
