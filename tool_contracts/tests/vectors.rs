//! The vectors of `vectors.yaml` and `more_vectors.yaml`: every one passes.

use tool_contracts::run_vectors;

#[track_caller]
fn check(text: &str, count: usize) {
    let results = run_vectors(text).expect("a file of vectors");
    let failed: Vec<_> = results.iter().filter(|result| result.failure.is_some()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(results.len(), count);
}

#[test]
fn every_vector_passes() {
    check(include_str!("vectors.yaml"), 39);
}

#[test]
fn every_further_vector_passes() {
    check(include_str!("more_vectors.yaml"), 29);
}

#[test]
fn a_wrong_expectation_fails() {
    let text = "- {id: X, tools: {a: {}}, ops: [{step: [{tool: a, args: {}}], expect: [hold]}]}";
    let results = run_vectors(text).expect("a file of vectors");
    assert_eq!(results[0].failure.as_deref(), Some("op 1: got [\"allow\"], wanted [\"hold\"]"));
}
