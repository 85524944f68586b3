//! Shared parts of the tests of mocks.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::Duration;

use scenario::evidence::Journal;
use scenario::spec::load;
use scenario::spec::sections::HttpMock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::{HttpMocks, MockContext, MockLimits};

/// Time limit for whatever a test waits for.
pub(super) const DEADLINE: Duration = Duration::from_secs(20);

/// A mock with these settings, read from YAML in one line.
pub(super) fn mock(settings: &str) -> HttpMock {
    let yaml = format!(
        "
version: 1
id: test
base: debian
task: {{prompt: x}}
services: [{{name: mock, type: http_mock, {settings}}}]
invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}
"
    );
    let loaded = load(&yaml, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{yaml}: {:?}", loaded.diagnostics));
    spec.services[0].mock().expect("a mock").clone()
}

/// A mock named `mock` that is being served on 127.0.0.1.
pub(super) struct Running {
    pub(super) mocks: HttpMocks,
    pub(super) port: u16,
}

/// The last byte of an address in 127.0.0.0/24.
pub(super) fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, last).into()
}

impl Running {
    pub(super) fn new(settings: &str) -> Self {
        Self::with(settings, MockContext::default(), MockLimits::default())
    }

    pub(super) fn with_limits(settings: &str, limits: MockLimits) -> Self {
        Self::with(settings, MockContext::default(), limits)
    }

    pub(super) fn with(settings: &str, context: MockContext, limits: MockLimits) -> Self {
        let mocks = HttpMocks::with_limits([("mock".to_owned(), mock(settings))], context, limits);
        Self::serve(mocks, &[(1, "mock")])
    }

    /// Serves mocks on one port, each at an address of its own.
    pub(super) fn serve(mocks: HttpMocks, names: &[(u8, &str)]) -> Self {
        let mut port = 0;
        for (last, name) in names {
            let listener = TcpListener::bind((address(*last), port)).expect("a listener");
            port = listener.local_addr().expect("its address").port();
            mocks.serve(listener, name).expect("serving");
        }
        Self { mocks, port }
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect((address(1), self.port)).await.expect("a connection")
    }

    /// Sends this, closes our side, and reads all that comes back.
    pub(super) async fn send(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_ref()).await.expect("sending");
        stream.shutdown().await.expect("closing our side");
        read_all(&mut stream).await
    }

    /// Sends a request with a body.
    pub(super) async fn post(&self, path: &str, body: &str) -> String {
        self.send(format!("POST {path} HTTP/1.1\r\nhost: mock\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await
    }

    pub(super) async fn get(&self, path: &str) -> String {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: mock\r\n\r\n")).await
    }

    pub(super) fn journal(&self) -> Journal {
        self.mocks.journals().remove("mock").expect("a journal")
    }

    /// Waits until this many exchanges are in the journal.
    pub(super) async fn recorded(&self, exchanges: usize) -> Journal {
        let until = Instant::now() + DEADLINE;
        while self.journal().exchanges.len() < exchanges {
            assert!(Instant::now() < until, "{:?}", self.journal());
            sleep(Duration::from_millis(2)).await;
        }
        self.journal()
    }
}

/// Reads until the other side closes.
pub(super) async fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("an end in time");
    if let Err(error) = read {
        assert!(!answer.is_empty(), "{error}");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Reads until the bytes end with this.
pub(super) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(end.as_bytes()) {
        let read = timeout(DEADLINE, stream.read_buf(&mut answer)).await.expect("an answer in time");
        assert!(read.expect("reading") > 0, "ended early: {}", String::from_utf8_lossy(&answer));
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer.
pub(super) fn status(answer: &str) -> u16 {
    let word = answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer:?}"));
    word.parse().unwrap_or_else(|_| panic!("no status: {answer:?}"))
}

/// A header of an answer.
pub(super) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next().unwrap_or_default();
    let mut headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// The body of an answer.
pub(super) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}
