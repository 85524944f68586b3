//! Finding experiments as the history shows them.

use jiff::Timestamp;
use scenario::event::Event;
use scenario::result::RowStatus;
use scenario::score::ExperimentVerdict;
use store::{
    ComparableFilter, Completion, HistoryFilter, NewEvent, NewExperiment, Page, Past, PastStatus, Rescored, RunId,
    SpecContent, SpecVersion,
};

use crate::harness::{World, at, passed, summary};

databases![
    experiments_are_found_by_every_filter,
    the_numbers_are_those_of_the_newest_run,
    parts_of_the_history_follow_each_other,
    the_newest_experiment_of_each_spec_is_found,
    comparable_runs_had_all_of_their_plan,
    comparable_runs_are_found_by_their_ends_and_their_newest_judgements,
    invariants_are_counted_by_run_and_outcome,
    a_part_of_a_run_begins_at_its_place,
    scenarios_are_read_by_their_ids_or_because_they_have_no_result,
    what_happened_in_one_scenario_is_read_alone,
];

const TAGGED: &str = "
version: 1
id: tagged
tags: [nightly, slow]
base: debian
task: {prompt: x}
agent: {type: noop}
invariants: {there: {description: x, check: {type: file_exists, path: x}}}
";

async fn submit(world: &World, change: impl FnOnce(&mut NewExperiment), jobs: u32, now: Timestamp) -> RunId {
    let mut new = world.experiment().await;
    change(&mut new);
    world.store.submit(&new, &world.run(jobs), now).await.expect("submitted")
}

async fn found(world: &World, filter: HistoryFilter<'_>) -> Vec<Past> {
    world.store.history(filter, Page::ALL).await.expect("a history").items
}

fn ids(past: &[Past]) -> Vec<store::ExperimentId> {
    past.iter().map(|one| one.experiment.id).collect()
}

/// Ends the next job as it is said.
async fn end_next(world: &World, run: RunId, status: RowStatus) {
    let held = world.claim(2).await.expect("a job");
    let mut result = passed(&held.scenario);
    result.status = status;
    let completion = Completion { evidence: None, result: &result, traces: &[], at: at(30) };
    world.store.complete(&held.lease, run, completion, &summary).await.expect("completed");
}

async fn experiments_are_found_by_every_filter(world: World) {
    let content = SpecContent { text: TAGGED.to_owned(), files: Vec::new() };
    let tagged = world.store.keep_spec("ann", "tagged", &content, at(0)).await.expect("a spec");
    let first = submit(&world, |new| new.name = "Refund 100%_done".to_owned(), 1, at(10)).await.experiment;
    let second = submit(&world, |new| (new.owner, new.spec) = ("ann".to_owned(), tagged), 1, at(20)).await.experiment;
    let third = submit(&world, |new| new.owner = "ann".to_owned(), 1, at(30)).await.experiment;
    let any = HistoryFilter::default;
    let prefix = first.to_string();
    for (filter, expected) in [
        (any(), vec![third, second, first]),
        (HistoryFilter { owner: Some("ann"), ..any() }, vec![third, second]),
        (HistoryFilter { spec_id: Some("tagged"), ..any() }, vec![second]),
        (HistoryFilter { tag: Some("slow"), ..any() }, vec![second]),
        (HistoryFilter { tag: Some("slow"), owner: Some("bob"), ..any() }, vec![]),
        (HistoryFilter { tag: Some("none"), ..any() }, vec![]),
        (HistoryFilter { text: Some("REFUND"), ..any() }, vec![first]),
        (HistoryFilter { text: Some("100%_"), ..any() }, vec![first]),
        (HistoryFilter { text: Some("100__"), ..any() }, vec![]),
        (HistoryFilter { text: Some("tagg"), ..any() }, vec![second]),
        (HistoryFilter { text: Some(&prefix), ..any() }, vec![first]),
        (HistoryFilter { since: Some(at(20)), ..any() }, vec![third, second]),
        (HistoryFilter { until: Some(at(20)), ..any() }, vec![first]),
        (HistoryFilter { status: Some(PastStatus::Running), ..any() }, vec![third, second, first]),
        (HistoryFilter { status: Some(PastStatus::Passed), ..any() }, vec![]),
        (HistoryFilter { status: Some(PastStatus::Cancelled), ..any() }, vec![]),
        (HistoryFilter { status: Some(PastStatus::Created), ..any() }, vec![]),
    ] {
        assert_eq!(ids(&found(&world, filter).await), expected, "{filter:?}");
    }
    let past = found(&world, HistoryFilter { tag: Some("slow"), ..any() }).await;
    assert_eq!(past[0].tags.iter().collect::<Vec<_>>(), ["nightly", "slow"]);
    let digest = past[0].experiment.spec.digest.as_str();
    assert_eq!(world.store.tags_of(digest).await.expect("tags"), ["nightly", "slow"]);
    assert_eq!(world.store.tags_among(&[digest, "other"], 9).await.expect("tags"), ["nightly", "slow"]);
    assert_eq!(world.store.tags_among(&[digest], 1).await.expect("tags"), ["nightly"]);
    assert_eq!(world.store.tags_among(&[], 9).await.expect("tags"), Vec::<String>::new());
    let created = NewExperiment { name: "later".to_owned(), ..world.experiment().await };
    world.store.create_experiment(&created, at(40)).await.expect("created");
    let never = found(&world, HistoryFilter { status: Some(PastStatus::Created), ..any() }).await;
    assert_eq!((ids(&never), never[0].run.clone()), (vec![created.id], None));
}

async fn the_numbers_are_those_of_the_newest_run(world: World) {
    let run = submit(&world, |_| {}, 2, at(0)).await;
    let running = found(&world, HistoryFilter::default()).await[0].run.clone().expect("a run");
    assert_eq!((running.total, running.ended, running.verdict, running.pass_rate()), (2, 0, None, None));
    world.finish_one(1).await;
    world.finish_one(1).await;
    let stored = world.store.run(run).await.expect("a run");
    let score = stored.score.expect("a score");
    let past = found(&world, HistoryFilter { status: Some(PastStatus::Ended), ..HistoryFilter::default() }).await;
    let numbers = past[0].run.clone().expect("a run");
    assert_eq!(numbers.passed, score.passed as u64);
    assert_eq!(
        (numbers.failed, numbers.flaky, numbers.errors),
        (score.failed as u64, score.flaky as u64, score.errors as u64)
    );
    assert_eq!((numbers.composite, numbers.cost_usd), (score.metrics.mean_composite, score.metrics.total_cost_usd));
    assert_eq!((numbers.wall_ms, numbers.verdict), (score.metrics.mean_wall_ms, Some(score.verdict)));
    assert_eq!(numbers.pass_rate(), Some(score.metrics.pass_rate));
    let digest = world.spec().await.digest;
    let again = world.store.submit_again(run.experiment, &digest, &world.run(1), at(4)).await.expect("again");
    assert_eq!(found(&world, HistoryFilter::default()).await[0].run.clone().expect("a run").id, again);
    let ended = HistoryFilter { status: Some(PastStatus::Ended), ..HistoryFilter::default() };
    assert_eq!(found(&world, ended).await, [], "what counts is the newest run");
    assert_eq!(stored.verdict, Some(ExperimentVerdict::Pass));
}

async fn parts_of_the_history_follow_each_other(world: World) {
    let mut expected = Vec::new();
    for second in 0..7 {
        // Two at one moment are kept apart by their ids.
        expected.push(submit(&world, |_| {}, 1, at(second / 2)).await.experiment);
    }
    expected.reverse();
    let (mut seen, mut after): (Vec<_>, Option<String>) = (Vec::new(), None);
    loop {
        let page = Page { after: after.as_deref(), most: 2 };
        let listed = world.store.history(HistoryFilter::default(), page).await.expect("a part");
        seen.extend(ids(&listed.items));
        let Some(next) = listed.next else { break };
        after = Some(next);
    }
    assert_eq!(seen, expected);
}

/// A spec with a plan of two scenarios.
async fn twice(world: &World) -> SpecVersion {
    let text = TAGGED.replace("id: tagged", "id: twice\nparallelism: {replicas: 2}");
    let content = SpecContent { text, files: Vec::new() };
    world.store.keep_spec("", "twice", &content, at(0)).await.expect("a spec")
}

/// A run that has ended.
async fn ended(world: &World, change: impl FnOnce(&mut NewExperiment), jobs: u32) -> RunId {
    let run = submit(world, change, jobs, at(1)).await;
    for _ in 0..jobs {
        end_next(world, run, RowStatus::Pass).await;
    }
    run
}

const TWICE: ComparableFilter<'_> =
    ComparableFilter { owner: None, spec_id: "twice", before: None, since: None, most: 10 };

async fn comparable(world: &World, filter: ComparableFilter<'_>) -> Vec<RunId> {
    let runs = world.store.comparable_runs(filter).await.expect("runs");
    let mut ids: Vec<_> = runs.iter().map(|one| one.run.id).collect();
    ids.sort();
    ids
}

async fn comparable_runs_had_all_of_their_plan(world: World) {
    let spec = twice(&world).await;
    let whole = ended(&world, |new| new.spec = spec.clone(), 2).await;
    let chosen = |filter: &str| {
        let (spec, filter) = (spec.clone(), vec![filter.to_owned()]);
        move |new: &mut NewExperiment| (new.spec, new.settings.filter) = (spec, filter)
    };
    ended(&world, chosen("*-r1"), 1).await;
    let all_chosen = ended(&world, chosen("twice"), 2).await;
    let repeats = |new: &mut NewExperiment| {
        (new.spec, new.settings.rerun_of) = (spec.clone(), Some("another".to_owned()));
    };
    ended(&world, repeats, 1).await;
    let all_again = ended(&world, repeats, 2).await;
    ended(&world, |_| {}, 1).await;
    let again = world.store.submit_again(whole.experiment, &spec.digest, &world.run(2), at(1)).await.expect("again");
    let mut expected = vec![whole, all_chosen, all_again];
    expected.sort();
    assert_eq!(comparable(&world, TWICE).await, expected, "what has not ended does not count");
    end_next(&world, again, RowStatus::Fail).await;
    end_next(&world, again, RowStatus::Fail).await;
    expected.push(again);
    expected.sort();
    assert_eq!(comparable(&world, TWICE).await, expected, "each run of an experiment counts");
    assert_eq!(comparable(&world, ComparableFilter { most: 1, ..TWICE }).await.len(), 1);
    assert_eq!(comparable(&world, ComparableFilter { owner: Some("ann"), ..TWICE }).await, []);
}

async fn comparable_runs_are_found_by_their_ends_and_their_newest_judgements(world: World) {
    let spec = twice(&world).await;
    let run = ended(&world, |new| new.spec = spec.clone(), 2).await;
    for (before, since, found) in [
        (Some((at(31), run)), None, true),
        (Some((at(30), run)), None, false),
        (Some((at(29), run)), None, false),
        (None, Some(at(30)), true),
        (None, Some(at(31)), false),
    ] {
        let found = if found { vec![run] } else { vec![] };
        assert_eq!(
            comparable(&world, ComparableFilter { before, since, ..TWICE }).await,
            found,
            "{before:?} {since:?}"
        );
    }
    let mut judged = Vec::new();
    for stored in world.store.scenarios(run).await.expect("scenarios") {
        let mut result = stored.result.clone().expect("a result");
        result.status = RowStatus::Fail;
        judged.push(Rescored { scenario: stored.scenario.clone(), result: Some(result), source: stored.source });
    }
    let results: Vec<_> = judged.iter().filter_map(|one| one.result.clone()).collect();
    let mut newest = run;
    for _ in 0..2 {
        let score = summary(&results);
        newest = world.store.keep_rescored(newest, &spec.digest, &judged, &score, at(50)).await.expect("kept");
    }
    let runs = world.store.comparable_runs(TWICE).await.expect("runs");
    let ends: Vec<_> = runs.iter().map(|one| (one.run.id, one.ended_at, one.run.pass_rate())).collect();
    assert_eq!(ends, [(newest, at(30), Some(0.0))], "one run, when its agents ended, as it was judged last");
}

async fn invariants_are_counted_by_run_and_outcome(world: World) {
    let run = submit(&world, |_| {}, 2, at(0)).await;
    end_next(&world, run, RowStatus::Pass).await;
    end_next(&world, run, RowStatus::Fail).await;
    let counts = world.store.invariant_counts(&[run]).await.expect("counts");
    let all: u64 = counts.iter().map(|one| one.count).sum();
    let invariants = world.store.scenarios(run).await.expect("scenarios");
    let expected: usize = invariants.iter().map(|one| one.result.as_ref().expect("a result").invariants.len()).sum();
    assert_eq!(all, expected as u64, "{counts:?}");
    assert!(counts.iter().all(|one| one.run == run && one.outcome == "passed"), "{counts:?}");
    assert_eq!(world.store.invariant_counts(&[]).await.expect("none"), []);
}

async fn a_part_of_a_run_begins_at_its_place(world: World) {
    let run = submit(&world, |_| {}, 5, at(0)).await;
    let all = world.store.scenarios(run).await.expect("scenarios");
    assert_eq!(world.store.scenarios_from(run, 1, 2).await.expect("a part"), all[1..3]);
    assert_eq!(world.store.scenarios_from(run, 4, 9).await.expect("a part"), all[4..]);
    assert_eq!(world.store.scenarios_from(run, 5, 9).await.expect("a part"), []);
}

async fn scenarios_are_read_by_their_ids_or_because_they_have_no_result(world: World) {
    let run = submit(&world, |_| {}, 5, at(0)).await;
    end_next(&world, run, RowStatus::Pass).await;
    let all = world.store.scenarios(run).await.expect("scenarios");
    assert_eq!(world.store.scenarios_without_result(run, 0, 9).await.expect("a part"), all[1..]);
    assert_eq!(world.store.scenarios_without_result(run, 1, 2).await.expect("a part"), all[2..4]);
    assert_eq!(world.store.scenarios_without_result(run, 4, 9).await.expect("a part"), []);
    let ids = [3, 0].map(|index: usize| all[index].scenario.id.as_str());
    let named = world.store.scenarios_named(run, ids).await.expect("some");
    assert_eq!(named, [all[0].clone(), all[3].clone()], "in the order of the plan");
    assert_eq!(world.store.scenarios_named(run, []).await.expect("none"), []);
}

async fn what_happened_in_one_scenario_is_read_alone(world: World) {
    let run = submit(&world, |_| {}, 2, at(0)).await;
    let event = |scenario: &str, kind: &str| NewEvent {
        run,
        scenario: scenario.to_owned(),
        attempt: 1,
        at: at(1),
        happened: Event::read(kind, serde_json::Value::Null),
    };
    world.store.note(&[event("a", "one"), event("b", "two"), event("a", "three")]).await.expect("noted");
    let events = world.store.scenario_events(run, "a", 10).await.expect("events");
    assert_eq!(events.iter().map(|one| one.event.happened.kind()).collect::<Vec<_>>(), ["one", "three"]);
    assert_eq!(world.store.scenario_events(run, "a", 1).await.expect("events").len(), 1);
}

async fn the_newest_experiment_of_each_spec_is_found(world: World) {
    let content = SpecContent { text: TAGGED.to_owned(), files: Vec::new() };
    let tagged = world.store.keep_spec("ann", "tagged", &content, at(0)).await.expect("a spec");
    let own = submit(&world, |_| {}, 1, at(0)).await;
    end_next(&world, own, RowStatus::Pass).await;
    let newer = submit(&world, |_| {}, 1, at(1)).await;
    end_next(&world, newer, RowStatus::Fail).await;
    let spec = |new: &mut NewExperiment| (new.owner, new.spec) = ("ann".to_owned(), tagged.clone());
    let others = submit(&world, spec, 1, at(2)).await;
    let spec_id = world.experiment().await.spec.spec_id;
    let specs = [("", spec_id.as_str()), ("ann", "tagged"), ("bob", "tagged"), ("ann", spec_id.as_str())];
    let mut found = world.store.newest_of_specs(&specs).await.expect("experiments");
    found.sort_by_key(|past| past.experiment.created_at);
    assert_eq!(ids(&found), [newer.experiment, others.experiment]);
    let rates: Vec<_> = found.iter().map(|past| past.run.as_ref().and_then(|run| run.pass_rate())).collect();
    assert_eq!(rates, [Some(0.0), None]);
    assert_eq!(world.store.newest_of_specs(&[]).await.expect("none"), []);
}
