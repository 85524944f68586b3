//! A worker's control port, asked by anybody.

use std::net::SocketAddr;
use std::time::Duration;

use scenario::interactive::{Answer, Ask, FileBytes, RefusalKind, Reply};
use store::SandboxState;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use worker::{Interactive, serve_control};

use crate::harness::{World, serve};

const TOKEN: &str = "c0ffee";

struct Port {
    address: SocketAddr,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Port {
    async fn open(interactive: Interactive) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, cancel) = (listener.local_addr().unwrap(), CancellationToken::new());
        let task = tokio::spawn(serve_control(listener, TOKEN.to_owned(), interactive, cancel.clone()));
        Self { address, cancel, task }
    }

    /// Sends a request as it is; returns the status, and the bytes after the headers.
    async fn send(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("{head}\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        // Who is refused early does not read the rest.
        let _ = stream.write_all(body).await;
        let mut answer = Vec::new();
        let reading = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_secs(20), reading).await.expect("an answer");
        let answer = String::from_utf8(answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
    }

    async fn ask(&self, ask: &Ask) -> Answer {
        let body = serde_json::to_vec(ask).unwrap();
        let (status, body) = self.send(&format!("POST /v1/ask HTTP/1.1\r\nAuthorization: Bearer {TOKEN}"), &body).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn close(self) {
        self.cancel.cancel();
        tokio::time::timeout(Duration::from_secs(20), self.task).await.expect("an end").unwrap();
    }
}

#[tokio::test]
async fn a_sandbox_is_asked_through_the_port_like_from_its_own_process() {
    let world = World::sqlite().await;
    world.want_sandbox("sb-1").await;
    let serving = serve(world.service_with(1, |_| ()));
    let port = Port::open(serving.interactive.clone()).await;
    world.until_sandbox("sb-1", SandboxState::Ready).await;
    let sandbox = || "sb-1".to_owned();
    let command = Ask::Command { sandbox: sandbox(), command: "ls".to_owned(), timeout_ms: None, background: false };
    let Answer::Reply(Reply::Command(reply)) = port.ask(&command).await else { panic!("a reply") };
    assert_eq!(reply.stdout, "ls");
    // As large as a file may be.
    let content = FileBytes(vec![7; scenario::interactive::MOST_FILE_BYTES]);
    assert_eq!(
        port.ask(&Ask::Write { sandbox: sandbox(), path: "x".to_owned(), content }).await,
        Answer::Reply(Reply::Done)
    );
    let Answer::Refused(refusal) = port.ask(&Ask::State { sandbox: "sb-2".to_owned() }).await else { panic!("no") };
    assert_eq!(refusal.kind, RefusalKind::NotFound);
    assert_eq!(port.ask(&Ask::Destroy { sandbox: sandbox() }).await, Answer::Reply(Reply::Done));
    assert_eq!(world.fake.live(), 0);
    serving.control.drain();
    serving.ended().await;
    port.close().await;
}

#[tokio::test]
async fn who_does_not_know_the_token_gets_nothing() {
    let port = Port::open(Interactive::default()).await;
    let body = serde_json::to_vec(&Ask::Destroy { sandbox: "sb-1".to_owned() }).unwrap();
    for authorization in
        ["", "\r\nAuthorization: Bearer ", "\r\nAuthorization: Bearer c0ffef", "\r\nAuthorization: c0ffee"]
    {
        for path in ["/v1/ask", "/", "/v1/other"] {
            let (status, said) = port.send(&format!("POST {path} HTTP/1.1{authorization}"), &body).await;
            assert_eq!(status, 401, "{authorization:?} {path}: {said}");
            assert!(said.contains("\"error\""), "{said}");
        }
    }
    let (status, said) = port.send("GET /healthz HTTP/1.1", b"").await;
    assert_eq!((status, said.as_str()), (200, r#"{"status":"ok"}"#));
    let (status, _) = port.send("POST /v1/ask HTTP/1.1", &vec![b'x'; 40 << 20]).await;
    assert_eq!(status, 401, "a body is not even looked at");
    port.close().await;
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let port = Port::open(Interactive::default()).await;
    let known = format!("\r\nAuthorization: Bearer {TOKEN}");
    let check = async |head: &str, body: &[u8], expected: u16| {
        let (status, said) = port.send(&format!("{head} HTTP/1.1{known}"), body).await;
        assert_eq!(status, expected, "{head}: {said}");
    };
    check("POST /v1/ask", b"", 400).await;
    check("POST /v1/ask", b"{}", 400).await;
    check("POST /v1/ask", b"{\"ask\": \"explode\", \"sandbox\": \"sb-1\"}", 400).await;
    check(
        "POST /v1/ask",
        b"{\"ask\": \"write\", \"sandbox\": \"s\", \"path\": \"x\", \"content\": \"no base64!\"}",
        400,
    )
    .await;
    check("POST /v1/ask", &[b'['; 100_000], 400).await;
    check("POST /v1/ask", &vec![b'x'; 24 << 20], 413).await;
    check("GET /v1/ask", b"", 405).await;
    check("POST /v1/else", b"", 404).await;
    // In pieces, without saying how many there will be.
    let mut stream = TcpStream::connect(port.address).await.unwrap();
    let head = format!("POST /v1/ask HTTP/1.1\r\nHost: x{known}\r\nTransfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'x'; 1 << 20], b"\r\n".to_vec()].concat();
    for _ in 0..30 {
        if stream.write_all(&piece).await.is_err() {
            break;
        }
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    port.close().await;
}

#[tokio::test]
async fn whoever_does_not_know_the_token_shuts_nobody_out() {
    let port = Port::open(Interactive::default()).await;
    let mut held = Vec::new();
    for beginning in ["", "GET /heal", "POST /v1/ask HTTP/1.1\r\nContent-Length: 9\r\n\r\n"] {
        for _ in 0..150 {
            let mut stream = TcpStream::connect(port.address).await.unwrap();
            let _ = stream.write_all(beginning.as_bytes()).await;
            held.push(stream);
        }
        assert_eq!(port.send("GET /healthz HTTP/1.1", b"").await.0, 200, "after {beginning:?}");
        let Answer::Refused(refusal) = port.ask(&Ask::State { sandbox: "sb-2".to_owned() }).await else { panic!("no") };
        assert_eq!(refusal.kind, RefusalKind::NotFound);
    }
    port.close().await;
}
