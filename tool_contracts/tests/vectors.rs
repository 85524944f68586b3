//! The vectors of `vectors.yaml`: every one passes.

#[test]
fn every_vector_passes() {
    let results = tool_contracts::run_vectors(include_str!("vectors.yaml")).expect("a file of vectors");
    let failed: Vec<_> = results.iter().filter(|result| result.failure.is_some()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(results.len(), 39);
}

#[test]
fn a_wrong_expectation_fails() {
    let text = "- {id: X, tools: {a: {}}, ops: [{step: [{tool: a, args: {}}], expect: [hold]}]}";
    let results = tool_contracts::run_vectors(text).expect("a file of vectors");
    assert_eq!(results[0].failure.as_deref(), Some("op 1: got [\"allow\"], wanted [\"hold\"]"));
}
