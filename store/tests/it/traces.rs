//! Traces of agents.

use serde_json::json;
use store::{Completion, Kept, NewExperiment, NewTrace, RunId, StoredTrace, TraceFilter};

use crate::harness::{World, at, passed, summary};

databases![
    what_was_done_comes_back,
    filters_narrow_what_is_found,
    pages_go_both_ways,
    a_completion_keeps_its_traces_once_and_as_the_owners,
    traces_go_with_their_experiment,
];

fn trace(owner: &str, tool: &str, second: i64) -> NewTrace {
    NewTrace {
        owner: owner.to_owned(),
        run: None,
        scenario: None,
        sandbox: None,
        agent: String::new(),
        self_reported: true,
        at: at(second),
        event_type: "tool_call".to_owned(),
        tool: tool.to_owned(),
        phase: "end".to_owned(),
        status: "ok".to_owned(),
        span_id: format!("span-{tool}"),
        parent_span_id: String::new(),
        root_span_id: String::new(),
        duration_ms: Some(12),
        body: json!({"input": "a\u{0}b", "cost": {"estimated_usd": 0.1}}),
    }
}

async fn all(world: &World, filter: TraceFilter<'_>) -> Vec<StoredTrace> {
    world.store.traces(&filter, None, u64::MAX).await.expect("traces")
}

fn tools(traces: &[StoredTrace]) -> Vec<&str> {
    traces.iter().map(|one| one.trace.tool.as_str()).collect()
}

async fn what_was_done_comes_back(world: World) {
    let run = world.submitted(1).await;
    let known = NewTrace {
        run: Some(run),
        scenario: Some("s".to_owned()),
        sandbox: Some("sb-1".to_owned()),
        agent: "coder".to_owned(),
        self_reported: false,
        duration_ms: None,
        ..trace("ann", "read\u{0}", 1)
    };
    let many: Vec<_> = std::iter::once(known).chain((0..1200).map(|_| trace("ann", "write", 2))).collect();
    world.store.add_traces(&many).await.expect("added");
    world.store.add_traces(&[]).await.expect("nothing added");
    let found = all(&world, TraceFilter::default()).await;
    assert!(found.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert_eq!(found.into_iter().map(|one| one.trace).collect::<Vec<_>>(), many);
}

async fn filters_narrow_what_is_found(world: World) {
    let run = world.submitted(1).await;
    let again = RunId { number: 2, ..run };
    let digest = world.spec().await.digest;
    world.store.submit_again(run.experiment, &digest, &world.run(1), at(1)).await.expect("again");
    let one = NewTrace { run: Some(run), scenario: Some("s".to_owned()), ..trace("ann", "one", 1) };
    let two = NewTrace { run: Some(again), sandbox: Some("sb-1".to_owned()), ..trace("ann", "two", 2) };
    let three = NewTrace { agent: "coder".to_owned(), event_type: "llm_call".to_owned(), ..trace("bob", "three", 3) };
    let four = NewTrace { parent_span_id: "up".to_owned(), root_span_id: "top".to_owned(), ..trace("bob", "four", 4) };
    world.store.add_traces(&[one, two, three, four]).await.expect("added");
    let number = all(&world, TraceFilter::default()).await[1].number;
    let any = TraceFilter::default;
    for (filter, expected) in [
        (any(), vec!["one", "two", "three", "four"]),
        (TraceFilter { owner: Some("ann"), ..any() }, vec!["one", "two"]),
        (TraceFilter { experiment: Some(run.experiment), ..any() }, vec!["one", "two"]),
        (TraceFilter { run: Some(again), ..any() }, vec!["two"]),
        (TraceFilter { scenario: Some("s"), ..any() }, vec!["one"]),
        (TraceFilter { sandbox: Some("sb-1"), ..any() }, vec!["two"]),
        (TraceFilter { agent: Some("coder"), ..any() }, vec!["three"]),
        (TraceFilter { event_type: Some("llm_call"), ..any() }, vec!["three"]),
        (TraceFilter { tool: Some("four"), ..any() }, vec!["four"]),
        (TraceFilter { since: Some(at(3)), ..any() }, vec!["three", "four"]),
        (TraceFilter { trace_id: Some(number), ..any() }, vec!["two"]),
        (TraceFilter { span_id: Some("span-one"), ..any() }, vec!["one"]),
        (TraceFilter { parent_span_id: Some("up"), ..any() }, vec!["four"]),
        (TraceFilter { root_span_id: Some("top"), ..any() }, vec!["four"]),
        (TraceFilter { owner: Some("ann"), since: Some(at(2)), newest_first: true, ..any() }, vec!["two"]),
        (TraceFilter { owner: Some("ann"), tool: Some("four"), ..any() }, vec![]),
    ] {
        assert_eq!(tools(&all(&world, filter).await), expected, "{filter:?}");
    }
}

async fn pages_go_both_ways(world: World) {
    for number in 0..5 {
        world.store.add_traces(&[trace("ann", &number.to_string(), 0)]).await.expect("added");
    }
    for (newest_first, expected) in [(false, ["0", "1", "2", "3", "4"]), (true, ["4", "3", "2", "1", "0"])] {
        let filter = TraceFilter { newest_first, owner: Some("ann"), ..TraceFilter::default() };
        let mut seen = Vec::new();
        while let part = world.store.traces(&filter, seen.last().map(|one: &StoredTrace| one.number), 2).await
            && let part = part.expect("traces")
            && !part.is_empty()
        {
            seen.extend(part);
        }
        assert_eq!(tools(&seen), expected);
    }
}

async fn a_completion_keeps_its_traces_once_and_as_the_owners(world: World) {
    let new = NewExperiment { owner: "ann".to_owned(), ..world.experiment().await };
    let run = world.store.submit(&new, &world.run(1), at(0)).await.expect("submitted");
    let held = world.claim(0).await.expect("a job");
    let result = passed(&held.scenario);
    let traces = [trace("forged", "one", 1), trace("", "two", 2)];
    for kept in [Kept::RunEnded, Kept::Stale] {
        let completion = Completion { evidence: None, result: &result, traces: &traces, at: at(3) };
        assert_eq!(world.store.complete(&held.lease, run, completion, &summary).await.expect("completed"), kept);
    }
    let found = all(&world, TraceFilter { run: Some(run), owner: Some("ann"), ..TraceFilter::default() }).await;
    assert_eq!(tools(&found), ["one", "two"]);
    assert!(found.iter().all(|one| one.trace.scenario.as_deref() == Some(held.scenario.id.as_str())));
    assert_eq!(all(&world, TraceFilter::default()).await.len(), 2);
}

async fn traces_go_with_their_experiment(world: World) {
    let run = world.submitted(1).await;
    world.finish_one(1).await;
    world
        .store
        .add_traces(&[NewTrace { run: Some(run), ..trace("", "one", 1) }, trace("", "two", 1)])
        .await
        .expect("added");
    world.store.collect(&[run.experiment]).await.expect("collected");
    assert_eq!(tools(&all(&world, TraceFilter::default()).await), ["two"]);
}
