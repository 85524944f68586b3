//! Quarantines as people write them, and what becomes of runs under them.

use std::fmt::Write as _;

use jiff::civil::{Date, date};

use crate::evidence::Evidence;
use crate::quarantine::{EntryState, QuarantineList, load};
use crate::regression::RunComparison;
use crate::report::tests::{HOSTILE, assert_form, evidence, report, report_of};
use crate::report::{Report, Reports, github_all, json_all, junit_all, markdown_all, ndjson_all, terminal_all};
use crate::spec::render::{Style, text as shown};

const TODAY: Date = date(2026, 11, 20);

fn list(entries: &[(&str, &str, &str)]) -> QuarantineList {
    let mut text = "quarantine:\n".to_owned();
    for (scenario, more, until) in entries {
        let _ = writeln!(
            text,
            "  - {{scenario: \"{scenario}\", {more}reason: a flaky sandbox, until: {until}, owner: ann}}"
        );
    }
    let loaded = load(&text);
    loaded.list.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// The report of four scenarios: two cells with two replicas.
fn of(exits: [i32; 4]) -> Report {
    report_of(&exits.map(|exit| evidence(exit, "refunded", "")))
}

fn judged(list: &QuarantineList, reports: Vec<Report>) -> Reports {
    let mut reports = Reports { reports, ..Reports::default() };
    reports.quarantine = Some(list.judge(&mut reports.reports, TODAY));
    reports
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    let mut all = String::new();
    for text in [
        "quarantine: {scenario: refund}",
        "entries: []",
        "quarantine:\n  - {scenario: refund, reson: x, until: 2026-12-31, owner: ann}",
        "quarantine:\n  - {scenario: refund, reason: ' ', until: soon, owner: ann}",
        "quarantine:\n  - {scenario: 'a/b/c', reason: x, until: 2026-12-31T10:00, owner: ann}",
        "quarantine:\n  - {scenario: '', reason: x, until: 2026-02-30, owner: ann}",
        "quarantine:\n  - {scenario: 'a[', reason: x, until: 20261231, owner: ann}",
        "quarantine: [",
    ] {
        let loaded = load(text);
        assert!(loaded.list.is_none(), "{text}");
        for found in &loaded.diagnostics {
            let _ = writeln!(all, "{}\n", shown(found, "quarantine.yaml", text, Style::Plain));
        }
    }
    insta::assert_snapshot!(all);
    for empty in ["", "# nothing yet\n", "quarantine: []"] {
        assert_eq!(load(empty).list.map(|list| list.quarantine.len()), Some(0), "{empty}");
    }
}

#[test]
fn a_cell_in_quarantine_fails_nothing_and_its_neighbour_does() {
    let cell = of([1, 1, 0, 0]).score.cells[0].id.to_string();
    let named = list(&[(&format!("refund-agent/{cell}"), "", "2026-12-31")]);
    let bad = |exits| {
        let reports = judged(&named, vec![of(exits)]);
        (reports.exit_code(), reports.quarantine.expect("judged").entries[0].not_passed)
    };
    assert_eq!(of([1, 1, 0, 0]).score.exit_code(), 1);
    assert_eq!([bad([0, 0, 0, 0]), bad([1, 1, 0, 0]), bad([1, 0, 1, 0])], [(0, 0), (0, 2), (1, 1)]);
    for pattern in ["refund-agent", "refund-*", "*", "*/small-*", "refund-agent/*"] {
        let reports = judged(&list(&[(pattern, "", "2026-12-31")]), vec![of([1, 1, 0, 0])]);
        assert_eq!(reports.exit_code(), 0, "{pattern}");
    }
    for pattern in ["refund", "*/large-*", "other/*"] {
        let reports = judged(&list(&[(pattern, "", "2026-12-31")]), vec![of([1, 1, 0, 0])]);
        assert_eq!(reports.exit_code(), 1, "{pattern}");
    }
}

#[test]
fn the_last_day_belongs_to_a_quarantine_and_the_next_one_does_not() {
    for (until, exit_code, state) in [
        ("2026-11-20", 0, EntryState::Active),
        ("2026-11-21", 0, EntryState::Active),
        ("2026-11-19", 1, EntryState::Expired),
    ] {
        let reports = judged(&list(&[("refund-agent", "", until)]), vec![of([1, 1, 1, 1])]);
        let entry = &reports.quarantine.as_ref().expect("judged").entries[0];
        assert_eq!((reports.exit_code(), entry.state), (exit_code, state), "{until}");
    }
}

#[test]
fn what_could_not_be_judged_in_quarantine_is_excused_and_what_did_not_end_is_not() {
    let all = list(&[("*", "", "2026-12-31")]);
    assert_eq!(judged(&all, vec![report_of(&vec![Evidence::default(); 4])]).exit_code(), 0);
    let open = report_of(&[evidence(1, "", "")]);
    assert_eq!(judged(&all, vec![open]).exit_code(), 4);
    assert_eq!(judged(&all, Vec::new()).exit_code(), 4, "no experiment is an error");
}

#[test]
fn an_invariant_in_quarantine_excuses_what_fails_by_nothing_else() {
    let only = |name: &str| list(&[("refund-agent", &format!("invariant: {name}, "), "2026-12-31")]);
    let failed = of([1, 1, 0, 0]);
    assert_eq!(judged(&only("tests_pass"), vec![failed.clone()]).exit_code(), 0);
    assert_eq!(judged(&only("note_written"), vec![failed]).exit_code(), 1);
    // The hostile scenario was stopped by a limit as well, and another one leaked a secret.
    assert_eq!(judged(&only("tests_pass"), vec![report()]).exit_code(), 1);
    let unknown = judged(&only("tests_pas"), vec![of([0; 4])]);
    assert_eq!(unknown.quarantine.expect("judged").entries[0].state, EntryState::Unmatched);
}

#[test]
fn a_contract_is_excused_when_each_part_that_does_not_hold_is() {
    let contract = super::super::contract_tests::report();
    assert_eq!(contract.score.exit_code(), 1);
    let replays = judged(&list(&[("greeting/replay-*", "", "2026-12-31")]), vec![contract.clone()]);
    assert_eq!(replays.exit_code(), 1, "the contract is not kept");
    assert!(junit_all(&replays).contains("<failure") && github_all(&replays).contains("::error"));
    let all = judged(&list(&[("greeting", "", "2026-12-31")]), vec![contract]);
    assert_eq!(all.exit_code(), 0);
    let (xml, annotations) = (junit_all(&all), github_all(&all));
    assert!(
        !xml.contains("<failure") && !xml.contains("<error") && !annotations.contains("::error"),
        "{xml}{annotations}"
    );
}

#[test]
fn what_is_in_quarantine_is_neither_compared_nor_missed() {
    let (before, now) = (of([0; 4]), of([1, 1, 0, 0]));
    let named = list(&[("refund-agent/small-*", "", "2026-12-31")]);
    let compared = |before: &[Report], now: &[Report]| {
        let gated = |reports: &[Report]| named.gated(reports, TODAY);
        RunComparison::of("main", &gated(before), &gated(now)).without_removal()
    };
    let comparison = compared(std::slice::from_ref(&before), std::slice::from_ref(&now));
    assert_eq!((comparison.cells, comparison.findings.len()), (1, 0));
    assert_eq!(RunComparison::of("main", std::slice::from_ref(&before), std::slice::from_ref(&now)).cells, 2);
    // The cell is gone, and nobody misses it.
    let mut without = before.clone();
    without.score.cells.remove(0);
    assert!(!compared(std::slice::from_ref(&before), &[without]).fails_by_removal());
    let whole = list(&[("refund-agent", "", "2026-12-31")]);
    assert_eq!(whole.gated(std::slice::from_ref(&before), TODAY), []);
    let invariant = list(&[("refund-agent", "invariant: tests_pass, ", "2026-12-31")]);
    let gated = invariant.gated(std::slice::from_ref(&now), TODAY);
    assert!(gated[0].rows.iter().all(|row| row.result.invariants.len() == 1 && row.reasons().is_empty()));
}

#[test]
fn every_rendering_tells_of_a_quarantine() {
    let entries = [
        ("refund-agent/small-*", "", "2026-12-31"),
        ("refund-agent/large-*", "", "2026-11-01"),
        ("refund-agnet", "", "2026-12-31"),
    ];
    let reports = judged(&list(&entries), vec![of([1, 1, 0, 1])]);
    assert_eq!(reports.exit_code(), 1, "the second has expired");
    let (text, xml) = (terminal_all(&reports, 110), junit_all(&reports));
    for rendered in
        [&text, &xml, &markdown_all(&reports), &github_all(&reports), &json_all(&reports), &ndjson_all(&reports)]
    {
        assert!(rendered.contains("quarantine") && rendered.contains("refund-agnet"), "{rendered}");
        assert!(rendered.contains("expired") || rendered.contains("EXPIRED"), "{rendered}");
    }
    assert_form(&xml);
    insta::assert_snapshot!(format!("{text}\n{}\n{}\n{xml}", markdown_all(&reports), github_all(&reports)));
}

#[test]
fn what_people_write_into_a_quarantine_cannot_break_a_rendering() {
    let text = serde_json::json!({"quarantine": [
        {"scenario": "refund-agent", "reason": HOSTILE, "until": "2026-12-31", "owner": HOSTILE},
    ]});
    // The tree has no NUL.
    let list = load(&text.to_string().replace("\\u0000", "")).list.expect("a list");
    let reports = judged(&list, vec![of([1, 1, 0, 0])]);
    for rendered in [terminal_all(&reports, 110), junit_all(&reports), markdown_all(&reports), github_all(&reports)] {
        assert!(!rendered.contains(['\u{1b}', '\u{202e}']), "{rendered}");
    }
    assert_form(&junit_all(&reports));
}
