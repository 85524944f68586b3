//! Results come back as they were written.

use indexmap::IndexMap;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use scenario::evidence::{Fired, ImageRecord, Limit, Played, Usage};
use scenario::forbidden::ForbiddenResult;
use scenario::plan::{CellId, CellKey, Purpose, Scenario, ScenarioId, Seed};
use scenario::result::{Caveat, InvariantResult, RanIn, RowStatus, ScenarioError, ScenarioResult};
use scenario::verdict::{ErrorKind, Outcome, Verdict};
use serde_json::Value as Json;
use store::{Completion, Demand, JobId, Lane, NewJob, NewRun};

use crate::harness::{Database, World, at, summary};

/// A text with quotes, controls and whatever else there is.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just(String::new()), Just("\0'\"\\\u{2028}😀".to_owned())]
}

/// Numbers as they are counted: a database has no more.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..10_u64, any::<u64>().prop_map(|number| number >> 1)]
}

/// Any number with a column of its own: databases have one zero.
fn fraction() -> impl Strategy<Value = f64> {
    float().prop_map(|number| if number == 0.0 { 0.0 } else { number })
}

/// Any number that JSON has.
fn float() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0, any::<f64>().prop_filter("a number", |number| number.is_finite()), Just(-0.0)]
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        float().prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((text(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    (prop::collection::vec((text(), json()), 0..4), any::<u32>(), any::<u64>()).prop_map(
        |(parameters, replica, seed)| {
            let parameters: IndexMap<_, _> = parameters.into_iter().collect();
            let cell = CellId::of(&CellKey::from(parameters.clone()));
            Scenario {
                id: ScenarioId::of(&cell, replica),
                cell,
                replica,
                seed: Seed::new(seed),
                parameters,
                chaos: String::new(),
                purpose: Purpose::default(),
                prompt: None,
                variants: Vec::new(),
                snapshot: (seed % 2 == 0).then(|| "snap_1".to_owned()),
                breakage: None,
            }
        },
    )
}

fn kind() -> impl Strategy<Value = ErrorKind> {
    prop_oneof![
        Just(ErrorKind::Infrastructure),
        Just(ErrorKind::Provider),
        Just(ErrorKind::ProviderConfig),
        Just(ErrorKind::Spec),
        Just(ErrorKind::Check),
        Just(ErrorKind::Judge),
    ]
}

fn invariant() -> impl Strategy<Value = InvariantResult> {
    let outcome = prop_oneof![Just(Outcome::Passed), Just(Outcome::Failed), kind().prop_map(Outcome::Errored)];
    let verdict =
        (outcome, fraction(), text(), text(), json()).prop_map(|(outcome, score, message, reason, details)| Verdict {
            outcome,
            score,
            message,
            reason,
            details,
            is_unproven: false,
        });
    (text(), text(), fraction(), any::<bool>(), verdict).prop_map(|(name, description, weight, gate, verdict)| {
        InvariantResult { name, description, weight, gate, verdict }
    })
}

fn usage() -> impl Strategy<Value = Usage> {
    (count(), count(), count(), count(), text(), prop::option::of(fraction())).prop_map(
        |(calls, input_tokens, output_tokens, cache_read_tokens, model, cost_usd)| Usage {
            calls,
            input_tokens,
            output_tokens,
            cache_read_tokens,
            model,
            cost_usd,
        },
    )
}

fn played() -> impl Strategy<Value = Played> {
    let calls = || prop::collection::vec(text(), 0..3);
    (text(), any::<bool>(), count(), calls(), calls(), calls()).prop_map(
        |(session, is_strict, answered, differing, unexpected, unconsumed)| Played {
            session,
            is_strict,
            answered,
            differing,
            unexpected,
            unconsumed,
        },
    )
}

fn result() -> impl Strategy<Value = ScenarioResult> {
    let status = prop_oneof![Just(RowStatus::Pass), Just(RowStatus::Fail), Just(RowStatus::Error)];
    let error = prop::option::of((kind(), text()).prop_map(|(kind, message)| ScenarioError { kind, message }));
    let forbidden = (text(), any::<bool>(), text()).prop_map(|(rule, violated, details)| ForbiddenResult {
        rule,
        violated,
        details,
    });
    let limit = prop_oneof![Just(Limit::AgentTimeout), Just(Limit::Requests), Just(Limit::Memory)];
    let fired = (limit, text()).prop_map(|(limit, detail)| Fired { limit, detail });
    let judged = (scenario(), status, fraction(), prop::collection::vec(invariant(), 0..4), error, usage());
    let lists = (
        prop::collection::vec(forbidden, 0..3),
        prop::collection::vec(fired, 0..3),
        prop::collection::vec(text(), 0..3),
        prop::collection::vec(text(), 0..3),
        prop::collection::vec(caveat(), 0..3),
        prop::option::of(ran_in()),
    );
    let replay = prop::option::of(played());
    let numbers =
        (count(), prop::option::of(any::<i32>()), count(), count(), prop::option::of(count()), text(), replay);
    (judged, lists, numbers).prop_map(|(judged, lists, numbers)| {
        let (scenario, status, composite, invariants, error, usage) = judged;
        let (forbidden, limits, offences, notes, caveats, ran_in) = lists;
        let (wall_ms, exit_code, tool_calls, tool_errors, faults_fired, sandbox_id, replay) = numbers;
        let (agent_output, agent_stderr) = (String::new(), String::new());
        ScenarioResult {
            scenario,
            sandbox_id,
            status,
            composite,
            invariants,
            forbidden,
            limits,
            offences,
            error,
            wall_ms,
            exit_code,
            agent_output,
            agent_stderr,
            tool_calls,
            tool_errors,
            faults_fired,
            replay,
            usage,
            notes,
            caveats,
            ran_in,
        }
    })
}

fn caveat() -> impl Strategy<Value = Caveat> {
    let modified = (text(), prop::collection::vec(text(), 0..3), 0..9_usize);
    let modified = modified.prop_map(|(invariant, changes, total)| Caveat::ModifiedImage { invariant, changes, total });
    let stood_in = (text(), text(), text()).prop_map(|(image, used, backend)| Caveat::StandIn { image, used, backend });
    prop_oneof![modified, stood_in]
}

fn ran_in() -> impl Strategy<Value = RanIn> {
    let image = (text(), text(), text()).prop_map(|(reference, name, digest)| ImageRecord { reference, name, digest });
    (text(), prop::collection::vec(image, 0..3)).prop_map(|(backend, images)| RanIn {
        backend,
        images,
        scoring_version: Some(1),
    })
}

async fn comes_back(world: &World, result: ScenarioResult) -> Result<(), TestCaseError> {
    let job =
        NewJob { id: JobId(world.uuid()), scenario: result.scenario.clone(), demand: Demand::default(), at_once: None };
    let run = world.submit(&NewRun { lane: Lane::Shared, priority: 0, jobs: vec![job] }, at(0)).await;
    let held = world.claim(0).await.expect("a job");
    prop_assert_eq!(&held.scenario, &result.scenario);
    // What the agent printed is in the evidence, and not kept twice.
    let written =
        ScenarioResult { agent_output: "printed".to_owned(), agent_stderr: "printed".to_owned(), ..result.clone() };
    let completion = Completion { evidence: None, result: &written, traces: &[], at: at(1) };
    world.store.complete(&held.lease, run, completion, &summary).await.expect("a completion");
    let read = world.store.scenarios(run).await.expect("scenarios").remove(0).result.expect("a result");
    prop_assert_eq!(&world.store.caveats(run).await.expect("caveats"), &result.caveats);
    prop_assert_eq!(serde_json::to_string(&read).expect("JSON"), serde_json::to_string(&result).expect("JSON"));
    Ok(())
}

#[test]
fn results_come_back_as_they_were_written() {
    come_back(Database::Sqlite);
}

#[test]
fn results_come_back_from_postgres_as_they_were_written() {
    come_back(Database::Postgres);
}

fn come_back(database: Database) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let Some(world) = runtime.block_on(World::on(database)) else { return };
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    runner.run(&result(), |result| runtime.block_on(comes_back(&world, result))).expect("all come back");
}
