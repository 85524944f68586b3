//! Conversations with Postgres, byte by byte.

use proptest::prelude::*;

use super::super::Unfollowable;
use super::super::testing::{Outcome, Turn, play};
use super::Postgres;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[tag], length.to_be_bytes().as_slice(), body].concat()
}

fn text(tag: u8, text: &str) -> Vec<u8> {
    message(tag, format!("{text}\0").as_bytes())
}

fn first(code: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 8).expect("a short message");
    [length.to_be_bytes().as_slice(), code.to_be_bytes().as_slice(), body].concat()
}

/// The client's words: `Q text`, `P name=text`, `B portal=statement`, `E portal`, `S`, and others by their letter.
fn client(words: &str) -> Vec<u8> {
    let (tag, rest) = words.split_at(1);
    let rest = rest.trim_start();
    let (left, right) = rest.split_once('=').unwrap_or((rest, ""));
    match tag {
        "P" => message(b'P', format!("{left}\0{right}\0\0\0").as_bytes()),
        "B" => message(b'B', format!("{left}\0{right}\0\0\0\0\0\0\0").as_bytes()),
        "E" => message(b'E', format!("{rest}\0\0\0\0\0").as_bytes()),
        "D" | "C" => message(tag.as_bytes()[0], format!("{rest}\0").as_bytes()),
        "Q" => text(b'Q', rest),
        other => message(other.as_bytes()[0], rest.as_bytes()),
    }
}

/// The server's words: `C tag`, `Z I`, and others by their letter.
fn server(words: &str) -> Vec<u8> {
    let (tag, rest) = words.split_at(1);
    let rest = rest.trim_start();
    match tag {
        "Z" => message(b'Z', rest.as_bytes()),
        "S" => message(b'S', rest.replace('=', "\0").as_bytes()),
        _ => text(tag.as_bytes()[0], rest),
    }
}

/// Lines that begin with `>` are the client's, those with `<` the server's; `|` stands between messages.
fn turns(script: &str) -> Vec<Turn> {
    let mut turns = vec![
        Turn::Client(first(196_608, b"user\0app\0database\0shop\0\0")),
        Turn::Server([message(b'R', &[0, 0, 0, 0]), message(b'K', &[0; 8]), server("Z I")].concat()),
    ];
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (who, words) = line.split_at(1);
        let parts = words.split('|').map(str::trim);
        turns.push(match who {
            ">" => Turn::Client(parts.flat_map(client).collect()),
            _ => Turn::Server(parts.flat_map(server).collect()),
        });
    }
    turns
}

fn outcome(turns: &[Turn], piece: usize) -> Result<Outcome, Unfollowable> {
    play(|ledger| Postgres::new(Some("shop".to_owned()), ledger), turns, piece)
}

/// Checks the writes of a script, however the bytes are cut.
#[track_caller]
fn check(script: &str, expected: &[&str]) {
    let turns = turns(script);
    let whole = outcome(&turns, usize::MAX).expect("a conversation that can be followed");
    assert_eq!(whole.writes, expected, "{script}");
    for piece in 1..=40 {
        assert_eq!(outcome(&turns, piece).as_ref(), Ok(&whole), "in pieces of {piece}");
    }
}

#[track_caller]
fn refused(turns: &[Turn], expected: &str) {
    let problem = outcome(turns, usize::MAX).expect_err("it cannot be followed");
    assert!(problem.0.contains(expected), "{problem:?}");
}

#[test]
fn a_text_of_several_statements_is_told_apart() {
    check(
        "> Q INSERT INTO a VALUES (1), (2); SELECT 1; UPDATE shop.b SET x = 1; DELETE FROM c
         < C INSERT 0 2 | T | D | C SELECT 1 | C UPDATE 3 | C DELETE 0 | Z I",
        &["insert a 2", "update shop.b 3"],
    );
}

#[test]
fn what_is_rolled_back_is_no_write() {
    check(
        "> Q BEGIN
         < C BEGIN | Z T
         > Q INSERT INTO a VALUES (1)
         < C INSERT 0 1 | Z T
         > Q ROLLBACK
         < C ROLLBACK | Z I
         > Q INSERT INTO b VALUES (1); SELECT 1/0
         < C INSERT 0 1 | E | Z I
         > Q BEGIN; INSERT INTO c VALUES (1)
         < C BEGIN | C INSERT 0 1 | Z T
         > Q SELECT 1/0
         < E | Z E
         > Q COMMIT
         < C ROLLBACK | Z I
         > Q BEGIN; INSERT INTO d VALUES (1)
         < C BEGIN | C INSERT 0 1 | Z T",
        &[],
    );
}

#[test]
fn what_is_committed_is_a_write_and_a_savepoint_is_taken_for_nothing() {
    check(
        "> Q BEGIN; INSERT INTO a VALUES (1); SAVEPOINT x; INSERT INTO b VALUES (1); ROLLBACK TO x; COMMIT; INSERT INTO c VALUES (1); SELECT 1/0
         < C BEGIN | C INSERT 0 1 | C SAVEPOINT | C INSERT 0 1 | C ROLLBACK | C COMMIT | C INSERT 0 1 | E | Z I
         > Q BEGIN; DELETE FROM d; PREPARE TRANSACTION 'x'
         < C BEGIN | C DELETE 2 | C PREPARE TRANSACTION | Z I",
        &["insert a 1", "insert b 1", "delete d 2"],
    );
}

#[test]
fn prepared_statements_and_portals_are_followed() {
    check(
        "> P one=INSERT INTO a VALUES ($1) | P =UPDATE b SET x = 1 | D Sone | S
         < 1 | 1 | t | n | Z I
         > B =one | E | B p= | E p | S
         < 2 | C INSERT 0 1 | 2 | C UPDATE 4 | Z I
         > B =one | E | C Sone | S
         < 2 | C INSERT 0 1 | 3 | Z I
         > B =one | E | P =DELETE FROM c | S
         < E | Z I",
        &["insert a 2", "update b 4"],
    );
}

#[test]
fn after_an_error_everything_until_the_next_sync_is_passed_over() {
    check(
        "> P =INSERT INTO a VALUES (1) | B | E
         < 1 | 2 | C INSERT 0 1
         > P =broken
         < E
         > P =INSERT INTO b VALUES (1) | B | E | S
         < Z I
         > P =INSERT INTO c VALUES (1) | B | E | S
         < 1 | 2 | C INSERT 0 1 | Z I",
        &["insert c 1"],
    );
}

#[test]
fn a_portal_that_is_not_run_to_its_end_has_written() {
    check(
        "> P =UPDATE a SET x = 1 RETURNING x | B | E | H
         < 1 | 2 | D | D | s
         > E | S
         < D | C UPDATE 3 | Z I",
        &["update a 3"],
    );
}

#[test]
fn rows_that_the_client_sends_are_followed_in_both_protocols() {
    check(
        "> Q COPY a FROM STDIN; INSERT INTO b VALUES (1)
         < G
         > d 1 | d 2 | c
         < C COPY 2 | C INSERT 0 1 | Z I
         > P =COPY c FROM STDIN | B | E | S
         < 1 | 2 | G
         > d 1 | c | S
         < C COPY 1 | Z I
         > Q COPY d FROM STDIN
         < G
         > d 1 | f no
         < E | Z I
         > Q COPY a TO STDOUT
         < H | d 1 | c | C COPY 1 | Z I",
        &["copy a 2", "insert b 1", "copy c 1"],
    );
}

#[test]
fn names_that_are_prepared_in_sql_are_known() {
    check(
        "> Q PREPARE p AS DELETE FROM a
         < C PREPARE | Z I
         > Q EXECUTE p; EXECUTE q
         < C DELETE 2 | C UPDATE 1 | Z I",
        &["update (unknown) 1", "delete a 2"],
    );
}

#[test]
fn temporary_tables_are_nobodys_business() {
    check(
        "> Q CREATE TEMP TABLE t (a int); INSERT INTO t VALUES (1); INSERT INTO pg_temp.t VALUES (1); INSERT INTO public.t VALUES (1)
         < C CREATE TABLE | C INSERT 0 1 | C INSERT 0 1 | C INSERT 0 1 | Z I
         > Q DROP TABLE t
         < C DROP TABLE | Z I
         > Q INSERT INTO t VALUES (1)
         < C INSERT 0 1 | Z I
         > Q BEGIN; CREATE TEMP TABLE u (a int); ROLLBACK; INSERT INTO u VALUES (1)
         < C BEGIN | C CREATE TABLE | C ROLLBACK | C INSERT 0 1 | Z I",
        &["insert t 2", "insert u 1"],
    );
}

#[test]
fn changes_of_tables_and_inner_statements_count() {
    check(
        "> Q TRUNCATE a, b; DROP TABLE c; ALTER TABLE d ADD x int; SELECT 1 INTO e; CREATE TABLE f (x int)
         < C TRUNCATE TABLE | C DROP TABLE | C ALTER TABLE | C SELECT 7 | C CREATE TABLE | Z I
         > Q WITH x AS (DELETE FROM g RETURNING 1) SELECT 1; EXPLAIN ANALYZE DELETE FROM h
         < T | C SELECT 0 | T | C EXPLAIN | Z I",
        &[
            "truncate a 0",
            "truncate b 0",
            "drop c 0",
            "alter d 0",
            "create e 7",
            "create f 0",
            "delete g 1",
            "delete h 1",
        ],
    );
}

#[test]
fn a_tag_that_does_not_fit_is_about_an_unknown_table() {
    check(
        "> Q SELECT '; DELETE FROM b; --'
         < C DELETE 1 | Z I
         < S standard_conforming_strings=off
         > Q SELECT '\\'; DELETE FROM b; --'
         < C SELECT 1 | Z I",
        &["delete (unknown) 1"],
    );
}

#[test]
fn a_client_that_goes_before_the_answer_has_still_written() {
    check("> Q INSERT INTO a VALUES (1)", &["insert a 1"]);
    check("> P =INSERT INTO a VALUES (1) | B | E\n< 1 | 2 | C INSERT 0 1", &[]);
    check("> Q BEGIN\n< C BEGIN | Z T\n> Q INSERT INTO a VALUES (1)", &[]);
}

#[test]
fn encryption_is_refused_and_a_wish_to_cancel_passed_on() {
    let login = first(196_608, b"user\0app\0\0");
    let turns = [Turn::Client([first(80_877_103, b""), first(80_877_104, b""), login.clone()].concat())];
    let found = outcome(&turns, 3).expect("a conversation that can be followed");
    assert_eq!((found.to_client.as_slice(), found.to_server), (b"NN".as_slice(), login));
    let cancel = first(80_877_102, &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(outcome(&[Turn::Client(cancel.clone())], 1).expect("passed on").to_server, cancel);
}

#[test]
fn another_database_of_the_server_is_named() {
    let mut turns = turns("> Q INSERT INTO a VALUES (1)\n< C INSERT 0 1 | Z I");
    turns[0] = Turn::Client(first(196_610, b"user\0app\0database\0other\0\0"));
    assert_eq!(outcome(&turns, 7).expect("followed").writes, ["insert other.public.a 1"]);
}

#[test]
fn writes_that_their_tag_does_not_tell_are_seen() {
    check(
        "> Q PREPARE p AS UPDATE a SET x = 1
         < C PREPARE | Z I
         > Q EXPLAIN ANALYZE EXECUTE p
         < T | D | C EXPLAIN | Z I
         > Q DEALLOCATE p; EXPLAIN ANALYZE EXECUTE p
         < C DEALLOCATE | T | D | C EXPLAIN | Z I",
        &["changed (unknown) 1", "update a 1"],
    );
    check(
        "> Q BEGIN
         < C BEGIN | Z T
         > P =UPDATE a SET x = 1 RETURNING x | B c= | S
         < 1 | 2 | Z T
         > Q FETCH ALL FROM c; COMMIT
         < T | D | D | C FETCH 2 | C COMMIT | Z I
         > Q EXPLAIN DELETE FROM b; SELECT 1
         < T | C EXPLAIN | C SELECT 1 | Z I",
        &["update a 2"],
    );
    let long = format!("> Q SELECT 1 /*{}*/; DELETE FROM a\n< C SELECT 1 | C SELECT 1 | Z I", "x".repeat(1 << 20));
    assert_eq!(outcome(&turns(&long), usize::MAX).expect("followed").writes, ["changed (unknown) 2"]);
}

#[test]
fn a_temporary_table_does_not_hide_one_that_was_there() {
    let story = turns(
        "> Q CREATE TEMP TABLE users (a int); CREATE TEMP TABLE mine (a int)
         < C CREATE TABLE | C CREATE TABLE | Z I
         > Q UPDATE users SET a = 1; UPDATE mine SET a = 1; INSERT INTO \"Mine\" VALUES (1)
         < C UPDATE 1 | C UPDATE 1 | C INSERT 0 1 | Z I
         > Q CREATE TEMP TABLE short (a int) ON COMMIT DROP; INSERT INTO short VALUES (1)
         < C CREATE TABLE | C INSERT 0 1 | Z I
         > Q INSERT INTO short VALUES (1)
         < C INSERT 0 1 | Z I",
    );
    let new = |ledger: std::sync::Arc<super::super::ledger::Ledger>| {
        ledger.know([&"public.users".to_owned()].into_iter());
        Postgres::new(Some("shop".to_owned()), ledger)
    };
    let outcome = play(new, &story, usize::MAX).expect("followed");
    assert_eq!(outcome.writes, ["insert Mine 1", "insert short 1", "update users 1"]);
}

#[test]
fn a_commit_that_was_not_answered_counts_and_a_rollback_does_not() {
    check("> Q UPDATE a SET x = 1; COMMIT; SELECT pg_sleep(3600)", &["update a 1"]);
    check("> Q BEGIN; UPDATE a SET x = 1; COMMIT; BEGIN; UPDATE b SET x = 1", &["update a 1"]);
    check(
        "> Q BEGIN
         < C BEGIN | Z T
         > Q UPDATE a SET x = 1; ROLLBACK; UPDATE b SET x = 1",
        &["update b 1"],
    );
}

#[test]
fn what_one_connection_holds_is_bounded() {
    let name = "n".repeat(64);
    refused(&turns(&format!("> P {name}=SELECT 1")), "longer than Postgres's");
    refused(&turns(&format!("> B {name}=a")), "longer than Postgres's");
    let truncate = format!("> Q TRUNCATE a{}\n", ", a".repeat(99));
    refused(&turns(&truncate.repeat(250)), "too many statements are held");
    let prepare = |number: usize| format!("> P s{number}=TRUNCATE a{} | S\n< 1 | Z I\n", ", a".repeat(99));
    refused(&turns(&(0..250).map(prepare).collect::<String>()), "too many statements are held");
    let again = "> P =TRUNCATE a, b, c, d | S\n< 1 | Z I\n".repeat(9000);
    assert!(outcome(&turns(&again), usize::MAX).is_ok());
}

#[test]
fn what_cannot_be_followed_is_said() {
    refused(&turns("< S client_encoding=SJIS"), "an encoding");
    refused(&[Turn::Client(vec![0x16, 3, 1, 2, 0, 1, 0, 0, 0])], "not Postgres's");
    refused(&[Turn::Client(first(196_608, b"user\0app\0replication\0true\0\0"))], "replication");
    refused(&turns("> Q SELECT 1\n< W"), "replication");
    refused(&turns("> ! x"), "an unexpected message `!` of the client");
    refused(&turns("< C INSERT 0 1"), "an unexpected message `C` of the server");
    refused(&turns(&"> D Sx\n".repeat(70_000)), "too many messages");
}

proptest! {
    #[test]
    fn any_bytes_are_followed_or_refused(turns_of in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..8), piece in 1usize..9) {
        let mut turns = turns("");
        turns.extend(turns_of.into_iter().map(|(client, bytes)| if client { Turn::Client(bytes) } else { Turn::Server(bytes) }));
        let _ = outcome(&turns, piece);
        let _ = outcome(&turns[2..], piece);
    }

    #[test]
    fn any_messages_are_followed_or_refused(words in prop::collection::vec((any::<bool>(), "[QPBDECSFcdfXpH123nTtDIsGZNEVRKW]", "[a-z= ;']{0,12}"), 0..30)) {
        let mut turns = turns("");
        turns.extend(words.into_iter().map(|(is_client, tag, rest)| match is_client {
            true => Turn::Client(client(&format!("{tag} {rest}"))),
            false => Turn::Server(server(&format!("{tag} {rest}"))),
        }));
        prop_assert_eq!(outcome(&turns, usize::MAX), outcome(&turns, 1));
    }
}
