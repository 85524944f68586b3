//! Several experiments, told in one document.

use super::{Report, SuiteOutcome, gate_exit_code};
use crate::count_noun;
use crate::quarantine::Quarantined;
use crate::regression::RunComparison;
use crate::score::{ExperimentVerdict, Status};

/// The results of one invocation: experiments, skipped specs, and a remark.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reports {
    /// The experiments, in the order in which their specs were given.
    pub reports: Vec<Report>,
    /// The specs that were not run.
    pub skipped: Vec<Skipped>,
    /// One line about all of it, such as "interrupted".
    pub note: Option<String>,
    /// Changes since a baseline.
    pub comparison: Option<RunComparison>,
    /// The quarantine, whose scenarios are marked in the reports.
    pub quarantine: Option<Quarantined>,
    /// The suite that the experiments belong to, its coverage, and what running it would cost.
    pub outcome: SuiteOutcome,
}

/// A spec that was not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The spec: its id or its file.
    pub spec: String,
    /// The reason.
    pub reason: String,
}

impl Reports {
    /// The exit code of a command that reports all of it: a failure, a regression or something that was removed goes before
    /// an error, and no experiment at all is an error. What is in quarantine counts for nothing.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.count(1) > 0 || self.comparison.as_ref().is_some_and(RunComparison::fails) || self.outcome.fails() {
            1
        } else if self.reports.is_empty() || self.count(0) < self.reports.len() {
            4
        } else {
            0
        }
    }

    /// Returns the verdict on all experiments together.
    #[must_use]
    pub fn verdict(&self) -> ExperimentVerdict {
        match self.exit_code() {
            0 => ExperimentVerdict::Pass,
            1 => ExperimentVerdict::Fail,
            _ if self.pending() > 0 && self.errors() == 0 => ExperimentVerdict::Pending,
            _ => ExperimentVerdict::Error,
        }
    }

    /// Counts the experiments with this exit code.
    fn count(&self, exit_code: u8) -> usize {
        self.reports.iter().filter(|report| gate_exit_code(report) == exit_code).count()
    }

    /// Counts the experiments that have not ended, and did not fail so far.
    fn pending(&self) -> usize {
        let is_open =
            |report: &&Report| report.score.verdict == ExperimentVerdict::Pending && gate_exit_code(report) > 1;
        self.reports.iter().filter(is_open).count()
    }

    /// Counts the experiments that could not be judged.
    fn errors(&self) -> usize {
        self.reports.len() - self.count(0) - self.count(1) - self.pending()
    }

    /// The only experiment, when there is nothing to tell besides.
    pub(super) fn only(&self) -> Option<&Report> {
        match self.reports.as_slice() {
            [report] if self.skipped.is_empty() && self.note.is_none() && self.has_no_gate() => {
                Some(report).filter(|_| self.outcome.is_empty())
            }
            _ => None,
        }
    }

    /// True when nothing is told of a baseline or a quarantine.
    fn has_no_gate(&self) -> bool {
        self.comparison.is_none() && self.quarantine.as_ref().is_none_or(|quarantine| quarantine.entries.is_empty())
    }

    /// The number of scenarios that did not pass, and are in quarantine.
    fn quarantined(&self) -> usize {
        let rows = self.reports.iter().flat_map(|report| &report.rows);
        rows.filter(|row| row.quarantined && row.status != Status::Pass).count()
    }

    /// `experiments 4, passed 2, failed 1, errors 1, skipped 3`.
    pub(super) fn counts(&self) -> String {
        let (all, passed, failed) = (self.reports.len(), self.count(0), self.count(1));
        let pending = if self.pending() > 0 { format!(", not ended {}", self.pending()) } else { String::new() };
        let (errors, skipped, floors) = (self.errors(), self.skipped.len(), self.outcome.counts());
        let comparison = self.comparison.as_ref().map(comparison_counts).unwrap_or_default();
        let quarantined = match self.quarantined() {
            0 => String::new(),
            some => format!(", quarantined {}", count_noun(some, "scenario")),
        };
        format!(
            "experiments {all}, passed {passed}, failed {failed}, errors {errors}{pending}, skipped {skipped}{comparison}{quarantined}{floors}"
        )
    }
}

/// Returns the part that a comparison adds to the reasons of a failure: `, regressed 2, removed 1`.
fn comparison_counts(comparison: &RunComparison) -> String {
    let removed = if comparison.fails_by_removal() { comparison.removed.len() } else { 0 };
    let counts = [("regressed", comparison.regressed_count()), ("removed", removed)];
    counts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!(", {word} {count}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Reports, Skipped};
    use crate::evidence::Evidence;
    use crate::regression::{Change, RunComparison};
    use crate::report::tests::{HOSTILE, assert_form, evidence, report, report_of};
    use crate::report::{
        Report, comment, github_all, json, json_all, junit_all, markdown, markdown_all, ndjson_all, terminal,
        terminal_all,
    };

    fn passed() -> Report {
        report_of(&vec![evidence(0, "refunded", ""); 4])
    }

    fn errored() -> Report {
        report_of(&vec![Evidence::default(); 4])
    }

    fn skipped(spec: &str, reason: &str) -> Skipped {
        Skipped { spec: spec.to_owned(), reason: reason.to_owned() }
    }

    fn everything() -> Reports {
        Reports {
            reports: vec![passed(), report(), errored(), report_of(&[evidence(0, "refunded", "")])],
            skipped: vec![skipped("specs/redis-cache", "needs redis"), skipped(HOSTILE, HOSTILE)],
            note: Some("interrupted".to_owned()),
            ..Reports::default()
        }
    }

    fn of(reports: Vec<Report>) -> Reports {
        Reports { reports, ..Reports::default() }
    }

    #[test]
    fn a_failure_goes_before_an_error_and_nothing_is_an_error() {
        let pending = || report_of(&[evidence(0, "refunded", "")]);
        for (reports, exit_code, verdict) in [
            (vec![], 4, "error"),
            (vec![passed()], 0, "pass"),
            (vec![passed(), passed()], 0, "pass"),
            (vec![passed(), errored()], 4, "error"),
            (vec![passed(), pending()], 4, "pending"),
            (vec![errored(), pending()], 4, "error"),
            (vec![errored(), passed(), report(), pending()], 1, "fail"),
        ] {
            let reports = Reports { skipped: vec![skipped("x", "y")], ..of(reports) };
            assert_eq!((reports.exit_code(), json!(reports.verdict())), (exit_code, json!(verdict)));
        }
    }

    #[test]
    fn the_json_of_many_holds_each_as_it_is_alone() {
        let text = json_all(&everything());
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
        let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let alone: serde_json::Value = serde_json::from_str(&json(&report())).expect("JSON");
        assert_eq!(all["experiments"][1], alone);
        assert_eq!(all["skipped"][1]["reason"], HOSTILE, "clients get exactly what was written");
        assert_eq!(
            (&all["verdict"], &all["exit_code"], &all["note"]),
            (&json!("fail"), &json!(1), &json!("interrupted"))
        );
        assert_eq!(all["skipped"][0], json!({"spec": "specs/redis-cache", "reason": "needs redis"}));
        assert!(!json_all(&of(vec![])).contains("note"));
    }

    #[test]
    fn the_junit_of_many_has_a_suite_for_each() {
        let xml = junit_all(&everything());
        assert!(!xml.contains(['\u{1b}', '\u{202e}', '\u{0}']));
        assert_eq!((xml.matches("<testsuite ").count(), xml.matches("<skipped").count()), (6, 2));
        assert_eq!(xml.matches("<property name=\"note\" value=\"interrupted\"/>").count(), 6);
        let noted = junit_all(&Reports { note: Some("interrupted".to_owned()), ..Reports::default() });
        assert!(noted.contains("interrupted"), "{noted}");
        for xml in [&xml, &noted, &junit_all(&Reports::default())] {
            assert_form(xml);
        }
        insta::assert_snapshot!(xml);
    }

    #[test]
    fn the_markdown_of_many_tells_what_did_not_pass_first() {
        let text = markdown_all(&everything());
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_table_of_many_ends_with_all_of_it() {
        let text = terminal_all(&everything(), 110);
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
        insta::assert_snapshot!(text);
    }

    fn regressed() -> Reports {
        let mut comparison = RunComparison::of(HOSTILE, &[passed()], &[report()]);
        comparison.findings[0].change = Change::Regressed;
        Reports { comparison: Some(comparison), ..of(vec![report()]) }
    }

    #[test]
    fn a_regression_is_a_failure_in_every_rendering() {
        let reports = Reports { comparison: regressed().comparison, ..of(vec![passed()]) };
        assert!(reports.comparison.as_ref().is_some_and(RunComparison::regressed) && reports.exit_code() == 1);
        let (text, xml, markdown) = (terminal_all(&reports, 110), junit_all(&reports), markdown_all(&reports));
        for rendered in [&text, &xml, &markdown, &github_all(&reports), &ndjson_all(&reports), &json_all(&reports)] {
            assert!(
                rendered.contains("regressed") && !rendered.contains(['\u{1b}', '\u{202e}', '\u{0}']),
                "{rendered}"
            );
        }
        assert_form(&xml);
        insta::assert_snapshot!(format!(
            "{text}\n{}",
            crate::report::markdown_comparison(&regressed().comparison.expect("a comparison"))
        ));
    }

    #[test]
    fn a_comment_is_found_again_by_its_first_line() {
        let text = comment(&of(vec![passed()]), "night --><script>ly");
        assert!(
            text.starts_with("<!-- touchstone:night-script-ly -->\n### Touchstone: `refund-agent` passed"),
            "{text}"
        );
    }

    #[test]
    fn one_experiment_with_nothing_besides_reads_as_before() {
        let one = of(vec![report()]);
        assert_eq!(markdown_all(&one), markdown(&report()));
        assert_eq!(terminal_all(&one, 110), terminal(&report(), 110));
    }

    #[test]
    fn a_comment_on_many_experiments_is_not_too_long() {
        let long = || report_of(&vec![evidence(2, "nothing", &"x\n".repeat(5000)); 4]);
        let many = (0..300).map(|_| passed()).chain((0..200).map(|_| long())).collect();
        let text = markdown_all(&Reports { skipped: vec![skipped(&"\u{1f600}".repeat(500), "no"); 500], ..of(many) });
        assert!(text.len() < 65_536, "{}", text.len());
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        assert!(text.contains("480 more specs were skipped.") && text.contains(" more experiments are not shown."));
        assert!(!text.contains("` passed"), "those that did not pass go first");
    }
}
