//! The contract of the official MySQL and MariaDB images, and no way in without a password.

use super::world::{Ran, Server, World, gzip};

const DATA: &str = "/var/lib/mysql";

/// A kind of server.
#[derive(Clone, Copy)]
struct Kind {
    image: &'static str,
    client: &'static str,
    server: &'static str,
}

const MYSQL: Kind = Kind { image: "touchstone/mysql:9", client: "mysql", server: "mysqld" };
const MARIADB: Kind = Kind { image: "touchstone/mariadb:10.11", client: "mariadb", server: "mariadbd" };

impl Kind {
    fn sql(self, user: &'static str, statement: &'static str) -> Vec<&'static str> {
        vec![self.client, "-h127.0.0.1", "-u", user, "-N", "-B", "-e", statement]
    }
}

async fn refused(world: &World, environment: &[&str], command: &[&str]) {
    let Ran { code, output } = world.agent_runs(environment, command).await;
    assert!(code != 0 && output.contains("denied"), "{command:?}: {output}");
}

async fn makes_users_and_the_database(kind: Kind) {
    let mut world = World::new(kind.image).await;
    let environment = vec![
        r#"MYSQL_ROOT_PASSWORD=it's "a\ $ecret"#,
        "MYSQL_USER=app",
        "MYSQL_PASSWORD=other",
        "MYSQL_DATABASE=my_shop",
    ];
    let server = world.serve(Server { environment, in_memory: Some(DATA), ..Server::default() }).await;
    let who = kind.sql("app", "USE my_shop; CREATE TABLE t (a int); SELECT current_user()");
    assert_eq!(world.until(&["MYSQL_PWD=other"], &who).await, "app@%");
    let root = [r#"MYSQL_PWD=it's "a\ $ecret"#];
    let ask = |statement| kind.sql("root", statement);
    assert_eq!(world.agent_runs(&root, &ask("SELECT current_user()")).await.output.trim(), "root@%");
    let users = "SELECT group_concat(user, '@', host ORDER BY user, host) FROM mysql.user WHERE user NOT REGEXP '^(mysql|mariadb)[.]'";
    assert_eq!(world.agent_runs(&root, &ask(users)).await.output.trim(), "app@%,root@%,root@localhost");

    refused(&world, &["MYSQL_PWD=wrong"], &who).await;
    for user in ["root", "app", "", "mysql.sys", "mariadb.sys"] {
        refused(&world, &[], &kind.sql(user, "SELECT 1")).await;
    }
    refused(&world, &["MYSQL_PWD=other"], &kind.sql("app", "SELECT * FROM mysql.user")).await;
    let inside = world.run(&server, &[], &[kind.client, "-uroot", "-e", "SELECT 1"]).await;
    assert!(inside.output.contains("Access denied"), "{inside:?}");
    let processes = world.processes(&server).await;
    assert!(processes.len() == 1 && processes[0].starts_with(&format!("999 {}", kind.server)), "{processes:?}");
}

async fn does_not_start_without_a_password(kind: Kind) {
    let mut world = World::new(kind.image).await;
    let server = world.serve(Server::default()).await;
    let Ran { code, output } = world.ended(&server).await;
    assert!(code == 1 && output.contains("MYSQL_RANDOM_ROOT_PASSWORD"), "{output}");
    let open = vec!["MYSQL_ALLOW_EMPTY_PASSWORD=yes"];
    world.serve(Server { environment: open, in_memory: Some(DATA), ..Server::default() }).await;
    assert_eq!(world.until(&[], &kind.sql("root", "SELECT 1")).await, "1");
}

async fn runs_the_files_of_the_user_before_anybody_can_connect(kind: Kind) {
    let mut world = World::new(kind.image).await;
    let script = "if (: < /dev/tcp/127.0.0.1/3306) 2> /dev/null; then open=true; else open=false; fi
        docker_process_sql -e \"INSERT INTO steps VALUES ('sourced', '$open')\"\n";
    let table = "CREATE TABLE steps (name text, open text);";
    let files = vec![
        ("run/password", 0o644, b"from a file".to_vec()),
        ("docker-entrypoint-initdb.d/1.sql", 0o644, table.as_bytes().to_vec()),
        ("docker-entrypoint-initdb.d/2.sh", 0o644, script.as_bytes().to_vec()),
        ("docker-entrypoint-initdb.d/3.sql.gz", 0o644, gzip("INSERT INTO steps VALUES ('packed', 'false');")),
    ];
    let environment = vec![
        "MYSQL_ROOT_PASSWORD=secret",
        "MYSQL_USER=app",
        "MYSQL_PASSWORD_FILE=/run/password",
        "MYSQL_DATABASE=shop",
    ];
    let server = world.serve(Server { environment, files, ..Server::default() }).await;
    let steps = kind.sql("app", "SELECT group_concat(name, ' ', open ORDER BY name DESC) FROM shop.steps");
    let right = ["MYSQL_PWD=from a file"];
    assert_eq!(world.until(&right, &steps).await, "sourced false,packed false");
    world.restart(&server).await;
    assert_eq!(world.until(&right, &steps).await, "sourced false,packed false");
}

async fn invents_a_password(kind: Kind) {
    let mut world = World::new(kind.image).await;
    let environment = vec!["MYSQL_RANDOM_ROOT_PASSWORD=1", "MYSQL_USER=app", "MYSQL_PASSWORD=other"];
    let arguments = vec!["--max-connections=17"];
    let server = Server { environment, arguments, in_memory: Some(DATA), ..Server::default() };
    let server = world.serve(server).await;
    let ready = world.until(&["MYSQL_PWD=other"], &kind.sql("app", "SELECT @@max_connections")).await;
    assert_eq!(ready, "17");
    refused(&world, &[], &kind.sql("root", "SELECT 1")).await;
    let logs = world.logs(&server).await;
    let password = logs.lines().find_map(|line| line.split_once("GENERATED ROOT PASSWORD: ")).expect("a password").1;
    let right = format!("MYSQL_PWD={}", password.trim());
    assert_eq!(world.agent_runs(&[&right], &kind.sql("root", "SELECT 1")).await.output.trim(), "1");
}

#[tokio::test]
async fn mysql_makes_users_and_the_database() {
    makes_users_and_the_database(MYSQL).await;
}

#[tokio::test]
async fn mariadb_makes_users_and_the_database() {
    makes_users_and_the_database(MARIADB).await;
}

#[tokio::test]
async fn mysql_does_not_start_without_a_password() {
    does_not_start_without_a_password(MYSQL).await;
}

#[tokio::test]
async fn mariadb_does_not_start_without_a_password() {
    does_not_start_without_a_password(MARIADB).await;
}

#[tokio::test]
async fn mysql_runs_the_files_of_the_user_before_anybody_can_connect() {
    runs_the_files_of_the_user_before_anybody_can_connect(MYSQL).await;
}

#[tokio::test]
async fn mariadb_runs_the_files_of_the_user_before_anybody_can_connect() {
    runs_the_files_of_the_user_before_anybody_can_connect(MARIADB).await;
}

#[tokio::test]
async fn mysql_invents_a_password() {
    invents_a_password(MYSQL).await;
}

#[tokio::test]
async fn mariadb_invents_a_password() {
    invents_a_password(MARIADB).await;
}

#[tokio::test]
async fn mariadb_prefers_its_own_names_and_mysql_does_not_know_them() {
    let environment = vec!["MARIADB_ROOT_PASSWORD=right", "MYSQL_ROOT_PASSWORD=left"];
    for (kind, password) in [(MARIADB, "MYSQL_PWD=right"), (MYSQL, "MYSQL_PWD=left")] {
        let mut world = World::new(kind.image).await;
        world.serve(Server { environment: environment.clone(), in_memory: Some(DATA), ..Server::default() }).await;
        assert_eq!(world.until(&[password], &kind.sql("root", "SELECT 1")).await, "1");
    }
}
