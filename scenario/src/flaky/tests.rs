//! Histories that flip, and others that do not.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::date;

use super::{CertifiedWorld, FlakyTable, PastRun, streaks, table};
use crate::evidence::Evidence;
use crate::quarantine::load;
use crate::report::tests::{evidence, report_of};

/// Runs of a spec with two cells, `small` and `large`, of two replicas each; a digest, and the exit codes of the tests.
fn runs(of: &[(&str, [i32; 4])]) -> Vec<PastRun> {
    let run = |(index, (digest, exits)): (usize, &(&str, [i32; 4]))| {
        let judged = |exit: &i32| if *exit < 0 { Evidence::default() } else { evidence(*exit, "refunded", "") };
        let mut report = report_of(&exits.iter().map(judged).collect::<Vec<_>>());
        report.header.experiment_id = format!("e{index}");
        let ended_at =
            Timestamp::from_second(1_770_000_000 + 86_400 * i64::try_from(index).expect("small")).expect("a time");
        PastRun { report, digest: (*digest).to_owned(), version: 1, ended_at }
    };
    of.iter().enumerate().map(run).collect()
}

fn of(runs_of: &[(&str, [i32; 4])]) -> FlakyTable {
    table("refund-agent", runs(runs_of), &BTreeMap::new())
}

/// `small: tests_pass ✓✗ flips/pairs mixed since clean`, for each flaky line.
fn told(table: &FlakyTable) -> Vec<String> {
    let line = |line: &super::FlakyLine| {
        let cell = line.cell.split('-').next().unwrap_or_default();
        let invariant = line.invariant.as_deref().unwrap_or("all");
        format!(
            "{cell} {invariant} {} flips {}/{} mixed {} since {:?} clean {}",
            line.signs(),
            line.flips,
            line.pairs,
            line.mixed,
            line.since,
            line.clean_runs
        )
    };
    table.flaky().map(line).collect()
}

#[test]
fn what_flips_between_runs_of_one_text_is_flaky_and_its_neighbour_is_not() {
    let table = of(&[("a", [0, 0, 0, 0]), ("a", [1, 1, 0, 0]), ("a", [0, 0, 0, 0]), ("a", [0, 0, 0, 0])]);
    let expected = "✓✗✓✓ flips 2/3 mixed 0 since Some(1) clean 2";
    assert_eq!(told(&table), [format!("small all {expected}"), format!("small tests_pass {expected}")]);
    assert_eq!(table.lines.len(), 6, "two cells, with two invariants each");
    assert_eq!(table.summary(), "1 of 2 cells flaky over the last 4 runs, and 1 invariant of theirs");
}

#[test]
fn replicas_that_differ_are_flaky_in_one_run() {
    let table = of(&[("a", [0, 1, 0, 0])]);
    assert_eq!(told(&table)[0], "small all ± flips 0/0 mixed 1 since Some(0) clean 0");
}

#[test]
fn a_change_of_the_spec_is_no_flip() {
    assert_eq!(told(&of(&[("a", [0; 4]), ("b", [1; 4]), ("b", [1; 4])])), [""; 0]);
    let mut other_seed = runs(&[("a", [0; 4]), ("a", [1; 4])]);
    other_seed[1].report.seed = crate::plan::Seed::new(7);
    assert_eq!(told(&table("refund-agent", other_seed, &BTreeMap::new())), [""; 0]);
    // It was flaky before the change, and is so no longer: that is told.
    assert_eq!(told(&of(&[("a", [0; 4]), ("a", [1, 1, 0, 0]), ("b", [0; 4])])).len(), 2);
}

#[test]
fn an_agent_that_always_fails_is_not_flaky() {
    assert_eq!(told(&of(&[("a", [1; 4]), ("a", [1; 4]), ("a", [1; 4])])), [""; 0]);
}

#[test]
fn what_could_not_be_judged_ends_a_streak() {
    let table = of(&[("a", [0; 4]), ("a", [-1, -1, 0, 0]), ("a", [0; 4])]);
    assert_eq!(table.lines[0].signs(), "✓!✓");
    assert_eq!(table.lines[0].clean_runs, 1);
}

#[test]
fn runs_are_put_in_the_order_of_time() {
    let mut mixed = runs(&[("a", [0; 4]), ("a", [0; 4]), ("a", [1, 1, 0, 0])]);
    mixed.rotate_right(1);
    assert_eq!(table("refund-agent", mixed, &BTreeMap::new()).lines[0].signs(), "✓✓✗");
}

#[test]
fn a_certificate_says_whether_the_world_or_the_agent_is_to_blame() {
    let flips = [("a", [0; 4]), ("b", [0; 4]), ("b", [1, 1, 0, 0])];
    for (worlds, expected) in [
        (vec![("b", CertifiedWorld::Stable)], "the agent, because the world is certified to be stable"),
        (vec![("b", CertifiedWorld::Flaky)], "the world, which is flaky without any agent"),
        (vec![("a", CertifiedWorld::Stable)], "the agent or its world: `touchstone certify` tells which"),
    ] {
        let worlds = worlds.into_iter().map(|(digest, world)| (digest.to_owned(), world)).collect();
        let table = table("refund-agent", runs(&flips), &worlds);
        let told = table.explained(table.flaky().next().expect("flaky"));
        assert!(told.ends_with(expected), "{told}");
        assert!(told.starts_with("flipped in 1 of 1 pair of runs, replicas differed in 0 of 3 runs; since v1 (b) of"));
    }
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let table = of(&[("a", [0, 1, 0, 0]), ("a", [0; 4])]);
    let written = serde_json::to_string(&table).expect("JSON");
    assert_eq!(serde_json::from_str::<FlakyTable>(&written).expect("a table"), table);
}

#[test]
fn leaving_a_quarantine_needs_a_streak() {
    let entry = |scenario: &str, more: &str| {
        format!("  - {{scenario: '{scenario}', {more}reason: x, until: 2026-12-31, owner: ann}}\n")
    };
    let text =
        ["refund-agent/small-*", "refund-agent/large-*", "refund-agent", "other"].map(|one| entry(one, "")).concat();
    let more = entry("refund-agent/small-*", "invariant: note_written, ");
    let list = load(&format!("quarantine:\n{text}{more}")).list.expect("a list");
    let mut history = vec![("a", [0, 1, 0, 0])];
    history.extend([("a", [0; 4]); 3]);
    let found = streaks(&list, &[of(&history)], 4, date(2027, 1, 1));
    let told: Vec<_> = found.iter().map(|one| (one.clean_runs, one.may_leave())).collect();
    assert_eq!(told, [(Some(3), false), (Some(4), true), (Some(3), false), (None, false), (Some(4), true)]);
    assert!(found.iter().all(|one| one.expired));
    assert_eq!(found[0].message(), "stays in quarantine: clean in 3 of 4 runs in a row, and has expired");
}
