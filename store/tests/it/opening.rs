//! Opening a store.

use std::fs;

use store::testing::TestDatabase;
use store::{Store, StoreError};
use tokio::task::JoinSet;

use crate::harness::{World, at};

databases![
    what_was_kept_is_there_after_closing,
    a_database_of_a_newer_version_is_refused,
    readers_go_on_when_other_processes_come_and_go,
];

async fn what_was_kept_is_there_after_closing(world: World) {
    let run = world.submitted(1).await;
    world.store.close().await;
    assert!(!world.folder().join("touchstone.db-wal").exists(), "all is in one file");
    let other = world.other().await;
    assert_eq!(other.run(run).await.expect("the run").id, run);
    other
        .submit_again(run.experiment, &other.run(run).await.expect("the run").digest, &world.run(1), at(1))
        .await
        .expect("again");
}

async fn a_database_of_a_newer_version_is_refused(world: World) {
    world.store.close().await;
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 SELECT 9999, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
    world.execute(newer).await;
    let error = world.open().await.expect_err("it cannot be used");
    assert!(matches!(error, StoreError::Unusable { .. } | StoreError::Server { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("touchstone") && message.contains("9999") && message.contains("newer"), "{message}");
}

async fn readers_go_on_when_other_processes_come_and_go(world: World) {
    let run = world.submitted(1).await;
    for _ in 0..5 {
        let other = world.other().await;
        other.run(run).await.expect("the run");
        other.close().await;
        world.store.run(run).await.expect("the run");
        world.store.scenarios(run).await.expect("scenarios");
    }
    assert!(world.claim(0).await.is_some());
}

#[tokio::test]
async fn a_folder_is_made() {
    let world = World::sqlite().await;
    let folder = world.folder().join("deep/in it");
    Store::open(&folder).await.expect("a store");
    assert!(folder.join("touchstone.db").exists());
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("touchstone.db");
    fs::write(&path, "this is not a database, but a text that is long enough ".repeat(40)).expect("written");
    let before = fs::read(&path).expect("the file");
    let error = Store::open(folder.path()).await.expect_err("it cannot be used");
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains(&path.display().to_string()) && message.contains("not a database"), "{message}");
    assert_eq!(fs::read(&path).expect("the file"), before);
}

async fn all_open(url: &str, folder: &std::path::Path) {
    let mut opening = JoinSet::new();
    for _ in 0..6 {
        let (url, folder) = (url.to_owned(), folder.to_owned());
        opening.spawn(async move { Store::connect(&url, &folder).await });
    }
    for opened in opening.join_all().await {
        let store = opened.expect("a store");
        assert_eq!(store.experiments(1, None).await.expect("experiments"), []);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_can_open_a_new_store_at_once() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().expect("a folder");
        all_open(&folder.path().join("new.db").display().to_string(), folder.path()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_can_open_a_new_store_in_postgres_at_once() {
    for _ in 0..3 {
        let Some(database) = TestDatabase::empty().await else { return };
        let folder = tempfile::tempdir().expect("a folder");
        all_open(&database.url(), folder.path()).await;
    }
}

async fn refused(url: &str) -> StoreError {
    let folder = tempfile::tempdir().expect("a folder");
    Store::connect(url, folder.path()).await.expect_err("it cannot be used")
}

/// Says where the database is, and never the password.
fn tells_of_a_server(error: &StoreError, host: &str, database: &str) {
    let message = error.to_string();
    assert!(matches!(error, StoreError::Server { .. }), "{error:?}");
    assert!(message.contains(host) && message.contains(&format!("`{database}`")), "{message}");
    assert!(!message.contains("hush") && !format!("{error:?}").contains("hush"), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_password() {
    // Nobody listens on this port, and nobody else can have it meanwhile.
    let held = tokio::net::TcpSocket::new_v4().expect("a socket");
    held.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let port = held.local_addr().expect("an address").port();
    let error = refused(&format!("postgres://anna:hush@127.0.0.1:{port}/books")).await;
    tells_of_a_server(&error, &format!("127.0.0.1:{port}"), "books");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_wrong_password_and_a_missing_database_are_told_at_once() {
    let Some(world) = World::postgres().await else { return };
    let role = format!("tester_{}", std::process::id());
    let make = format!("DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN PASSWORD 'right'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(make)).execute(&mut world.server().await).await.expect("a role");
    let url = world.url();
    let (_, rest) = url.split_once('@').expect("a user");
    let (host, database) = rest.split_once('/').expect("a database");
    let wrong = refused(&format!("postgres://{role}:hush@{host}/{database}")).await;
    let missing = refused(&format!("postgres://postgres:hush@{host}/no_such_database")).await;
    let drop = format!("DROP ROLE {role}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(drop)).execute(&mut world.server().await).await.expect("dropped");
    tells_of_a_server(&wrong, host, database.split('?').next().expect("a name"));
    assert!(wrong.to_string().contains("password authentication failed"), "{wrong}");
    tells_of_a_server(&missing, host, "no_such_database");
    assert!(missing.to_string().contains("does not exist"), "{missing}");
}

#[tokio::test]
async fn a_url_says_which_database_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, scheme) in ["sqlite:", "sqlite://", ""].into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.db"));
        let url = format!("{scheme}{}", path.display());
        let store = Store::connect(&url, folder.path()).await.expect("a store");
        assert_eq!(store.experiments(1, None).await.expect("experiments"), []);
        assert!(path.exists(), "{url}");
    }
    for url in ["mysql://anna:hush@host/books", "postgres://anna:hush@host:many/books", "postgres://anna:hush@[/x"] {
        let error = refused(url).await;
        assert!(matches!(error, StoreError::DatabaseUrl(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
        assert!(error.to_string().contains("postgres://USER"), "{error}");
    }
}

#[tokio::test]
async fn a_file_belongs_to_one_machine() {
    let world = World::sqlite().await;
    world.store.require_same_machine("first").await.expect("the first one");
    world.other().await.require_same_machine("first").await.expect("another process of it");
    let error = world.store.require_same_machine("second").await.expect_err("another machine");
    let file = world.folder().join("touchstone.db");
    for part in
        [file.to_str().expect("a path"), "`first`", "`second`", "--database-url postgres://", "gc --adopt-database"]
    {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    assert_eq!(world.store.move_to_machine("second").await.expect("moved").as_deref(), Some("first"));
    world.store.require_same_machine("second").await.expect("its own now");
    world.store.require_same_machine("first").await.expect_err("not its own any more");
}

#[tokio::test]
async fn a_server_is_for_all_machines() {
    let Some(world) = World::postgres().await else { return };
    for machine in ["first", "second"] {
        world.store.require_same_machine(machine).await.expect("any machine");
    }
    world.store.move_to_machine("second").await.expect_err("nothing to adopt");
}
