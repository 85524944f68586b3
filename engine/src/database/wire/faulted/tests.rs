//! Faults between a client and a server that the test plays.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use async_trait::async_trait;
use gateways::Gateway as _;
use gateways::clock::Clock;
use gateways::dial::Dial;
use gateways::faults::{FaultEngine, ServiceFaults};
use gateways::listener::Listener;
use scenario::plan::Seed;
use scenario::spec::load;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::super::Database;
use super::super::recorder::{Recorded, serve};

const LOGIN: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0app\0\0";
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const READY: &[u8] = b"Z\0\0\0\x05I";

/// Connects to this machine.
#[derive(Debug)]
struct Here;

#[async_trait]
impl Dial for Here {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", port)).await
    }
}

/// A session between a client and a server, with faults between them.
struct Stage {
    client: TcpStream,
    server: TcpStream,
    engine: Arc<FaultEngine>,
    recorded: Recorded,
    _listener: Listener,
}

impl Stage {
    /// A session at Postgres, logged in.
    async fn open(faults: &str) -> Self {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             services: [{{name: db, image: 'postgres:16'}}]\nchaos: {{service_faults: [{faults}]}}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(1), Arc::new(Clock::default())));
        engine.start();
        let behind = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a server");
        let front = TcpListener::bind("127.0.0.1:0").expect("a front");
        let (to, from) = (behind.local_addr().expect("an address"), front.local_addr().expect("an address"));
        let faults = ServiceFaults::of(&engine, "db", true);
        let recorded = Recorded::new("db", Database::Postgres, Some("app".to_owned())).with_faults(faults, true);
        let listener = serve(front, Arc::new(Here), to.port(), recorded.clone(), None).expect("a recorder");
        let mut client = TcpStream::connect(from).await.expect("a connection");
        client.write_all(LOGIN).await.expect("a login");
        let (mut server, _) = behind.accept().await.expect("a connection");
        expect(&mut server, LOGIN).await;
        server.write_all(WELCOME).await.expect("a welcome");
        expect(&mut client, WELCOME).await;
        Self { client, server, engine, recorded, _listener: listener }
    }

    async fn say(&mut self, messages: &[Vec<u8>]) {
        self.client.write_all(&messages.concat()).await.expect("a message");
    }

    async fn answer(&mut self, messages: &[Vec<u8>]) {
        self.server.write_all(&messages.concat()).await.expect("an answer");
    }

    /// The faults of each rule, as `(matched, fired)`.
    fn counts(&self) -> Vec<(u64, u64)> {
        self.engine.record().rules.iter().map(|rule| (rule.matched, rule.fired)).collect()
    }

    fn writes(&self) -> Vec<String> {
        self.recorded.writes().iter().map(|(table, operation, rows)| format!("{operation} {table} {rows}")).collect()
    }
}

async fn expect(stream: &mut TcpStream, bytes: &[u8]) {
    let mut read = vec![0; bytes.len()];
    stream.read_exact(&mut read).await.expect("bytes");
    assert_eq!(read, bytes, "{} instead of {}", read.escape_ascii(), bytes.escape_ascii());
}

fn message(tag: u8, body: &str) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[tag], length.to_be_bytes().as_slice(), body.as_bytes()].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &format!("{text}\0"))
}

fn parse(text: &str) -> Vec<u8> {
    message(b'P', &format!("\0{text}\0\0\0"))
}

fn bind() -> Vec<u8> {
    message(b'B', "\0\0\0\0\0\0\0\0")
}

fn execute() -> Vec<u8> {
    message(b'E', "\0\0\0\0\0")
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', &format!("{tag}\0"))
}

fn error(sqlstate: &str, words: &str) -> Vec<u8> {
    message(b'E', &format!("SERROR\0VERROR\0C{sqlstate}\0M{words}\0\0"))
}

/// Makes a failing message for the server: this one in place of a text, the next one in place of a portal.
fn failing_query() -> Vec<u8> {
    query("touchstone_fault")
}

fn failing_parse() -> Vec<u8> {
    message(b'P', "touchstone_fault\0touchstone_fault\0\0\0")
}

#[tokio::test]
async fn a_text_that_fails_is_answered_by_the_server_with_other_words() {
    let mut stage =
        Stage::open("{service: db, mode: error, sqlstate: '40001', statement: [update], table: a, on_calls: [1]}")
            .await;
    stage.say(&[query("SELECT * FROM a"), query("UPDATE a SET x = 1")]).await;
    expect(&mut stage.server, &[query("SELECT * FROM a"), failing_query()].concat()).await;
    stage.answer(&[complete("SELECT 0"), READY.to_vec(), error("42601", "syntax error"), message(b'Z', "E")]).await;
    let told = error("40001", "could not serialize access due to concurrent update");
    expect(&mut stage.client, &[complete("SELECT 0"), READY.to_vec(), told, message(b'Z', "E")].concat()).await;
    assert_eq!((stage.counts(), stage.writes()), (vec![(1, 1)], Vec::new()));
}

#[tokio::test]
async fn a_portal_that_fails_is_passed_over_until_the_next_sync() {
    let mut stage = Stage::open("{service: db, mode: error, sqlstate: '53300', on_calls: [1]}").await;
    let sync = || message(b'S', "");
    stage.say(&[parse("DELETE FROM a"), bind(), execute(), parse("SELECT 1"), bind(), execute(), sync()]).await;
    let passed = [parse("DELETE FROM a"), bind(), failing_parse(), parse("SELECT 1"), bind(), execute(), sync()];
    expect(&mut stage.server, &passed.concat()).await;
    let done = [message(b'1', ""), message(b'2', "")];
    stage.answer(&[done.concat(), error("42601", "syntax error"), READY.to_vec()]).await;
    let told = error("53300", "sorry, too many clients already");
    expect(&mut stage.client, &[done.concat(), told, READY.to_vec()].concat()).await;
    // The next one is no call of a fault any more, and is followed as usual.
    stage.say(&[query("DELETE FROM a")]).await;
    expect(&mut stage.server, &query("DELETE FROM a")).await;
    stage.answer(&[complete("DELETE 2"), READY.to_vec()]).await;
    expect(&mut stage.client, &[complete("DELETE 2"), READY.to_vec()].concat()).await;
    assert_eq!((stage.counts(), stage.writes()), (vec![(3, 1)], vec!["delete a 2".to_owned()]));
}

#[tokio::test]
async fn a_fault_behind_a_real_error_is_taken_back() {
    let mut stage = Stage::open("{service: db, mode: error, sqlstate: '40001', statement: [delete]}").await;
    let messages = [parse("SELECT x"), bind(), execute(), parse("DELETE FROM a"), bind(), execute(), message(b'S', "")];
    stage.say(&messages).await;
    let mut passed = messages;
    passed[5] = failing_parse();
    expect(&mut stage.server, &passed.concat()).await;
    stage.answer(&[error("42703", "no such column"), READY.to_vec()]).await;
    expect(&mut stage.client, &[error("42703", "no such column"), READY.to_vec()].concat()).await;
    assert_eq!(stage.counts(), [(1, 0)]);
    assert!(stage.engine.record().firings.is_empty());
}

#[tokio::test]
async fn a_commit_takes_effect_and_its_answer_is_lost() {
    let mut stage = Stage::open("{service: db, mode: commit_unknown}").await;
    stage.say(&[query("BEGIN")]).await;
    expect(&mut stage.server, &query("BEGIN")).await;
    stage.answer(&[complete("BEGIN"), message(b'Z', "T")]).await;
    expect(&mut stage.client, &[complete("BEGIN"), message(b'Z', "T")].concat()).await;
    stage.say(&[query("INSERT INTO a VALUES (1)")]).await;
    expect(&mut stage.server, &query("INSERT INTO a VALUES (1)")).await;
    stage.answer(&[complete("INSERT 0 1"), message(b'Z', "T")]).await;
    expect(&mut stage.client, &[complete("INSERT 0 1"), message(b'Z', "T")].concat()).await;
    stage.say(&[query("COMMIT")]).await;
    expect(&mut stage.server, &query("COMMIT")).await;
    stage.answer(&[complete("COMMIT"), READY.to_vec()]).await;
    assert_eq!(stage.client.read(&mut [0; 10]).await.expect("an end"), 0, "closed without an answer");
    assert_eq!(stage.server.read(&mut [0; 10]).await.expect("an end"), 0, "the server is told");
    assert_eq!((stage.counts(), stage.writes()), (vec![(1, 1)], vec!["insert a 1".to_owned()]));
}

#[tokio::test]
async fn a_write_alone_is_a_commit_and_one_that_fails_is_no_fault() {
    let mut stage = Stage::open("{service: db, mode: commit_unknown, table: a}").await;
    stage.say(&[query("INSERT INTO a VALUES (1)")]).await;
    expect(&mut stage.server, &query("INSERT INTO a VALUES (1)")).await;
    stage.answer(&[error("23505", "twice"), READY.to_vec()]).await;
    expect(&mut stage.client, &[error("23505", "twice"), READY.to_vec()].concat()).await;
    assert_eq!(stage.counts(), [(1, 0)]);
    let extended = [parse("INSERT INTO a VALUES (2)"), bind(), execute(), message(b'S', "")];
    stage.say(&extended).await;
    expect(&mut stage.server, &extended.concat()).await;
    stage.answer(&[message(b'1', ""), message(b'2', ""), complete("INSERT 0 1"), READY.to_vec()]).await;
    assert_eq!(stage.client.read(&mut [0; 10]).await.expect("an end"), 0);
    assert_eq!((stage.counts(), stage.writes()), (vec![(2, 1)], vec!["insert a 1".to_owned()]));
}

#[tokio::test]
async fn a_session_is_killed_hung_or_reset_and_the_statement_stays_behind() {
    let statement = || query("UPDATE a SET x = 1");
    let mut killed = Stage::open("{service: db, mode: kill_session}").await;
    killed.say(&[statement()]).await;
    let last = message(b'E', "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0");
    expect(&mut killed.client, &last).await;
    assert_eq!(killed.client.read(&mut [0; 10]).await.expect("an end"), 0);

    let mut reset = Stage::open("{service: db, mode: reset}").await;
    reset.say(&[statement()]).await;
    let end = reset.client.read(&mut [0; 10]).await;
    assert_eq!(end.expect_err("a reset").kind(), io::ErrorKind::ConnectionReset);

    let mut hung = Stage::open("{service: db, mode: hang, delay_ms: 30}").await;
    let started = tokio::time::Instant::now();
    hung.say(&[statement()]).await;
    assert_eq!(hung.client.read(&mut [0; 10]).await.expect("an end"), 0);
    assert!(started.elapsed() >= std::time::Duration::from_millis(30));

    for mut stage in [killed, reset, hung] {
        assert_eq!(stage.server.read(&mut [0; 10]).await.expect("an end"), 0, "it reached the server");
        assert_eq!((stage.counts(), stage.writes()), (vec![(1, 1)], Vec::new()));
    }
}

#[tokio::test]
async fn a_statement_that_outlives_the_agent_is_not_sent() {
    let mut stage = Stage::open("{service: db, mode: slow, delay_ms: 50}").await;
    stage.say(&[query("UPDATE a SET x = 1")]).await;
    while stage.counts() != [(1, 1)] {
        tokio::task::yield_now().await;
    }
    stage.engine.seal().await;
    assert_eq!(stage.server.read(&mut [0; 10]).await.expect("an end"), 0);
}
