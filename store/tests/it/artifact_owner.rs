//! One database owns an artifact place, and others are refused.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use store::{ArtifactClaim, Artifacts, Kept, RunId, Store, StoreError, bundle_key};
use tempfile::TempDir;
use uuid::Uuid;

use crate::fake_s3::FakeS3;
use crate::harness::{LARGE, World, complete, evidence};

databases![
    the_first_use_marks_a_place,
    another_database_is_refused_and_removes_nothing,
    another_copy_of_a_database_is_refused_until_it_adopts_the_place,
    a_place_without_a_mark_is_adopted_when_all_is_known,
    nothing_is_removed_from_a_place_without_a_mark_that_holds_unknown_things,
    a_place_that_cannot_be_written_fails_its_probe,
    of_two_databases_that_begin_at_once_one_owns_the_place,
];

/// A store on a place that both worlds can reach.
fn at(world: &World, place: &TempDir) -> Store {
    world.store.clone().with_artifacts(Artifacts::folder(place.path()).expect("a place"))
}

fn place() -> TempDir {
    TempDir::new().expect("a folder")
}

/// A scenario that ended with evidence which is too large for a row.
async fn ended(world: &World, store: &Store) -> RunId {
    let run = world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    assert_eq!(complete(store, &held, &evidence(LARGE), 1).await, Kept::RunEnded);
    run
}

fn files(folder: &Path) -> Vec<String> {
    let files = walkdir(folder);
    files.into_iter().filter(|file| !file.ends_with("/touchstone.json")).collect()
}

fn walkdir(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(walkdir(&path)),
            false => found.push(path.display().to_string()),
        }
    }
    found.sort();
    found
}

/// Everything that removes from a place.
async fn removals(store: &Store, run: RunId) -> [Result<(), StoreError>; 5] {
    [
        store.collect(&[]).await.map(drop),
        store.collect(&[run.experiment]).await.map(drop),
        store.remove_orphans(Timestamp::MAX).await.map(drop),
        store.prune_bundles(Timestamp::MAX).await.map(drop),
        store.remove_experiment(run.experiment).await.map(drop),
    ]
}

async fn the_first_use_marks_a_place(world: World) {
    assert_eq!(world.store.artifact_owner().await.expect("no owner"), None);
    assert_eq!(world.store.claim_artifacts().await.expect("claimed"), ArtifactClaim::Own);
    let owner = world.store.artifact_owner().await.expect("read").expect("an owner");
    assert_eq!(world.other().await.probe_artifacts("other").await.expect("the same database"), ArtifactClaim::Own);
    assert_eq!(world.store.artifact_owner().await.expect("read"), Some(owner), "the mark stays");
    assert_eq!(world.files(), Vec::<String>::new(), "no probe stays");
}

async fn another_database_is_refused_and_removes_nothing(world: World) {
    let (place, staging) = (place(), World::sqlite().await);
    let (production, other) = (at(&world, &place), at(&staging, &place));
    let run = ended(&world, &production).await;
    production.artifacts().put(&bundle_key(&format!("sha256:{}", "a".repeat(64))), "agent").await.expect("a bundle");
    let before = files(place.path());
    let refused = other.claim_artifacts().await.expect_err("refused");
    assert!(matches!(&refused, StoreError::ForeignPlace { .. }), "{refused:?}");
    for part in [place.path().to_str().expect("a path"), "--artifacts", "gc --adopt-artifacts"] {
        assert!(refused.to_string().contains(part), "{refused}");
    }
    let own = {
        staging.submitted(1).await;
        staging.claim(0).await.expect("a job")
    };
    for removal in removals(&other, own.run).await {
        assert!(matches!(removal, Err(StoreError::ForeignPlace { .. })), "{removal:?}");
    }
    assert_eq!(staging.number("SELECT count(*) FROM experiments").await, 1, "no rows were removed either");
    let refused = other.keep_artifact("snapshots/x", &place.path().join("touchstone.json")).await;
    assert!(matches!(refused, Err(StoreError::ForeignPlace { .. })), "{refused:?}");
    let summarise = |_: &[scenario::result::ScenarioResult]| crate::harness::summary(&[]);
    let result = crate::harness::passed(&own.scenario);
    let large = evidence(LARGE);
    let completion =
        store::Completion { evidence: Some(&large), result: &result, traces: &[], at: crate::harness::at(1) };
    let refused = other.complete(&own.lease, own.run, completion, &summarise).await;
    assert!(matches!(refused, Err(StoreError::ForeignPlace { .. })), "{refused:?}");
    assert_eq!(files(place.path()), before);
    assert_eq!(production.collect(&[run.experiment]).await.expect("its own").experiments, 1);
}

async fn another_copy_of_a_database_is_refused_until_it_adopts_the_place(world: World) {
    let place = place();
    let production = at(&world, &place);
    let run = ended(&world, &production).await;
    // A dump carries the id along, and nothing that tells where it was restored.
    let restored =
        if world.is_postgres() { World::postgres().await.expect("a Postgres") } else { World::sqlite().await };
    let id = production.setting("database").await.expect("read").expect("an id");
    restored.store.set_setting("database", &id).await.expect("restored");
    let copy = at(&restored, &place);
    let before = files(place.path());
    for removal in removals(&copy, run).await {
        assert!(matches!(removal, Err(StoreError::CopiedDatabase { .. })), "{removal:?}");
    }
    assert_eq!(files(place.path()), before);
    let owner = copy.adopt_artifacts().await.expect("adopted").expect("an owner");
    assert_eq!(owner.database, id);
    assert_eq!(copy.claim_artifacts().await.expect("its own"), ArtifactClaim::Own);
    let refused = production.probe_artifacts("production").await;
    assert!(matches!(refused, Err(StoreError::CopiedDatabase { .. })), "{refused:?}");
    for removal in removals(&production, run).await {
        assert!(matches!(removal, Err(StoreError::CopiedDatabase { .. })), "{removal:?}");
    }
    assert_eq!(files(place.path()), before);
}

async fn a_place_without_a_mark_is_adopted_when_all_is_known(world: World) {
    let run = ended(&world, &world.store).await;
    // As an older version left it.
    world.store.artifacts().delete("touchstone.json").await.expect("removed");
    assert_eq!(world.other().await.claim_artifacts().await.expect("claimed"), ArtifactClaim::Own);
    assert!(world.store.artifact_owner().await.expect("read").is_some());
    world.store.collect(&[run.experiment]).await.expect("collected");
    assert_eq!(world.files(), Vec::<String>::new());
}

async fn nothing_is_removed_from_a_place_without_a_mark_that_holds_unknown_things(world: World) {
    let unknown_experiment = format!("{}/1/x/1/evidence.json", Uuid::from_u128(7));
    let unknown_agent = bundle_key(&format!("sha256:{}", "b".repeat(64)));
    for unknown in [unknown_experiment, unknown_agent] {
        let place = place();
        let store = at(&world, &place);
        store.artifacts().put(&unknown, "somebody's").await.expect("kept");
        assert_eq!(store.probe_artifacts("here").await.expect("usable"), ArtifactClaim::Unmarked { unknown: 1 });
        let run = ended(&world, &store).await;
        let (job, attempt) = store.scenarios(run).await.expect("scenarios")[0].source.expect("a source");
        assert_eq!(store.evidence(job, attempt).await.expect("readable"), Some(evidence(LARGE)));
        let before = files(place.path());
        for removal in removals(&store, run).await {
            assert!(matches!(removal, Err(StoreError::UnmarkedPlace { unknown: 1, .. })), "{removal:?}");
        }
        assert_eq!(files(place.path()), before);
        assert_eq!(store.adopt_artifacts().await.expect("adopted"), None);
        for removal in removals(&store, run).await {
            removal.expect("removed");
        }
        assert_eq!(files(place.path()), Vec::<String>::new());
    }
}

async fn a_place_that_cannot_be_written_fails_its_probe(world: World) {
    let place = place();
    let store = at(&world, &place);
    store.probe_artifacts("here").await.expect("writable");
    fs::write(place.path().join("probes"), "in the way").expect("written");
    let failed = store.probe_artifacts("here").await.expect_err("not writable");
    assert!(matches!(failed, StoreError::Artifact { operation: "write", .. }), "{failed:?}");
    fs::remove_file(place.path().join("probes")).expect("removed");
    store.probe_artifacts("here").await.expect("writable again");
    fs::write(place.path().join("touchstone.json"), "{").expect("damaged");
    let failed = store.probe_artifacts("here").await.expect_err("nobody knows whose it is");
    assert!(matches!(failed, StoreError::UnreadableMark { .. }), "{failed:?}");
    assert_eq!(store.adopt_artifacts().await.expect("adopted"), None);
    store.probe_artifacts("here").await.expect("its own");
}

async fn of_two_databases_that_begin_at_once_one_owns_the_place(world: World) {
    let (place, other) = (place(), World::sqlite().await);
    let (one, two) = (at(&world, &place), at(&other, &place));
    let (first, second) = tokio::join!(one.claim_artifacts(), two.claim_artifacts());
    let owners = [&first, &second].into_iter().filter(|claim| claim.is_ok()).count();
    assert_eq!(owners, 1, "{first:?} {second:?}");
}

/// A data directory that is moved or copied as a whole has its place beside it.
#[tokio::test]
async fn a_data_directory_can_be_moved() {
    let world = World::sqlite().await;
    ended(&world, &world.store).await;
    world.store.close().await;
    let moved = place();
    let target = moved.path().join("moved");
    fs::rename(world.folder(), &target).expect("moved");
    let store = Store::open(&target).await.expect("a store");
    assert_eq!(store.claim_artifacts().await.expect("its own"), ArtifactClaim::Own);
    fs::rename(&target, world.folder()).expect("moved back");
}

#[tokio::test]
async fn a_bucket_belongs_to_one_database() {
    let (one, two, s3) = (World::sqlite().await, World::sqlite().await, FakeS3::start().await);
    let open = |world: &World, url| {
        world.store.clone().with_artifacts(Artifacts::open(url, s3.variables()).expect("artifacts"))
    };
    let own = open(&one, "s3://bucket/shared");
    let run = ended(&one, &own).await;
    let before = s3.objects.names();
    let other = open(&two, "s3://bucket/shared");
    for removal in removals(&other, run).await {
        assert!(
            matches!(&removal, Err(StoreError::ForeignPlace { place, .. }) if place == "s3://bucket/shared"),
            "{removal:?}"
        );
    }
    assert_eq!(s3.objects.names(), before);
    // Another beginning of names is another place.
    assert_eq!(open(&two, "s3://bucket/other").probe_artifacts("x").await.expect("its own"), ArtifactClaim::Own);
    own.collect(&[run.experiment]).await.expect("collected");
    assert_eq!(s3.objects.names(), ["other/touchstone.json", "shared/touchstone.json"]);
}
