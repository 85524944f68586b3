//! Conversations with MySQL, byte by byte.

use proptest::prelude::*;

use super::super::Unfollowable;
use super::super::testing::{Outcome, Turn, play};
use super::MySql;

const AUTOCOMMIT: u8 = 2;
const OPEN: u8 = 3;
const MORE: u8 = 8;

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a short packet").to_le_bytes();
    [&length[..3], &[number], body].concat()
}

fn command(code: u8, text: &str) -> Turn {
    Turn::Client(packet(0, &[&[code], text.as_bytes()].concat()))
}

fn query(text: &str) -> Turn {
    command(3, text)
}

fn ok(rows: u8, status: u8) -> Vec<u8> {
    packet(1, &[0, rows, 0, status, 0, 0, 0])
}

fn end(status: u8) -> Vec<u8> {
    packet(5, &[0xfe, 0, 0, status, 0])
}

fn error(code: u16) -> Vec<u8> {
    packet(1, &[&[0xff], code.to_le_bytes().as_slice(), b"#42000no"].concat())
}

/// A result of one column and so many rows.
fn rows(count: usize, status: u8) -> Vec<u8> {
    let row = packet(4, b"\x01x");
    [packet(1, &[1]), packet(2, b"\x03def"), end(AUTOCOMMIT), row.repeat(count), end(status)].concat()
}

fn answers(parts: &[Vec<u8>]) -> Turn {
    Turn::Server(parts.concat())
}

fn greeting(version: &str) -> Vec<u8> {
    let mut body = [&[10], version.as_bytes(), &[0, 1, 0, 0, 0], b"abcdefgh\0".as_slice()].concat();
    body.extend([0xff, 0xff, 45, 2, 0, 0xff, 0xff, 21]);
    body.extend([0, 0, 0, 0, 0, 0, 0x1f, 0, 0, 0]);
    body.extend(b"abcdefghijkl\0caching_sha2_password\0");
    packet(0, &body)
}

fn login(abilities: u32, database: &str) -> Vec<u8> {
    let mut body = abilities.to_le_bytes().to_vec();
    body.extend([0, 0, 0, 1, 45]);
    body.extend([0; 19]);
    body.extend([0x1f, 0, 0, 0]);
    body.extend(b"app\0\x04pass");
    body.extend(database.as_bytes());
    body.extend(b"\0caching_sha2_password\0");
    packet(1, &body)
}

/// Abilities of a client: everything but TLS, in a database.
const ABILITIES: u32 = !0x800 & !(1 << 21);

fn beginning() -> Vec<Turn> {
    vec![
        Turn::Server(greeting("9.1.0")),
        Turn::Client(login(ABILITIES, "shop")),
        Turn::Server(packet(2, &[1, 4])),
        Turn::Client(packet(3, &[2])),
        Turn::Server([packet(4, b"\x01key"), packet(5, &[0, 0, 0, 2, 0, 0, 0])].concat()),
    ]
}

fn outcome(turns: &[Turn], piece: usize) -> Result<Outcome, Unfollowable> {
    play(|ledger| MySql::new(Some("shop".to_owned()), ledger), turns, piece)
}

#[track_caller]
fn check(more: &[Turn], expected: &[&str]) {
    let turns = [beginning().as_slice(), more].concat();
    let whole = outcome(&turns, usize::MAX).expect("a conversation that can be followed");
    assert_eq!(whole.writes, expected);
    for piece in 1..=40 {
        assert_eq!(outcome(&turns, piece).as_ref(), Ok(&whole), "in pieces of {piece}");
    }
}

#[test]
fn texts_of_several_statements_are_told_apart() {
    check(
        &[
            query("INSERT INTO a VALUES (1)"),
            answers(&[ok(1, AUTOCOMMIT)]),
            query("UPDATE a SET x = 1; SELECT 1; DELETE FROM other.b; UPDATE c SET x = 1"),
            answers(&[
                ok(3, AUTOCOMMIT | MORE),
                rows(2, AUTOCOMMIT | MORE),
                ok(2, AUTOCOMMIT | MORE),
                ok(0, AUTOCOMMIT),
            ]),
            query("DELETE FROM d; DELETE FROM e"),
            answers(&[ok(1, AUTOCOMMIT | MORE), error(1146)]),
        ],
        &["insert a 1", "update a 3", "delete d 1", "delete other.b 2"],
    );
}

#[test]
fn writes_whose_table_is_not_told_are_seen() {
    check(
        &[
            query("EXECUTE IMMEDIATE 'UPDATE a SET x = 1'"),
            answers(&[ok(2, AUTOCOMMIT)]),
            query("PREPARE P FROM 'UPDATE b SET x = 1'; EXECUTE p"),
            answers(&[ok(0, AUTOCOMMIT | MORE), ok(1, AUTOCOMMIT)]),
            query("PREPARE p FROM @text; EXECUTE p"),
            answers(&[ok(0, AUTOCOMMIT | MORE), ok(1, AUTOCOMMIT)]),
            query("CREATE DATABASE x; SELECT 1 INTO @x; CALL p()"),
            answers(&[ok(1, AUTOCOMMIT | MORE), ok(1, AUTOCOMMIT | MORE), ok(1, AUTOCOMMIT)]),
        ],
        &["changed (unknown) 3", "update b 1"],
    );
}

#[test]
fn a_definition_that_fails_has_ended_the_transaction() {
    let begin = [query("BEGIN; UPDATE a SET x = 1"), answers(&[ok(0, OPEN | MORE), ok(1, OPEN)])];
    let fails = |sql: &str| [query(sql), answers(&[error(1050)]), query("ROLLBACK"), answers(&[ok(0, AUTOCOMMIT)])];
    check(&[begin.as_slice(), &fails("CREATE TABLE a (b int)")].concat(), &["update a 1"]);
    check(&[begin.as_slice(), &fails("CREATE TEMPORARY TABLE a (b int)")].concat(), &[]);
    check(&[begin.as_slice(), &fails("INSERT INTO a VALUES (1)")].concat(), &[]);
}

#[test]
fn a_commit_that_was_not_answered_counts() {
    let begin = [query("BEGIN"), answers(&[ok(0, OPEN)])];
    let rest = [query("UPDATE a SET x = 1; COMMIT; BEGIN; UPDATE b SET x = 1")];
    check(&[begin.as_slice(), &rest].concat(), &["update a 1"]);
}

#[test]
fn a_temporary_table_hides_only_its_own_database() {
    check(
        &[
            query("CREATE TEMPORARY TABLE t (a int); INSERT INTO t VALUES (1); INSERT INTO other.t VALUES (1)"),
            answers(&[ok(0, AUTOCOMMIT | MORE), ok(1, AUTOCOMMIT | MORE), ok(1, AUTOCOMMIT)]),
        ],
        &["insert other.t 1"],
    );
}

#[test]
fn the_packets_of_a_long_file_are_passed_on() {
    let mut file: Vec<u8> = (3..=600_u32).flat_map(|number| packet((number % 256) as u8, b"1\n")).collect();
    file.extend(packet(89, b""));
    check(
        &[
            query("LOAD DATA LOCAL INFILE 'x' INTO TABLE a"),
            answers(&[packet(1, b"\xfbx")]),
            Turn::Client(file),
            answers(&[ok(5, AUTOCOMMIT)]),
        ],
        &["load a 5"],
    );
}

#[test]
fn a_command_before_the_login_is_refused() {
    let mut turns = beginning();
    turns.truncate(2);
    turns.push(query("DELETE FROM a"));
    assert!(outcome(&turns, usize::MAX).expect_err("refused").0.contains("before the login"));
}

#[test]
fn what_is_rolled_back_is_no_write_and_what_ends_a_transaction_is_known() {
    let one = |sql: &str, rows: u8, status: u8| [query(sql), answers(&[ok(rows, status)])];
    let story = [
        one("BEGIN", 0, OPEN),
        one("INSERT INTO a VALUES (1)", 1, OPEN),
        one("ROLLBACK", 0, AUTOCOMMIT),
        one("START TRANSACTION", 0, OPEN),
        one("INSERT INTO b VALUES (1)", 1, OPEN),
        one("BEGIN", 0, OPEN),
        one("INSERT INTO c VALUES (1)", 1, OPEN),
        one("TRUNCATE d", 0, AUTOCOMMIT),
        one("BEGIN", 0, OPEN),
        one("INSERT INTO e VALUES (1)", 1, OPEN),
        [query("UPDATE f SET x = 1"), answers(&[error(1213)])],
        one("COMMIT", 0, AUTOCOMMIT),
        one("BEGIN", 0, OPEN),
        one("INSERT INTO g VALUES (1)", 1, OPEN),
        [command(0x1f, ""), answers(&[ok(0, AUTOCOMMIT)])],
        one("SET autocommit = 0", 0, 0),
        one("INSERT INTO h VALUES (1)", 1, 1),
    ];
    check(&story.concat(), &["insert b 1", "insert c 1", "truncate d 0"]);
}

#[test]
fn prepared_statements_are_followed() {
    let prepared = |id: u8, columns: u8, parameters: u8| {
        let head = packet(1, &[0, id, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]);
        let part = |count: u8| match count {
            0 => Vec::new(),
            count => [packet(2, b"\x03def").repeat(usize::from(count)), end(AUTOCOMMIT)].concat(),
        };
        answers(&[head, part(parameters), part(columns)])
    };
    let execute = |id: u8| Turn::Client(packet(0, &[0x17, id, 0, 0, 0, 0, 1, 0, 0, 0]));
    check(
        &[
            command(0x16, "INSERT INTO a VALUES (?, ?)"),
            prepared(1, 0, 2),
            command(0x16, "SELECT x FROM a WHERE x = ?"),
            prepared(2, 1, 1),
            Turn::Client(packet(0, &[0x18, 1, 0, 0, 0, 0, 0, b'x'])),
            execute(1),
            answers(&[ok(1, AUTOCOMMIT)]),
            execute(2),
            answers(&[packet(1, &[1]), packet(2, b"\x03def"), end(AUTOCOMMIT), packet(4, b"\0\0x"), end(AUTOCOMMIT)]),
            execute(2),
            answers(&[packet(1, &[1]), packet(2, b"\x03def"), end(0x42)]),
            Turn::Client(packet(0, &[0x1c, 2, 0, 0, 0, 1, 0, 0, 0])),
            answers(&[packet(1, b"\0\0x"), end(AUTOCOMMIT)]),
            Turn::Client(packet(0, &[0x19, 2, 0, 0, 0])),
            Turn::Client(packet(0, &[0x1a, 1, 0, 0, 0])),
            answers(&[ok(0, AUTOCOMMIT)]),
            execute(1),
            answers(&[ok(2, AUTOCOMMIT)]),
            command(0x16, "nonsense"),
            answers(&[error(1064)]),
            query("PREPARE p FROM 'DELETE FROM b'"),
            answers(&[ok(0, AUTOCOMMIT)]),
            query("EXECUTE p"),
            answers(&[ok(4, AUTOCOMMIT)]),
        ],
        &["insert a 3", "delete b 4"],
    );
}

#[test]
fn a_file_that_the_client_sends_is_followed() {
    check(
        &[
            query("LOAD DATA LOCAL INFILE 'x' INTO TABLE a"),
            Turn::Server(packet(1, b"\xfbx")),
            Turn::Client([packet(2, b"1\n2\n"), packet(3, b"")].concat()),
            Turn::Server(packet(4, &[0, 2, 0, 2, 0, 0, 0])),
            query("DELETE FROM b"),
            answers(&[ok(1, AUTOCOMMIT)]),
        ],
        &["load a 2", "delete b 1"],
    );
}

#[test]
fn a_procedure_answers_many_times_and_is_not_guessed() {
    check(
        &[
            query("CALL p(); DELETE FROM a"),
            answers(&[rows(1, MORE), rows(2, MORE), ok(5, MORE), ok(1, AUTOCOMMIT)]),
            query("SELECT 1; CREATE PROCEDURE q() BEGIN DELETE FROM a; END; DELETE FROM b"),
            answers(&[rows(1, MORE), ok(0, MORE), ok(7, AUTOCOMMIT)]),
        ],
        &["changed (unknown) 7", "delete a 1"],
    );
}

#[test]
fn the_current_database_is_followed() {
    check(
        &[
            command(2, "one"),
            answers(&[ok(0, AUTOCOMMIT)]),
            query("DELETE FROM a"),
            answers(&[ok(1, AUTOCOMMIT)]),
            query("USE two; DELETE FROM a; DELETE FROM shop.b"),
            answers(&[ok(0, MORE), ok(1, MORE), ok(1, AUTOCOMMIT)]),
            Turn::Client(packet(0, b"\x11app\0\x04passthree\0")),
            Turn::Server(packet(1, b"\xfemysql_native_password\0abc\0")),
            Turn::Client(packet(2, b"pass")),
            Turn::Server(packet(3, &[0, 0, 0, 2, 0, 0, 0])),
            query("DELETE FROM a"),
            answers(&[ok(1, AUTOCOMMIT)]),
        ],
        &["delete b 1", "delete one.a 1", "delete three.a 1", "delete two.a 1"],
    );
}

#[test]
fn other_commands_are_followed() {
    check(
        &[
            command(0x0e, ""),
            answers(&[ok(0, AUTOCOMMIT)]),
            command(9, ""),
            Turn::Server(packet(1, b"Uptime: 1")),
            command(4, "t\0%"),
            answers(&[packet(1, b"\x03def"), end(AUTOCOMMIT)]),
            command(0x1b, "\0\0"),
            answers(&[end(AUTOCOMMIT)]),
            query("CREATE TEMPORARY TABLE t (a int); INSERT INTO t VALUES (1); DELETE FROM a"),
            answers(&[ok(0, MORE), ok(1, MORE), ok(1, AUTOCOMMIT)]),
            command(1, ""),
        ],
        &["delete a 1"],
    );
}

#[test]
fn a_client_that_goes_before_the_answer_has_still_written() {
    check(&[query("DELETE FROM a")], &["delete a 1"]);
    check(&[query("BEGIN"), answers(&[ok(0, OPEN)]), query("DELETE FROM a")], &[]);
}

#[test]
fn what_cannot_be_followed_is_taken_out_of_both_sides_words() {
    let found = outcome(&beginning(), usize::MAX).expect("followed");
    let body = &found.to_client[4..];
    let low = 1 + 5 + 1 + 4 + 8 + 1;
    let offered = u32::from_le_bytes([body[low], body[low + 1], body[low + 5], body[low + 6]]);
    let refused = 0x20 | 0x800 | 1 << 24 | 1 << 25 | 1 << 26 | 1 << 27 | 1 << 29;
    assert_eq!(offered, !refused);
    assert_eq!(body[low + 14..low + 18], [0; 4]);
    let claimed = u32::from_le_bytes(*found.to_server[4..].first_chunk().expect("four bytes"));
    assert_eq!(claimed, ABILITIES & !refused);
}

#[test]
fn what_cannot_be_followed_is_said() {
    let check = |more: &[Turn], expected: &str| {
        let problem = outcome(&[beginning().as_slice(), more].concat(), usize::MAX).expect_err("it cannot be followed");
        assert!(problem.0.contains(expected), "{problem:?}");
    };
    check(&[command(0x12, "")], "0x12");
    check(&[Turn::Client(packet(2, b"\x03SELECT 1"))], "out of its order");
    check(&[answers(&[ok(0, 2)])], "nothing asked for");
    check(&vec![command(0x0e, ""); 5000], "too many commands");
    let tls = [Turn::Server(greeting("9.1.0")), Turn::Client(packet(1, &[0xff; 32]))];
    assert!(outcome(&tls, 1).expect_err("TLS").0.contains("TLS"));
    let refused = [Turn::Server(packet(0, b"\xff\x10\x04Too many connections"))];
    assert_eq!(outcome(&refused, 5).expect("passed on").to_client, packet(0, b"\xff\x10\x04Too many connections"));
}

proptest! {
    #[test]
    fn any_bytes_are_followed_or_refused(turns in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..8), piece in 1usize..9) {
        let more = turns.into_iter().map(|(client, bytes)| if client { Turn::Client(bytes) } else { Turn::Server(bytes) });
        let turns: Vec<_> = beginning().into_iter().chain(more).collect();
        let _ = outcome(&turns, piece);
        let _ = outcome(&turns[5..], piece);
    }

    #[test]
    fn any_packets_are_followed_or_refused(turns in prop::collection::vec((any::<bool>(), 0u8..3, prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 3, 8, 0x16, 0x17, 0xfb, 0xfe, 0xff, b'a']), 0..12)), 0..20)) {
        let more = turns.into_iter().map(|(client, number, body)| match client {
            true => Turn::Client(packet(number / 2, &body)),
            false => Turn::Server(packet(number, &body)),
        });
        let turns: Vec<_> = beginning().into_iter().chain(more).collect();
        prop_assert_eq!(outcome(&turns, usize::MAX), outcome(&turns, 1));
    }
}
