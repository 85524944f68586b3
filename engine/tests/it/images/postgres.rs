//! The contract of the official Postgres image, and a loopback that is not trusted.

use super::world::{Ran, Server, World, gzip};

const IMAGE: &str = "touchstone/postgres:15";
const DATA: &str = "/var/lib/postgresql/data";

fn sql(user: &'static str, database: &'static str, statement: &'static str) -> Vec<&'static str> {
    vec!["psql", "-h", "127.0.0.1", "-U", user, "-d", database, "-w", "-tAc", statement]
}

async fn refused(world: &World, environment: &[&str], command: &[&str], reason: &str) {
    let Ran { code, output } = world.agent_runs(environment, command).await;
    assert!(code != 0 && output.contains(reason), "{command:?}: {output}");
}

#[tokio::test]
async fn postgres_makes_the_user_with_its_password_and_the_database() {
    let mut world = World::new(IMAGE).await;
    let environment = vec![r#"POSTGRES_PASSWORD=it's "a\ $ecret"#, "POSTGRES_USER=the app", "POSTGRES_DB=my-shop"];
    let server = world.serve(Server { environment, in_memory: Some(DATA), ..Server::default() }).await;
    let right = [r#"PGPASSWORD=it's "a\ $ecret"#];
    let who = sql("the app", "my-shop", "SELECT current_user, current_database()");
    assert_eq!(world.until(&right, &who).await, "the app|my-shop");

    let roles = sql("the app", "postgres", "SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolsuper");
    assert_eq!(world.agent_runs(&right, &roles).await.output.trim(), "the app");
    let open = "SELECT count(*) FROM pg_hba_file_rules WHERE type <> 'local' AND auth_method <> 'scram-sha-256'";
    assert_eq!(world.agent_runs(&right, &sql("the app", "my-shop", open)).await.output.trim(), "0");

    refused(&world, &["PGPASSWORD=wrong"], &who, "password authentication failed").await;
    refused(&world, &[], &who, "no password supplied").await;
    refused(&world, &["PGPASSWORD=x"], &sql("postgres", "postgres", "SELECT 1"), "authentication failed").await;
    for process in world.processes(&server).await {
        let (user, command) = process.split_once(' ').expect("two columns");
        assert!(user != "0" && command.starts_with("postgres"), "{process}");
    }
}

#[tokio::test]
async fn postgres_does_not_start_without_a_password() {
    let mut world = World::new(IMAGE).await;
    let server = world.serve(Server::default()).await;
    let Ran { code, output } = world.ended(&server).await;
    assert!(code == 1 && output.contains("You must specify POSTGRES_PASSWORD"), "{output}");
    let trusting = vec!["POSTGRES_HOST_AUTH_METHOD=trust"];
    world.serve(Server { environment: trusting, in_memory: Some(DATA), ..Server::default() }).await;
    assert_eq!(world.until(&[], &sql("postgres", "postgres", "SELECT 1")).await, "1");
}

#[tokio::test]
async fn postgres_runs_the_files_of_the_user_before_anybody_can_connect() {
    let mut world = World::new(IMAGE).await;
    let script = "if (: < /dev/tcp/127.0.0.1/5432) 2> /dev/null; then open=true; else open=false; fi
        psql -v ON_ERROR_STOP=1 -U \"$POSTGRES_USER\" -d \"$POSTGRES_DB\" -c \"INSERT INTO steps VALUES ('run', $open)\"\n";
    let sourced = "docker_process_sql -c \"INSERT INTO steps VALUES ('sourced', false)\"\n";
    let files = vec![
        ("run/password", 0o644, b"from a file\n".to_vec()),
        ("docker-entrypoint-initdb.d/1.sql", 0o644, b"CREATE TABLE steps (name text, open boolean);".to_vec()),
        ("docker-entrypoint-initdb.d/2.sh", 0o755, format!("#!/bin/bash\n{script}").into_bytes()),
        ("docker-entrypoint-initdb.d/3.sh", 0o644, sourced.as_bytes().to_vec()),
        ("docker-entrypoint-initdb.d/4.sql.gz", 0o644, gzip("INSERT INTO steps VALUES ('packed', false);")),
    ];
    let environment = vec!["POSTGRES_PASSWORD_FILE=/run/password", "POSTGRES_USER=app", "POSTGRES_DB=shop"];
    world.serve(Server { environment, files, in_memory: Some(DATA), ..Server::default() }).await;
    let steps = sql("app", "shop", "SELECT string_agg(name || ' ' || open, ', ') FROM steps");
    let steps = world.until(&["PGPASSWORD=from a file"], &steps).await;
    assert_eq!(steps, "run false, sourced false, packed false");
}

#[tokio::test]
async fn postgres_makes_its_data_anew_when_arguments_for_that_are_given() {
    let mut world = World::new(IMAGE).await;
    let environment = vec![
        "POSTGRES_PASSWORD=secret",
        "POSTGRES_DB=shop",
        "POSTGRES_INITDB_ARGS=--data-checksums --auth-host=trust",
        "PGDATA=/var/lib/postgresql/data/deep/folder",
    ];
    world.serve(Server { environment, in_memory: Some(DATA), ..Server::default() }).await;
    let checksums = sql("postgres", "shop", "SHOW data_checksums");
    assert_eq!(world.until(&["PGPASSWORD=secret"], &checksums).await, "on");
    refused(&world, &["PGPASSWORD=wrong"], &checksums, "password authentication failed").await;
}

#[tokio::test]
async fn postgres_keeps_its_data_and_takes_arguments() {
    let mut world = World::new(IMAGE).await;
    let environment = vec!["POSTGRES_PASSWORD=secret"];
    let server = Server { environment, arguments: vec!["-c", "work_mem=7MB"], ..Server::default() };
    let server = world.serve(server).await;
    let right = ["PGPASSWORD=secret"];
    let create = sql("postgres", "postgres", "CREATE TABLE kept AS SELECT current_setting('work_mem') AS work_mem");
    world.until(&right, &create).await;
    world.restart(&server).await;
    assert_eq!(world.until(&right, &sql("postgres", "postgres", "SELECT work_mem FROM kept")).await, "7MB");
}
