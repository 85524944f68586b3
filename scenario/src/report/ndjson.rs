//! The report as lines of JSON, for programs that read one thing at a time.
//!
//! Every line has a `type`: `scenario` for each scenario, `experiment` after those of one experiment, `skipped` for a spec
//! that was not run, and `end` with the verdict of all of it as the last. Before them, whoever reads along while scenarios
//! run gets `began`, `retrying` and `ended`, and `settled` once it is known whether a replica that failed is flaky.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::json::{on_one_line, scenario, summary};
use super::{Report, Reports};

/// The report as lines of JSON.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    experiment(&mut text, report);
    text
}

/// Several reports as lines of JSON.
#[must_use]
pub fn render_all(reports: &Reports) -> String {
    let mut text = String::new();
    for report in &reports.reports {
        experiment(&mut text, report);
    }
    for skipped in &reports.skipped {
        line(&mut text, "skipped", json!({ "spec": skipped.spec, "reason": skipped.reason }));
    }
    let mut end = json!({ "verdict": reports.verdict(), "exit_code": reports.exit_code(), "note": reports.note });
    if let Some(comparison) = &reports.comparison {
        end["drift"] = super::json::comparison(comparison);
    }
    if let Some(quarantine) = &reports.quarantine {
        end["quarantine"] = json!(quarantine);
    }
    reports.outcome.write(&mut end);
    line(&mut text, "end", end);
    text
}

/// Formats an event of a scenario while it runs, as a line without its end.
#[must_use]
pub fn happened(kind: &str, about: Json) -> String {
    let mut text = String::new();
    line(&mut text, kind, about);
    text.truncate(text.trim_end().len());
    text
}

fn experiment(text: &mut String, report: &Report) {
    for row in &report.rows {
        let mut value = scenario(report, row);
        value["experiment_id"] = report.header.experiment_id.as_str().into();
        value["spec_id"] = report.spec_id.as_str().into();
        line(text, "scenario", value);
    }
    line(text, "experiment", summary(report));
}

/// One line, with its type first.
fn line(text: &mut String, kind: &str, value: Json) {
    let mut typed = json!({ "type": kind });
    if let (Json::Object(typed), Json::Object(fields)) = (&mut typed, value) {
        typed.extend(fields);
    }
    let _ = writeln!(text, "{}", on_one_line(&typed));
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::{render, render_all};
    use crate::report::tests::{HOSTILE, report};
    use crate::report::{Reports, Skipped};

    fn types(text: &str) -> Vec<String> {
        let values = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("a line of JSON"));
        values.map(|value| value["type"].as_str().expect("a type").to_owned()).collect()
    }

    #[test]
    fn every_line_is_json_of_one_type() {
        let skipped = Skipped { spec: HOSTILE.to_owned(), reason: HOSTILE.to_owned() };
        let text = render_all(&Reports { reports: vec![report()], skipped: vec![skipped], ..Reports::default() });
        assert_eq!(types(&text), ["scenario", "scenario", "scenario", "scenario", "experiment", "skipped", "end"]);
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']), "it is safe to look at");
        let last: Json = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
        assert_eq!((&last["verdict"], &last["exit_code"]), (&"fail".into(), &1.into()));
    }

    #[test]
    fn an_experiment_alone_has_no_end() {
        assert_eq!(types(&render(&report())).last().map(String::as_str), Some("experiment"));
    }
}
