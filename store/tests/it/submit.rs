//! Submitting experiments, and finding them again.

use scenario::event::Event;
use scenario::plan::{AgentOverride, Seed, UnknownAgent};
use serde_json::json;
use store::{
    ExperimentId, Lane, NewEvent, NewExperiment, RunId, RunKind, RunState, Settings, SpecContent, SpecFile, StoreError,
};
use uuid::Uuid;

use crate::harness::{World, at, scenario, summary};

databases![
    texts_with_any_character_come_back,
    what_was_submitted_is_read_back,
    nothing_of_a_refused_submission_is_kept,
    an_experiment_runs_again_beside_its_older_runs,
    people_name_experiments_by_a_part_of_the_id,
    experiments_are_listed_newest_first,
];

async fn what_was_submitted_is_read_back(world: World) {
    let settings = Settings {
        agent: Some(AgentOverride::Noop.into()),
        agent_files: Some("agent".to_owned()),
        backend: Some("local".to_owned()),
        parameters: vec![("rate".to_owned(), json!(0.1)), ("deep".to_owned(), json!({"a": [1, null]}))],
        replicas: Some(3),
        min_pass_rate: Some(0.3),
        rerun_of: Some("default-r1".to_owned()),
        filter: vec!["rate=0.1".to_owned()],
        chaos: vec!["down".to_owned()],
        priority: -3,
    };
    let new = NewExperiment { settings, ..world.experiment().await };
    let owner = Lane::Own(world.uuid());
    let run = store::NewRun { lane: owner, ..world.run(1200) };
    let id = world.store.submit(&new, &run, at(5)).await.expect("submitted");

    let experiment = world.store.experiment(new.id).await.expect("the experiment");
    assert_eq!((experiment.id, &experiment.spec, &experiment.source), (new.id, &new.spec, &new.source));
    assert_eq!(
        (experiment.seed, &experiment.settings, experiment.created_at),
        (Seed::new(u64::MAX), &new.settings, at(5))
    );
    let kept = world.store.run(id).await.expect("the run");
    assert_eq!((kept.id, kept.kind, kept.state, kept.lane), (id, RunKind::Acted, RunState::Open, owner));
    assert_eq!((kept.total, kept.ended, kept.score, kept.ended_at), (1200, 0, None, None));
    let scenarios = world.store.scenarios(id).await.expect("scenarios");
    let planned: Vec<_> = run.jobs.into_iter().map(|job| job.scenario).collect();
    assert!(scenarios.iter().all(|stored| stored.result.is_none() && stored.source.is_none()));
    assert_eq!(
        scenarios.into_iter().map(|stored| stored.scenario).collect::<Vec<_>>(),
        planned,
        "in the order of the plan"
    );
}

async fn nothing_of_a_refused_submission_is_kept(world: World) {
    let mut run = world.run(2);
    run.jobs[1].scenario = scenario(0);
    let new = world.experiment().await;
    world.store.submit(&new, &run, at(0)).await.expect_err("two jobs of one scenario");
    let empty = world.store.submit(&new, &world.run(0), at(0)).await;
    assert!(matches!(empty, Err(StoreError::Conflict(message)) if message.contains("never end")));
    let gone =
        NewExperiment { spec: store::SpecVersion { digest: "beef".to_owned(), ..new.spec.clone() }, ..new.clone() };
    let gone = world.store.submit(&gone, &world.run(1), at(0)).await;
    assert!(matches!(gone, Err(StoreError::NotFound(message)) if message.contains("submit it again")));
    assert_eq!(world.store.experiments(10, None).await.expect("experiments"), []);
    assert_eq!(world.store.open_runs().await.expect("runs"), []);
}

async fn an_experiment_runs_again_beside_its_older_runs(world: World) {
    let first = world.submitted(1).await;
    let digest = world.spec().await.digest;
    let again = world.store.submit_again(first.experiment, &digest, &world.run(2), at(1)).await.expect("again");
    assert_eq!(again, RunId { number: 2, ..first });
    let runs: Vec<_> =
        world.store.runs(first.experiment).await.expect("runs").iter().map(|run| (run.id.number, run.total)).collect();
    assert_eq!(runs, [(2, 2), (1, 1)], "newest first");
    let open: Vec<_> = world.store.open_runs().await.expect("open").iter().map(|run| run.id).collect();
    assert_eq!(open, [first, again], "oldest first");
    let nobody = ExperimentId(Uuid::from_u128(99));
    let missing = world.store.submit_again(nobody, &digest, &world.run(1), at(1)).await;
    assert!(matches!(missing, Err(StoreError::NotFound(message)) if message.contains(&nobody.to_string())));
}

async fn submit_as(world: &World, id: &str, created: i64) -> ExperimentId {
    let id = id.parse().expect("an id");
    let new = NewExperiment { id, ..world.experiment().await };
    world.store.submit(&new, &world.run(1), at(created)).await.expect("submitted");
    id
}

async fn people_name_experiments_by_a_part_of_the_id(world: World) {
    let nothing = world.store.find_experiment("latest").await;
    assert!(matches!(nothing, Err(StoreError::NotFound(_))));
    let older = submit_as(&world, "aaaa0000-0000-7000-8000-00000000beef", 2).await;
    let newer = submit_as(&world, "aaaa1111-0000-7000-8000-00000000cafe", 3).await;
    let oldest = submit_as(&world, "cafe1111-0000-7000-8000-000000000001", 1).await;
    for (name, id) in [
        ("latest", newer),
        ("latest~0", newer),
        ("latest~1", older),
        ("latest~2", oldest),
        ("aaaa0", older),
        ("AAAA0", older),
        ("beef", older),
        ("0001", oldest),
        (&newer.to_string(), newer),
    ] {
        assert_eq!(world.store.find_experiment(name).await.expect(name).id, id, "{name}");
    }
    for name in ["aaaa", "cafe"] {
        assert!(
            matches!(world.store.find_experiment(name).await, Err(StoreError::Conflict(_))),
            "{name} is not enough"
        );
    }
    let beyond = world.store.find_experiment("latest~3").await.expect_err("there are three").to_string();
    assert!(beyond.contains("there is no experiment `latest~3`: there are only 3"), "{beyond}");
    for name in ["", "latest~", "latest~x", "aaa", "%", "____", "%%%%%", "aaaa%", "a_aa0", "dddd", "0000'", "7000"] {
        assert!(matches!(world.store.find_experiment(name).await, Err(StoreError::NotFound(_))), "`{name}` names none");
    }
}

async fn experiments_are_listed_newest_first(world: World) {
    let first = submit_as(&world, "aaaa0000-0000-7000-8000-000000000001", 1).await;
    let second = submit_as(&world, "aaaa0000-0000-7000-8000-000000000002", 1).await;
    let list = async |most, spec| {
        let listed = world.store.experiments(most, spec).await.expect("experiments");
        listed.into_iter().map(|experiment| experiment.id).collect::<Vec<_>>()
    };
    assert_eq!(list(u64::MAX, None).await, [second, first]);
    assert_eq!(list(1, Some("ledger")).await, [second]);
    assert_eq!(list(1, Some("other")).await, []);
}

/// Agents write what they like, and Postgres has no place for U+0000.
async fn texts_with_any_character_come_back(world: World) {
    let odd = "a\0b\u{fdd0}0\u{fdd0}\u{ffff}é😀\n'\"\\";
    let content = SpecContent {
        text: odd.to_owned(),
        files: vec![SpecFile { path: odd.to_owned(), executable: false, content: odd.into() }],
    };
    let spec = world.store.keep_spec("", odd, &content, at(0)).await.expect("kept");
    assert_eq!(world.store.spec(&spec.digest).await.expect("the spec"), content);
    let new = NewExperiment { spec, source: odd.to_owned(), ..world.experiment().await };
    let run = world.store.submit(&new, &world.run(2), at(0)).await.expect("submitted");
    let experiment = world.store.experiment(new.id).await.expect("the experiment");
    assert_eq!((experiment.source.as_str(), experiment.spec.spec_id.as_str()), (odd, odd));
    assert_eq!(world.store.experiments(9, Some(odd)).await.expect("experiments").len(), 1, "it can be asked for");
    let held = world.claim(0).await.expect("a job");
    world.store.release(&held.lease, odd, at(1)).await.expect("released");
    assert_eq!(world.store.attempts(run).await.expect("attempts")[0].message.as_deref(), Some(odd));
    let happened = Event::read(odd, json!({ odd: odd }));
    let event = NewEvent { run, scenario: odd.to_owned(), attempt: 1, at: at(1), happened };
    world.store.note(std::slice::from_ref(&event)).await.expect("noted");
    assert_eq!(world.store.events(run, 0, 9).await.expect("events")[0].event, event);
    world.store.cancel(run, odd, at(2), &summary).await.expect("cancelled");
    assert_eq!(world.store.run(run).await.expect("the run").reason.as_deref(), Some(odd));
}

#[test]
fn settings_of_older_and_newer_versions_are_read() {
    let kept = json!({
        "agent": "oracle", "backend": "local", "parameters": [["rate", 0.5]], "replicas": 2, "min_pass_rate": null,
        "rerun_of": null, "filter": [], "priority": 0,
    });
    let settings: Settings = serde_json::from_value(kept.clone()).expect("settings");
    assert_eq!(settings.agent_override(), Ok(Some(AgentOverride::Oracle)));
    assert_eq!(serde_json::to_value(&settings).expect("JSON"), kept, "they are written as they were");
    let settings: Settings = serde_json::from_value(json!({})).expect("settings");
    assert_eq!(settings.agent_override(), Ok(None));
    let settings: Settings = serde_json::from_value(json!({"agent": "sorcerer"})).expect("settings");
    assert_eq!(settings.agent_override(), Err(UnknownAgent("sorcerer".to_owned())));
    assert_eq!(serde_json::to_value(&settings).expect("JSON")["agent"], "sorcerer");
}
