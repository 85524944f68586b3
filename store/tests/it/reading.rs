//! Reports of runs that are kept.

use std::fs;
use std::path::Path;

use scenario::evidence::{Captured, Evidence};
use scenario::result::Caveat;
use store::{NewExperiment, RunId, SpecContent};

use crate::harness::{LARGE, World, at, complete, evidence};

databases![a_report_names_the_evidence_that_was_lost_and_shows_the_rest];

const SPEC: &str = "
version: 1
id: ledger
base: debian
task: {prompt: x}
agent: {type: noop}
invariants:
  first: {description: x, check: {type: file_exists, path: out}}
";

/// A run of which two scenarios have large evidence, and one has small.
async fn kept(world: &World) -> RunId {
    let content = SpecContent { text: SPEC.to_owned(), files: Vec::new() };
    let spec = world.store.keep_spec("", "ledger", &content, at(0)).await.expect("a spec");
    let experiment = NewExperiment { spec, ..world.experiment().await };
    let run = world.store.submit(&experiment, &world.run(3), at(0)).await.expect("submitted");
    for bytes in [LARGE, LARGE, 10] {
        let held = world.claim(1).await.expect("a job");
        let mut evidence: Evidence = evidence(bytes);
        evidence.agent.stdout = Captured::from("it greeted");
        complete(&world.store, &held, &evidence, 2).await;
    }
    run
}

async fn a_report_names_the_evidence_that_was_lost_and_shows_the_rest(world: World) {
    let run = kept(&world).await;
    let files: Vec<_> = world.files().into_iter().filter(|file| file.ends_with("evidence.json")).collect();
    let [gone, unreadable] = files.as_slice() else { panic!("two: {files:?}") };
    fs::remove_file(gone).expect("removed");
    // A folder instead of the file is what cannot be read whoever asks.
    fs::remove_file(unreadable).expect("removed");
    fs::create_dir_all(Path::new(unreadable).join("x")).expect("a folder");
    let experiment = world.store.experiment(run.experiment).await.expect("the experiment");
    let run = world.store.run(run).await.expect("the run");
    let report = store::report(&world.store, &experiment, &run).await.expect("a report");
    assert_eq!((report.rows.len(), report.score.passed), (3, 3), "the verdicts are there");
    for row in &report.rows {
        let id = row.result.scenario.id.to_string();
        let is_lost = [gone, unreadable].iter().any(|file| file.contains(&id));
        let printed = if is_lost { "" } else { "it greeted" };
        assert_eq!(row.result.agent_output, printed, "{id}");
        match row.result.caveats.as_slice() {
            [Caveat::LostEvidence { scenario, why }] if is_lost => assert!(*scenario == id && !why.is_empty(), "{why}"),
            caveats => assert!(!is_lost && caveats.is_empty(), "{id}: {caveats:?}"),
        }
    }
    let told: Vec<_> = report.caveats().iter().map(scenario::report::ReportCaveat::message).collect();
    assert!(told.len() == 2 && told.iter().all(|one| one.contains("cannot be read")), "{told:?}");
    let without = store::report_without_output(&world.store, &experiment, &run).await.expect("a report");
    assert_eq!((without.caveats().len(), without.score), (0, report.score), "what is not looked for is not missed");
}
