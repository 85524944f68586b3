//! Baselines by name.

use scenario::baseline::BaselineName;
use store::{
    BaselineLine, Garbage, NewBaseline, NewExperiment, RunId, SaveTerms, Saved, SpecContent, StoreError,
    baseline_candidate,
};

use crate::harness::{World, at, complete, evidence};

databases![
    a_baseline_is_a_copy_that_outlives_its_experiment,
    a_run_takes_the_place_of_its_own_spec_alone,
    a_smaller_run_is_refused_whole_unless_it_is_forced,
    a_branch_has_what_it_kept_and_otherwise_the_baseline_itself,
    baselines_belong_to_their_owners,
];

fn spec(id: &str) -> String {
    format!(
        "version: 1\nid: {id}\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         invariants:\n  first: {{description: x, check: {{type: file_exists, path: out}}}}\n"
    )
}

fn name(text: &str) -> BaselineName {
    text.parse().expect("a name")
}

/// A run of so many scenarios that has ended, of which all passed.
async fn ended(world: &World, id: &str, scenarios: u32) -> RunId {
    let content = SpecContent { text: spec(id), files: Vec::new() };
    let spec = world.store.keep_spec("", id, &content, at(0)).await.expect("a spec");
    let experiment = NewExperiment { spec, ..world.experiment().await };
    let run = world.store.submit(&experiment, &world.run(scenarios), at(0)).await.expect("submitted");
    for _ in 0..scenarios {
        let held = world.claim(1).await.expect("a job");
        complete(&world.store, &held, &evidence(10), 2).await;
    }
    run
}

async fn candidate(world: &World, run: RunId) -> NewBaseline {
    let experiment = world.store.experiment(run.experiment).await.expect("the experiment");
    let run = world.store.run(run).await.expect("the run");
    baseline_candidate(&world.store, &experiment, &run).await.expect("a candidate")
}

async fn save(world: &World, to: &str, runs: &[RunId], terms: SaveTerms) -> Result<Saved, StoreError> {
    let mut new = Vec::new();
    for run in runs {
        new.push(candidate(world, *run).await);
    }
    world.store.save_baseline("", &name(to), &new, &terms, at(5)).await
}

async fn kept(world: &World, to: &str, runs: &[RunId]) -> Vec<BaselineLine> {
    match save(world, to, runs, SaveTerms::default()).await.expect("saved") {
        Saved::Kept(lines) => lines,
        Saved::Refused(refusals) => panic!("{refusals:?}"),
    }
}

async fn lines(world: &World, of: &str) -> Vec<(String, String)> {
    let lines = world.store.baseline("", &name(of)).await.expect("lines");
    lines.into_iter().map(|line| (format!("{} {}", line.name, line.spec_id), line.experiment)).collect()
}

async fn a_baseline_is_a_copy_that_outlives_its_experiment(world: World) {
    let run = ended(&world, "ledger", 2).await;
    let report = candidate(&world, run).await.report;
    let saved = kept(&world, "main", &[run]).await;
    assert_eq!((saved[0].size.cells, saved[0].size.replicas, saved[0].passed), (2, 2, 2));
    // Everything that retention may take goes.
    let garbage = Garbage { before: at(1000), keep: 0, most_bytes: Some(0) };
    let gone = world.store.garbage(garbage).await.expect("garbage");
    assert_eq!(gone, [run.experiment]);
    assert_eq!(world.store.collect(&gone).await.expect("removed").experiments, 1);
    assert!(matches!(world.store.experiment(run.experiment).await, Err(StoreError::NotFound(_))));
    let lines = world.store.baseline("", &name("main")).await.expect("lines");
    assert_eq!(lines, saved);
    let read = world.store.baseline_report(&lines[0]).await.expect("the report");
    assert_eq!(scenario::report::json(&read), scenario::report::json(&report));
    assert_eq!(world.store.remove_baseline("", &name("main"), None).await.expect("removed"), 1);
    assert_eq!(world.store.baselines(None, None).await.expect("lines"), []);
}

async fn a_run_takes_the_place_of_its_own_spec_alone(world: World) {
    let (ledger, books) = (ended(&world, "ledger", 2).await, ended(&world, "books", 1).await);
    kept(&world, "main", &[ledger, books]).await;
    let again = ended(&world, "ledger", 2).await;
    kept(&world, "main", &[again]).await;
    let expected = [("main books", books), ("main ledger", again)];
    assert_eq!(lines(&world, "main").await, expected.map(|(line, run)| (line.into(), run.experiment.to_string())));
    let twice = save(&world, "main", &[again, ledger], SaveTerms::default()).await.expect_err("refused");
    assert!(twice.to_string().contains("two of `ledger` are given"), "{twice}");
    assert!(save(&world, "main", &[], SaveTerms::default()).await.is_err(), "nothing is no baseline");
    assert_eq!(world.store.remove_baseline("", &name("main"), Some("books")).await.expect("removed"), 1);
    assert_eq!(lines(&world, "main").await.len(), 1);
}

async fn a_smaller_run_is_refused_whole_unless_it_is_forced(world: World) {
    let (large, books) = (ended(&world, "ledger", 3).await, ended(&world, "books", 1).await);
    kept(&world, "main", &[large]).await;
    let small = ended(&world, "ledger", 2).await;
    let refused = save(&world, "main", &[books, small], SaveTerms::default()).await.expect("an answer");
    let Saved::Refused(refusals) = refused else { panic!("{refused:?}") };
    assert_eq!(refusals[0].to_string(), "`ledger` has 2 cells where the baseline has 3");
    assert_eq!(lines(&world, "main").await.len(), 1, "the other one was not kept either");
    let terms = SaveTerms { force: true, reason: "fewer cells".to_owned(), saved_by: "me".to_owned(), ..terms() };
    save(&world, "main", &[small], terms).await.expect("saved");
    let line = world.store.baseline("", &name("main")).await.expect("lines").pop().expect("a line");
    assert_eq!((line.overridden, line.reason.as_str()), (vec![refusals[0].to_string()], "fewer cells"));
    assert_eq!((line.saved_by.as_str(), line.experiment), ("me", small.experiment.to_string()));
}

fn terms() -> SaveTerms {
    SaveTerms::default()
}

async fn a_branch_has_what_it_kept_and_otherwise_the_baseline_itself(world: World) {
    let (ledger, books) = (ended(&world, "ledger", 2).await, ended(&world, "books", 1).await);
    kept(&world, "main", &[ledger, books]).await;
    let smaller = ended(&world, "ledger", 1).await;
    let refused = save(&world, "main@fix/x", &[smaller], terms()).await.expect("an answer");
    assert!(matches!(refused, Saved::Refused(_)), "what stands for it is larger");
    let own = ended(&world, "ledger", 2).await;
    kept(&world, "main@fix/x", &[own]).await;
    let expected = [("main books", books), ("main@fix/x ledger", own)];
    assert_eq!(
        lines(&world, "main@fix/x").await,
        expected.map(|(line, run)| (line.into(), run.experiment.to_string()))
    );
    assert_eq!(lines(&world, "main").await[1].1, ledger.experiment.to_string());
    assert_eq!(lines(&world, "main@other").await, lines(&world, "main").await);
    assert_eq!(world.store.remove_baseline("", &name("main"), None).await.expect("removed"), 2);
    assert_eq!(lines(&world, "main@fix/x").await.len(), 1, "a branch stays");
}

async fn baselines_belong_to_their_owners(world: World) {
    let new = [candidate(&world, ended(&world, "ledger", 1).await).await];
    for owner in ["ann", "bob"] {
        world.store.save_baseline(owner, &name("main"), &new, &terms(), at(5)).await.expect("saved");
    }
    assert_eq!(world.store.remove_baseline("ann", &name("main"), None).await.expect("removed"), 1);
    assert_eq!(world.store.baselines(Some("ann"), None).await.expect("lines"), []);
    let left = world.store.baselines(None, Some("main")).await.expect("lines");
    assert_eq!(left.iter().map(|line| line.owner.as_str()).collect::<Vec<_>>(), ["bob"]);
    assert_eq!(world.store.baselines(None, Some("other")).await.expect("lines"), []);
}
