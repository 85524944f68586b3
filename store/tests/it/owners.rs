//! Specs and experiments of several owners.

use store::{
    Experiment, ExperimentId, NewExperiment, NewRun, Page, RunId, RunState, SpecContent, SpecVersion, StoreError,
    StoredSpecVersion,
};
use uuid::Uuid;

use crate::harness::{World, at};

databases![
    versions_count_for_each_owner,
    the_newest_version_of_each_spec_is_listed,
    a_spec_that_was_removed_goes_on_counting,
    versions_kept_at_once_get_numbers_of_their_own,
    an_experiment_can_be_made_before_it_is_run,
    of_two_who_begin_a_run_one_does,
    experiments_are_listed_in_parts,
    the_newest_runs_of_many_are_read_at_once,
];

fn content(text: &str) -> SpecContent {
    SpecContent { text: text.to_owned(), files: Vec::new() }
}

async fn keep(world: &World, owner: &str, id: &str, text: &str) -> SpecVersion {
    world.store.keep_spec(owner, id, &content(text), at(1)).await.expect("kept")
}

fn names(versions: &[StoredSpecVersion]) -> Vec<(&str, &str, u32)> {
    versions.iter().map(|one| (one.owner.as_str(), one.version.spec_id.as_str(), one.version.version)).collect()
}

async fn versions_count_for_each_owner(world: World) {
    assert_eq!(keep(&world, "ann", "ledger", "a").await.version, 1);
    assert_eq!(keep(&world, "ann", "ledger", "b").await.version, 2);
    let others = keep(&world, "bob", "ledger", "b").await;
    assert_eq!(others.version, 1, "bob has not kept it before");
    let newest = world.store.spec_version("ann", "ledger").await.expect("read").expect("a version");
    assert_eq!((newest.owner.as_str(), newest.version.version, newest.created_at), ("ann", 2, at(1)));
    assert_eq!(newest.version.digest, others.digest);
    assert_eq!(world.store.spec_version("ann", "other").await.expect("read"), None);
    assert_eq!(world.store.spec_version("", "ledger").await.expect("read"), None);
}

async fn the_newest_version_of_each_spec_is_listed(world: World) {
    for (owner, id, text) in
        [("ann", "a", "1"), ("ann", "a", "2"), ("ann", "b", "1"), ("ann", "c", "1"), ("bob", "a", "3")]
    {
        keep(&world, owner, id, text).await;
    }
    let all = world.store.spec_versions(None, Page::ALL).await.expect("versions");
    assert_eq!(names(&all.items), [("ann", "a", 2), ("ann", "b", 1), ("ann", "c", 1), ("bob", "a", 1)]);
    let first = world.store.spec_versions(Some("ann"), Page { after: None, most: 2 }).await.expect("versions");
    let page = Page { after: first.next.as_deref(), most: 2 };
    let rest = world.store.spec_versions(Some("ann"), page).await.expect("versions");
    assert_eq!((names(&first.items).len(), names(&rest.items), rest.next), (2, vec![("ann", "c", 1)], None));
}

async fn a_spec_that_was_removed_goes_on_counting(world: World) {
    let version = keep(&world, "ann", "ledger", "a").await;
    let new = NewExperiment { owner: "ann".to_owned(), spec: version.clone(), ..world.experiment().await };
    world.store.submit(&new, &world.run(1), at(1)).await.expect("submitted");
    assert!(world.store.remove_spec("ann", "ledger").await.expect("removed"));
    assert!(!world.store.remove_spec("ann", "ledger").await.expect("removed"));
    assert_eq!(world.store.spec_version("ann", "ledger").await.expect("read"), None);
    assert_eq!(world.store.spec(&version.digest).await.expect("the experiment's"), content("a"));
    assert_eq!(keep(&world, "ann", "ledger", "a").await.version, 2);
}

async fn versions_kept_at_once_get_numbers_of_their_own(world: World) {
    let stores = [world.store.clone(), world.other().await];
    let mut keeping = tokio::task::JoinSet::new();
    for number in 0..12_usize {
        let store = stores[number % 2].clone();
        keeping.spawn(async move {
            let text = content(&number.to_string());
            store.keep_spec("ann", "ledger", &text, at(1)).await.expect("kept").version
        });
    }
    let mut versions = keeping.join_all().await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=12).collect::<Vec<_>>());
}

async fn an_experiment_can_be_made_before_it_is_run(world: World) {
    let (owner, name) = ("ann".to_owned(), "nightly".to_owned());
    let new = NewExperiment { owner, name, ..world.experiment().await };
    world.store.create_experiment(&new, at(1)).await.expect("made");
    let made = world.store.experiment(new.id).await.expect("the experiment");
    assert_eq!((made.owner.as_str(), made.name.as_str(), made.pinned), ("ann", "nightly", false));
    assert_eq!(world.store.newest_run(new.id).await.expect("read"), None);
    let first = world.store.begin_run(new.id, &world.run(1), at(2)).await.expect("begun");
    assert_eq!(first, RunId { experiment: new.id, number: 1 });
    let run = world.store.newest_run(new.id).await.expect("read").expect("a run");
    assert_eq!((run.id, run.state, run.digest), (first, RunState::Open, new.spec.digest.clone()));
    let refused = world.store.begin_run(new.id, &world.run(1), at(3)).await;
    assert!(matches!(refused, Err(StoreError::Conflict(message)) if message.contains("not ended")));
    world.finish_one(4).await;
    let second = world.store.begin_run(new.id, &world.run(2), at(5)).await.expect("begun");
    assert_eq!((second.number, world.store.newest_run(new.id).await.expect("read").expect("a run").total), (2, 2));
    let nobody = world.store.begin_run(ExperimentId(Uuid::from_u128(99)), &world.run(1), at(6)).await;
    assert!(matches!(nobody, Err(StoreError::NotFound(_))));
}

async fn of_two_who_begin_a_run_one_does(world: World) {
    let other = world.other().await;
    for _ in 0..5 {
        let new = world.experiment().await;
        world.store.create_experiment(&new, at(1)).await.expect("made");
        let runs: [NewRun; 2] = [world.run(1), world.run(1)];
        let begun =
            tokio::join!(world.store.begin_run(new.id, &runs[0], at(1)), other.begin_run(new.id, &runs[1], at(1)));
        assert!(
            matches!(begun, (Ok(_), Err(StoreError::Conflict(_))) | (Err(StoreError::Conflict(_)), Ok(_))),
            "{begun:?}"
        );
    }
}

async fn experiments_are_listed_in_parts(world: World) {
    let mut made = Vec::new();
    for (number, owner) in ["ann", "bob", "ann", "ann"].into_iter().enumerate() {
        let new = NewExperiment { owner: owner.to_owned(), ..world.experiment().await };
        // Two of them at one time.
        world.store.create_experiment(&new, at(i64::try_from(number).expect("small") / 2)).await.expect("made");
        made.push(new.id);
    }
    let list = async |owner, spec, after: Option<&str>| {
        let listed = world.store.experiments_page(owner, spec, Page { after, most: 2 }).await.expect("experiments");
        (listed.items.iter().map(|one: &Experiment| one.id).collect::<Vec<_>>(), listed.next)
    };
    let (first, next) = list(None, None, None).await;
    let (rest, end) = list(None, None, next.as_deref()).await;
    assert_eq!((first, rest, end), (vec![made[3], made[2]], vec![made[1], made[0]], None));
    let (own, next) = list(Some("ann"), Some("ledger"), None).await;
    assert_eq!(own, [made[3], made[2]]);
    assert_eq!(list(Some("ann"), Some("ledger"), next.as_deref()).await, (vec![made[0]], None));
    assert_eq!(list(Some("ann"), Some("other"), None).await, (vec![], None));
}

async fn the_newest_runs_of_many_are_read_at_once(world: World) {
    let (one, two) = (world.submitted(1).await, world.submitted(2).await);
    let again = world.store.submit_again(one.experiment, &world.spec().await.digest, &world.run(1), at(1)).await;
    let never = world.experiment().await;
    world.store.create_experiment(&never, at(1)).await.expect("made");
    let runs = world.store.newest_runs(&[one.experiment, two.experiment, never.id]).await.expect("runs");
    let mut ids: Vec<_> = runs.iter().map(|run| run.id).collect();
    ids.sort();
    assert_eq!(ids, [again.expect("again"), two]);
    assert_eq!(world.store.newest_runs(&[]).await.expect("runs"), []);
}
