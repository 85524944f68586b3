//! Damage to rows, which is the same on every database.

use engine::database::Client;
use engine::fixtures::{drift, sql};
use scenario::evidence::SqlAnswer;
use scenario::plan::Seed;
use scenario::spec::sections::{Drift, DriftMode};
use scenario::spec::types::{ServiceName, TableName, Whole};

use crate::servers::{MARIADB, MYSQL, POSTGRES, Server};

/// The tables that are damaged. Names differ in case and order, so that collations would show.
const TABLES: &str = "\
DROP TABLE IF EXISTS customers; DROP TABLE IF EXISTS codes; DROP TABLE IF EXISTS twins;
CREATE TABLE customers (id int PRIMARY KEY, email varchar(40), age int, fixed char(20), short varchar(4));
CREATE TABLE codes (code varchar(20) PRIMARY KEY, label varchar(20));
CREATE TABLE twins (id int, label varchar(20));
INSERT INTO codes VALUES ('b', 'one'), ('A', 'two'), ('_', 'three'), ('a1', 'FOUR'), ('Z', 'five'), ('10', NULL), ('9', 'six');
INSERT INTO twins VALUES (1, 'x'), (1, 'y');
";

fn name(text: &str) -> TableName {
    TableName::new(text).expect("an answer")
}

fn drift(table: &str, key: &str, column: Option<&str>, mode: DriftMode, rows: i64) -> Drift {
    Drift {
        service: ServiceName::new("db").expect("an answer"),
        table: name(table),
        key: name(key),
        column: column.map(name),
        mode,
        rows: Whole::new(rows),
    }
}

async fn seed_tables(client: &mut Client) {
    let rows: Vec<String> = (1..=40)
        .map(|id| {
            format!(
                "({id}, {}, {}, 'f', 'full')",
                if id % 10 == 0 { "NULL".to_owned() } else { format!("'user{id}@ex.test'") },
                id % 3
            )
        })
        .collect();
    let script = format!("{TABLES} INSERT INTO customers VALUES {};", rows.join(", "));
    sql::run(client, "fixtures[0].sql", &script).await.unwrap_or_else(|error| panic!("{error}"));
}

async fn damage(client: &mut Client, one: &Drift) -> Vec<String> {
    drift::apply(client, one, 3, Seed::new(7)).await.unwrap_or_else(|error| panic!("{one:?}: {error}"))
}

async fn ask(client: &mut Client, sql: &str) -> String {
    match client.query_first(sql).await.expect("an answer") {
        SqlAnswer::Value(value) => value.text(),
        other => panic!("{sql}: {other:?}"),
    }
}

/// Runs every mode on fresh tables, and tells what changed.
async fn story(client: &mut Client) -> Vec<(String, Vec<String>, String)> {
    use DriftMode::{Case, Delete, Duplicate, Offset, SetNull, Swap, Whitespace};
    let cases = [
        (drift("customers", "id", Some("email"), SetNull, 3), "SELECT count(*) FROM customers WHERE email IS NULL"),
        (
            drift("customers", "id", Some("email"), Whitespace, 2),
            "SELECT count(*) FROM customers WHERE email LIKE '% '",
        ),
        (drift("customers", "id", Some("email"), Case, 2), "SELECT email FROM customers WHERE id = 14"),
        (drift("customers", "id", Some("age"), Offset, 5), "SELECT sum(age) FROM customers"),
        (drift("customers", "id", Some("age"), Swap, 3), "SELECT sum(age * id) FROM customers"),
        (drift("customers", "ID", None, Duplicate, 2), "SELECT count(*) * 1000 + max(id) FROM customers"),
        (drift("customers", "id", None, Delete, 4), "SELECT sum(id) FROM customers"),
        (drift("codes", "code", Some("label"), Case, 3), "SELECT count(*) FROM codes"),
        (drift("codes", "code", None, Delete, 6), "SELECT code FROM codes"),
    ];
    let mut story = Vec::new();
    for (one, question) in cases {
        seed_tables(client).await;
        let keys = damage(client, &one).await;
        seed_tables(client).await;
        assert_eq!(damage(client, &one).await, keys, "the same seed damages the same rows");
        story.push((format!("{} {}", one.table, one.mode), keys, ask(client, question).await));
    }
    story
}

async fn check_refusals(client: &mut Client) {
    use DriftMode::{Case, Delete, Duplicate, Offset, SetNull, Swap, Whitespace};
    let cases = [
        (drift("nobody", "id", None, Delete, 1), "there is no table `nobody`"),
        (drift("codes", "id", None, Delete, 1), "table `codes` has no column `id`; it has code, label"),
        (drift("codes", "code", Some("lable"), SetNull, 1), "table `codes` has no column `lable`; it has code, label"),
        (
            drift("customers", "id", None, Delete, 41),
            "table `customers` has 40 rows that `delete` would change, but 41 are to be damaged",
        ),
        (
            drift("customers", "id", Some("email"), SetNull, 37),
            "table `customers` has 36 rows that `set_null` would change, but 37 are to be damaged",
        ),
        (
            drift("codes", "code", Some("label"), Case, 6),
            "table `codes` has 5 rows that `case` would change, but 6 are to be damaged",
        ),
        (
            drift("customers", "id", Some("fixed"), Swap, 2),
            "table `customers` has 0 rows that `swap` would change, but 2 are to be damaged",
        ),
        (
            drift("codes", "code", None, Duplicate, 1),
            "`duplicate` needs a key of whole numbers below the type's largest, and code is none",
        ),
        (drift("codes", "code", Some("label"), Offset, 1), "`offset` needs a column of numbers, and label is none"),
        (drift("customers", "id", Some("age"), Case, 1), "`case` needs a column of text, and age is none"),
        (
            drift("customers", "id", Some("short"), Whitespace, 1),
            "`whitespace` left short as it was in the row with the key `",
        ),
        (
            drift("customers", "id", Some("fixed"), Whitespace, 1),
            "`whitespace` left fixed as it was in the row with the key `",
        ),
        (
            drift("twins", "id", Some("label"), SetNull, 1),
            "several rows of table `twins` have the id `1`; take a unique column as `key`",
        ),
    ];
    seed_tables(client).await;
    for (one, expected) in cases {
        let error = drift::apply(client, &one, 0, Seed::new(7)).await.expect_err("a refusal").to_string();
        assert!(error.starts_with(expected), "expected {expected}\nfound    {error}");
    }
    let error = drift::apply(client, &drift("customers", "id", Some("id"), SetNull, 1), 0, Seed::new(7))
        .await
        .expect_err("a refusal");
    assert!(error.to_string().contains("refused"), "{error}");
    assert_eq!(ask(client, "SELECT count(*) FROM customers").await, "40", "nothing was changed");
}

#[tokio::test]
async fn the_same_seed_damages_the_same_rows_on_every_database() {
    let (postgres, mariadb, mysql) =
        tokio::join!(Server::start(POSTGRES), Server::start(MARIADB), Server::start(MYSQL));
    let mut stories = Vec::new();
    for server in [&postgres, &mariadb, &mysql] {
        let mut client = server.client().await;
        stories.push(story(&mut client).await);
        check_refusals(&mut client).await;
    }
    assert_eq!(stories[0], stories[1]);
    assert_eq!(stories[0], stories[2]);
    insta::assert_debug_snapshot!(stories[0]);
    check_postgres_names(&mut postgres.client().await).await;
    check_binary_keys(&mut mysql.client().await).await;
}

/// Names in mixed case, schemas, computed columns, sequences and keys of other types.
async fn check_postgres_names(client: &mut Client) {
    let script = "\
        CREATE SCHEMA shop; CREATE TABLE shop.Orders (Id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int, \
        twice int GENERATED ALWAYS AS (n * 2) STORED); INSERT INTO shop.Orders (n) VALUES (1), (2); \
        CREATE TABLE \"Mixed\" (\"Key\" uuid PRIMARY KEY, \"Value\" text); \
        INSERT INTO \"Mixed\" SELECT gen_random_uuid(), 'it''s \\ ' || n FROM generate_series(1, 50) AS n;";
    sql::run(client, "fixtures[0].sql", script).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(damage(client, &drift("shop.Orders", "Id", None, DriftMode::Duplicate, 2)).await, ["1", "2"]);
    sql::run(client, "x", "INSERT INTO shop.orders (n) VALUES (3)").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        ask(client, "SELECT string_agg(id || ':' || twice, ' ' ORDER BY id) FROM shop.orders").await,
        "1:2 2:4 3:2 4:4 5:6"
    );
    assert_eq!(damage(client, &drift("Mixed", "Key", Some("Value"), DriftMode::Case, 50)).await.len(), 50);
    assert_eq!(ask(client, "SELECT count(*) FROM \"Mixed\" WHERE \"Value\" LIKE 'IT''S \\\\ %'").await, "50");
}

async fn check_binary_keys(client: &mut Client) {
    let script = "CREATE TABLE bins (id binary(2) PRIMARY KEY, label varchar(9)); \
        INSERT INTO bins VALUES (0xff01, 'a'), (0xff02, 'b'), (0x4142, 'c\\\\')";
    sql::run(client, "fixtures[0].sql", script).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        damage(client, &drift("bins", "id", Some("label"), DriftMode::Case, 3)).await,
        ["0xff01", "0xff02", "AB"]
    );
    assert_eq!(
        ask(client, "SELECT count(*) FROM bins WHERE label IN (_binary 'A', _binary 'B', _binary 'C\\\\')").await,
        "3"
    );
}
