//! Cells of two reports belong together by their keys, which old reports say with their parameters alone.

use serde_json::{Value as Json, json};

use super::RunComparison;
use crate::report::tests::report;
use crate::report::{Report, json_value, read, read_all};

/// A report as it was written before scenarios named their cells and keys had more than parameters.
const WITHOUT_KEYS: &str = include_str!("report_without_keys.json");

/// The report with its cells, and the scenarios of these, in a chaos cell. Ids stay as they are: only the keys differ.
fn in_chaos(name: &str) -> Report {
    let mut value = json_value(&report());
    for part in ["cells", "scenarios"] {
        for one in value[part].as_array_mut().expect("a list") {
            one["chaos"] = name.into();
        }
    }
    read(value).expect("a report")
}

#[test]
fn a_report_without_keys_has_the_cells_of_one_with_keys() {
    let old = read_all(WITHOUT_KEYS).expect("an old report").reports;
    let new = [read(json_value(&report())).expect("a report")];
    let keys = |report: &Report| report.score.cells.iter().map(|cell| cell.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&old[0]), keys(&new[0]));
    for (old, new) in old[0].rows.iter().zip(&new[0].rows) {
        assert_eq!(old.result.scenario, new.result.scenario, "its id, its cell and its key");
    }
    for (before, now) in [(&old[..], &new[..]), (&new[..], &old[..])] {
        let comparison = RunComparison::of("before", before, now);
        assert_eq!((comparison.cells, &comparison.removed, &comparison.only_now), (2, &Vec::new(), &Vec::new()));
        assert!(comparison.findings.is_empty(), "{:#?}", comparison.findings);
    }
}

#[test]
fn cells_that_differ_only_in_their_chaos_are_not_compared() {
    for (before, now) in [("", "slow"), ("slow", "lossy")] {
        let comparison = RunComparison::of("before", &[in_chaos(before)], &[in_chaos(now)]);
        assert_eq!(
            (comparison.cells, comparison.removed.len(), comparison.only_now.len()),
            (0, 2, 2),
            "{before} and {now}"
        );
    }
    let same = RunComparison::of("before", &[in_chaos("slow")], &[in_chaos("slow")]);
    assert_eq!((same.cells, same.removed.len()), (2, 0));
}

#[test]
fn the_chaos_of_a_cell_is_written_as_it_was_read_and_left_out_where_there_is_none() {
    let written = json_value(&in_chaos("slow"));
    assert_eq!((&written["cells"][0]["chaos"], &written["scenarios"][0]["chaos"]), (&json!("slow"), &json!("slow")));
    let plain = json_value(&in_chaos(""));
    let fields = [&plain["cells"][0], &plain["scenarios"][0]].map(|one| one.get("chaos").map(Json::to_string));
    assert_eq!(fields, [None, None]);
}
