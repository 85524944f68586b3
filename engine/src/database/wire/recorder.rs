//! Passes connections on to databases, and writes down what they write.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use gateways::Gateway;
use gateways::dial::Dial;
use gateways::faults::{Fault, ServiceFaults, ServiceLink};
use gateways::forward::FORWARD_IDLE;
use gateways::listener::{Connection as Accepted, DRAIN, IdleTimeout, Listener, ListenerLimits};
use gateways::redact::Redactor;
use gateways::tls::Duplex;
use scenario::evidence::Evidence;
use scenario::spec::sections::ServiceMode;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use super::super::{Database, ThroughDoor};
use super::faulted::{Converse, Faultable, FaultedConnection};
use super::ledger::{Ledger, Writes};
use super::mysql::MySql;
use super::postgres::Postgres;
use super::{Conversation, Passed, Unfollowable};
use crate::door::Door;

/// The bounds of connections to one port of a service. So many are what the databases themselves allow, and bound what is kept
/// of messages.
const LIMITS: ListenerLimits =
    ListenerLimits { connections: 128, idle: IdleTimeout::Bytes(FORWARD_IDLE), drain: DRAIN };
/// Number of bytes that are read at once.
const CHUNK: usize = 32 << 10;
/// Time limit for statements that still run when the agent has ended.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time without any bytes after which a connection that stays open counts as quiet.
const QUIET: Duration = Duration::from_millis(200);
/// The pause between looks at connections that are waited for.
const LOOK: Duration = Duration::from_millis(5);

/// Records what passes to databases, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    services: Vec<Recorded>,
    /// Services that are only read to fault them, or to find values.
    unaudited: Vec<Recorded>,
    listeners: Vec<Listener>,
}

/// A service whose connections are recorded.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// The service.
    pub(crate) service: String,
    /// Kind of database.
    pub(crate) database: Database,
    /// The database that it was made for: tables in it are named without it.
    pub(crate) home: Option<String>,
    /// True when its writes are evidence.
    is_audited: bool,
    /// Its faults, if it has any.
    faults: Option<ServiceFaults>,
    /// Redactor that finds values in the bytes of clients, if there are any to find.
    watch: Option<Redactor>,
    ledger: Arc<Ledger>,
    live: Arc<Mutex<Vec<Weak<Connection>>>>,
}

/// A connection while it lives.
#[derive(Debug)]
struct Connection {
    conversation: Mutex<Box<dyn Faultable>>,
    last: Mutex<Instant>,
    faulted: Option<FaultedConnection>,
}

impl Recorded {
    /// A service that nothing was recorded of yet.
    pub(crate) fn new(service: &str, database: Database, home: Option<String>) -> Self {
        Self {
            service: service.to_owned(),
            database,
            home,
            is_audited: true,
            faults: None,
            watch: None,
            ledger: Arc::default(),
            live: Arc::default(),
        }
    }

    /// The same service with faults; its writes are evidence only when they are audited.
    pub(crate) fn with_faults(self, faults: Option<ServiceFaults>, is_audited: bool) -> Self {
        Self { faults, is_audited, ..self }
    }

    /// The same service, of which all that clients send is looked at for values.
    pub(crate) fn with_watch(self, redactor: Option<&Redactor>) -> Self {
        let watch = redactor.map(|redactor| redactor.at(format!("database {}", self.service)));
        Self { watch, ..self }
    }

    /// Takes the tables that are there before the agent: no temporary one of the same name hides them.
    pub(crate) fn know<'a>(&self, tables: impl Iterator<Item = &'a String>) {
        self.ledger.know(tables);
    }

    /// Returns the writes, by table and operation.
    pub(crate) fn writes(&self) -> Writes {
        self.ledger.writes()
    }

    /// Returns the descriptions of conversations that could not be followed.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.ledger.problems()
    }

    fn open(&self) -> Arc<Connection> {
        let (home, ledger) = (self.home.clone(), Arc::clone(&self.ledger));
        let mut conversation: Box<dyn Faultable> = match self.database {
            Database::Postgres => Box::new(Postgres::new(home, ledger)),
            Database::MySql => Box::new(MySql::new(home, ledger)),
        };
        let faulted = self.faults.clone().map(FaultedConnection::new);
        if faulted.is_some() {
            conversation.want_reads();
        }
        let conversation = Mutex::new(conversation);
        let connection = Arc::new(Connection { conversation, last: Mutex::new(Instant::now()), faulted });
        let mut live = locked(&self.live);
        live.retain(|connection| connection.strong_count() > 0);
        live.push(Arc::downgrade(&connection));
        connection
    }

    /// Returns true if some connection is still active.
    fn is_busy(&self) -> bool {
        let live: Vec<_> = locked(&self.live).iter().filter_map(Weak::upgrade).collect();
        live.iter().any(|connection| {
            let is_quiet = locked(&connection.conversation).is_quiet();
            let is_delayed = connection.faulted.as_ref().is_some_and(FaultedConnection::is_delayed);
            !is_quiet || is_delayed || locked(&connection.last).elapsed() < QUIET
        })
    }

    /// Returns true if some statement has no answer yet.
    fn still_runs(&self) -> bool {
        let live: Vec<_> = locked(&self.live).iter().filter_map(Weak::upgrade).collect();
        live.iter().any(|connection| !locked(&connection.conversation).is_quiet())
    }

    /// Ends what is still open, as far as it is recorded.
    fn end(&self) {
        let live: Vec<_> = locked(&self.live).iter().filter_map(Weak::upgrade).collect();
        live.iter().filter(|one| !locked(&one.conversation).is_quiet()).for_each(|one| one.end());
    }
}

impl Recorder {
    /// Passes what comes to a listener of the sandbox on to a database's port behind its own door.
    pub(crate) fn add(
        &mut self,
        listener: TcpListener,
        door: Door,
        port: u16,
        recorded: Recorded,
        link: Option<ServiceLink>,
    ) -> io::Result<()> {
        self.listeners.push(serve(listener, Arc::new(ThroughDoor(door)), port, recorded.clone(), link)?);
        // All ports of a service are one.
        let services = if recorded.is_audited { &mut self.services } else { &mut self.unaudited };
        if services.iter().all(|known| known.service != recorded.service) {
            services.push(recorded);
        }
        Ok(())
    }

    /// Every service whose connections are read.
    pub(crate) fn followed(&self) -> impl Iterator<Item = &Recorded> {
        self.services.iter().chain(&self.unaudited)
    }

    /// Every service that is recorded.
    pub(crate) fn services(&self) -> &[Recorded] {
        &self.services
    }
}

#[async_trait]
impl Gateway for Recorder {
    /// Forgets what was before the agent.
    async fn begin(&self) {
        self.services.iter().for_each(|service| service.ledger.begin());
    }

    /// Waits for what the agent asked last, and records nothing more. Connections are still passed on, for checks.
    async fn seal(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.services.iter().any(Recorded::is_busy) && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        for service in &self.services {
            if service.still_runs() {
                let name = &service.service;
                service.ledger.note(format!("a statement still ran in `{name}` after the agent had ended"));
            }
            service.end();
            service.ledger.seal();
        }
        self.unaudited.iter().for_each(Recorded::end);
    }

    /// Adds nothing: writes become evidence together with the tables that they were made to.
    fn record(&self, _: &mut Evidence) {}
}

/// Records what comes to a listener, and passes it on to a port behind a dial.
pub(super) fn serve(
    listener: TcpListener,
    dial: Arc<dyn Dial>,
    port: u16,
    recorded: Recorded,
    link: Option<ServiceLink>,
) -> io::Result<Listener> {
    let accepting = Listener::new("a recorded database", LIMITS);
    accepting.serve_link(listener, None, link, move |client| {
        let (dial, recorded) = (Arc::clone(&dial), recorded.clone());
        async move { record(client, &*dial, port, &recorded).await }
    })?;
    Ok(accepting)
}

async fn record(client: Accepted, dial: &dyn Dial, port: u16, recorded: &Recorded) {
    let is_refused =
        |faults: &ServiceFaults| matches!(faults.connection().fault, Some(Fault { mode: ServiceMode::Refuse(_), .. }));
    if recorded.faults.as_ref().is_some_and(is_refused) {
        return client.reset.arm();
    }
    let client = client.watched(recorded.watch.as_ref());
    let connection = recorded.open();
    let Ok(server) = dial.dial(port).await else { return };
    let followed = match &connection.faulted {
        Some(faulted) => faulted.follow(&*connection, client, server).await,
        None => connection.follow(client.stream, server).await,
    };
    if let Err(problem) = followed {
        let service = &recorded.service;
        recorded.ledger.note(format!("a connection to `{service}` could not be followed: {}", problem.0));
    }
    connection.end();
}

impl Connection {
    /// The connection is over, or recording is.
    fn end(&self) {
        let mut conversation = locked(&self.conversation);
        conversation.end();
        if let Some(faulted) = &self.faulted {
            faulted.settle(&mut **conversation);
        }
    }

    /// Passes on both ways until the server ends, or the connection cannot be followed. When the client has gone, the server
    /// still does what it was told: so its answers are read to the end.
    async fn follow(&self, client: Box<dyn Duplex>, server: TcpStream) -> Result<(), Unfollowable> {
        let _ = server.set_nodelay(true);
        let (from_client, to_client) = split(client);
        let (from_server, to_server) = server.into_split();
        let to_client = AsyncMutex::new(to_client);
        let up = async {
            self.up(from_client, to_server, &to_client).await?;
            std::future::pending().await
        };
        tokio::select! {
            ended = self.down(from_server, &to_client) => ended,
            failed = up => failed,
        }
    }

    async fn up(
        &self,
        mut from: ReadHalf<Box<dyn Duplex>>,
        mut to: OwnedWriteHalf,
        to_client: &AsyncMutex<WriteHalf<Box<dyn Duplex>>>,
    ) -> Result<(), Unfollowable> {
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = from.read(&mut chunk).await {
            let passed = self.take(|conversation| conversation.client_said(&chunk[..length]))?;
            if !passed.to_client.is_empty() && to_client.lock().await.write_all(&passed.to_client).await.is_err() {
                break;
            }
            if to.write_all(&passed.to_server).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
        Ok(())
    }

    async fn down(
        &self,
        mut from: OwnedReadHalf,
        to: &AsyncMutex<WriteHalf<Box<dyn Duplex>>>,
    ) -> Result<(), Unfollowable> {
        let mut chunk = vec![0; CHUNK];
        let mut is_there = true;
        while let Ok(length @ 1..) = from.read(&mut chunk).await {
            let passed = self.take(|conversation| conversation.server_said(&chunk[..length]))?;
            is_there = is_there && to.lock().await.write_all(&passed.to_client).await.is_ok();
        }
        let _ = to.lock().await.shutdown().await;
        Ok(())
    }

    fn take(
        &self,
        what: impl FnOnce(&mut dyn Conversation) -> Result<Passed, Unfollowable>,
    ) -> Result<Passed, Unfollowable> {
        *locked(&self.last) = Instant::now();
        what(&mut **locked(&self.conversation))
    }
}

impl Converse for Connection {
    fn with<T>(&self, what: impl FnOnce(&mut dyn Faultable) -> T) -> T {
        *locked(&self.last) = Instant::now();
        what(&mut **locked(&self.conversation))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    const LOGIN: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0app\0\0";
    const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    const INSERT: &[u8] = b"Q\0\0\0\x1dINSERT INTO a VALUES (1)\0";
    const INSERTED: &[u8] = b"C\0\0\0\x0fINSERT 0 1\0Z\0\0\0\x05I";

    /// Connects to this machine.
    #[derive(Debug)]
    struct Here;

    #[async_trait]
    impl Dial for Here {
        async fn dial(&self, port: u16) -> io::Result<TcpStream> {
            TcpStream::connect(("127.0.0.1", port)).await
        }
    }

    /// A recorder before a server that the test plays, and where clients go.
    async fn recorder() -> (Recorder, tokio::net::TcpListener, SocketAddr) {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a server");
        let front = TcpListener::bind("127.0.0.1:0").expect("a front");
        let (to, from) = (server.local_addr().expect("an address"), front.local_addr().expect("an address"));
        let recorded = Recorded::new("db", Database::Postgres, Some("app".to_owned()));
        let listener = serve(front, Arc::new(Here), to.port(), recorded.clone(), None).expect("a recorder");
        (Recorder { services: vec![recorded], unaudited: Vec::new(), listeners: vec![listener] }, server, from)
    }

    async fn expect(stream: &mut TcpStream, bytes: &[u8]) {
        let mut read = vec![0; bytes.len()];
        stream.read_exact(&mut read).await.expect("bytes");
        assert_eq!(read, bytes);
    }

    #[tokio::test]
    async fn what_a_client_asked_before_it_left_is_waited_for() {
        let (recorder, server, front) = recorder().await;
        recorder.begin().await;
        let mut client = TcpStream::connect(front).await.expect("a connection");
        client.write_all(LOGIN).await.expect("a login");
        let (mut behind, _) = server.accept().await.expect("a connection");
        expect(&mut behind, LOGIN).await;
        behind.write_all(WELCOME).await.expect("a welcome");
        expect(&mut client, WELCOME).await;
        client.write_all(INSERT).await.expect("a query");
        drop(client);
        let server = async {
            expect(&mut behind, INSERT).await;
            behind.write_all(INSERTED).await.expect("an answer");
            drop(behind);
        };
        tokio::join!(recorder.seal(), server);
        let writes = recorder.services()[0].writes();
        assert_eq!(writes.iter().collect::<Vec<_>>(), [("a", "insert", 1)]);
    }

    #[tokio::test]
    async fn a_statement_that_does_not_end_is_noted() {
        let (recorder, server, front) = recorder().await;
        recorder.begin().await;
        let mut client = TcpStream::connect(front).await.expect("a connection");
        client.write_all(LOGIN).await.expect("a login");
        let (mut behind, _) = server.accept().await.expect("a connection");
        behind.write_all(WELCOME).await.expect("a welcome");
        expect(&mut client, WELCOME).await;
        client.write_all(INSERT).await.expect("a query");
        expect(&mut behind, &[LOGIN, INSERT].concat()).await;
        recorder.seal().await;
        let problems = recorder.services()[0].problems();
        assert_eq!(problems, ["a statement still ran in `db` after the agent had ended"]);
    }

    #[tokio::test]
    async fn a_connection_that_cannot_be_followed_is_closed_and_noted() {
        let (recorder, _server, front) = recorder().await;
        recorder.begin().await;
        let mut client = TcpStream::connect(front).await.expect("a connection");
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("a request");
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        assert!(answer.is_empty());
        recorder.seal().await;
        let problems = recorder.services()[0].problems();
        assert!(problems[0].starts_with("a connection to `db` could not be followed"), "{problems:?}");
    }
}
