//! Questions over UDP and TCP.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use scenario::evidence::AuditEvent;
use scenario::spec::sections::DnsAnswer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Shared;
use super::message::{Incoming, MOST_BYTES, Question, read};
use super::zone::Resolution;
use crate::addresses::EGRESS;
use crate::faults::Lookup;
use crate::listener::{Connection, DRAIN, IdleTimeout, Listener, ListenerLimits};

/// The bounds of connections; a question must come within the idle time.
const LIMITS: ListenerLimits =
    ListenerLimits { connections: 32, idle: IdleTimeout::Requests(Duration::from_secs(10)), drain: DRAIN };
/// Number of questions that may be asked outside at once; more are answered with nothing.
const ASKED_OUTSIDE: usize = 32;
/// Pause after a failure, so that it does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(20);

/// Answers datagrams.
pub(super) async fn datagrams(socket: UdpSocket, shared: Arc<Shared>) {
    let socket = Arc::new(socket);
    let room = Arc::new(Semaphore::new(ASKED_OUTSIDE));
    let mut asking = JoinSet::new();
    // One more than is read, so that a larger one is seen to be larger.
    let mut buffer = vec![0; MOST_BYTES + 1];
    loop {
        while asking.try_join_next().is_some() {}
        let Ok((size, from)) = socket.recv_from(&mut buffer).await else {
            sleep(PAUSE).await;
            continue;
        };
        let answer = match read(&buffer[..size]) {
            Incoming::Noise => continue,
            Incoming::Refused(answer) => Some(answer),
            Incoming::Question(question) => {
                match (shared.zone.find(&question.name), Arc::clone(&room).try_acquire_owned()) {
                    (Resolution::Address(address), _) => shared.answer(&question, Some(address)),
                    (Resolution::Outside, Ok(place)) => {
                        let (socket, shared) = (Arc::clone(&socket), Arc::clone(&shared));
                        asking.spawn(async move {
                            if let Some(answer) = shared.answer_from_outside(&question).await {
                                let _ = socket.send_to(&answer, from).await;
                            }
                            drop(place);
                        });
                        continue;
                    }
                    _ => shared.answer(&question, None),
                }
            }
        };
        if let Some(answer) = answer {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

/// Answers connections.
pub(super) fn listen(socket: TcpListener, shared: Arc<Shared>) -> io::Result<Listener> {
    let listener = Listener::new("the DNS", LIMITS);
    listener.serve(socket, None, move |connection| {
        let shared = Arc::clone(&shared);
        async move {
            // However a connection ends, nothing is owed to it.
            let _ = converse(connection, &shared).await;
        }
    })?;
    Ok(listener)
}

/// Answers one connection until it ends.
async fn converse(connection: Connection, shared: &Shared) -> io::Result<()> {
    let Connection { mut stream, activity, .. } = connection;
    let mut buffer = vec![0; MOST_BYTES];
    loop {
        let size = usize::from(stream.read_u16().await?);
        if size > MOST_BYTES {
            return Ok(());
        }
        stream.read_exact(&mut buffer[..size]).await?;
        let under_way = activity.begin();
        let answer = match read(&buffer[..size]) {
            Incoming::Noise => return Ok(()),
            Incoming::Refused(answer) => Some(answer),
            Incoming::Question(question) => match shared.zone.find(&question.name) {
                Resolution::Address(address) => shared.answer(&question, Some(address)),
                Resolution::Outside => shared.answer_from_outside(&question).await,
                Resolution::Nothing => shared.answer(&question, None),
            },
        };
        drop(under_way);
        // A question that gets no answer leaves the connection open.
        let Some(answer) = answer else { continue };
        let length = u16::try_from(answer.len()).unwrap_or(0).to_be_bytes();
        stream.write_all(&[length.as_slice(), &answer].concat()).await?;
    }
}

impl Shared {
    /// The answer to a question, after it was written down; `None` when it gets none, on purpose.
    fn answer(&self, question: &Question, address: Option<Ipv4Addr>) -> Option<Vec<u8>> {
        let name = self.redactor.host_name(&question.name);
        let failure = self.failure(question, &name, address.is_some());
        let address = address.filter(|_| failure.is_none());
        self.questions.record(AuditEvent::Dns {
            name,
            kind: question.kind.to_string(),
            answer: address.map(|address| address.to_string()),
        });
        match failure {
            None | Some(DnsAnswer::Nxdomain) => Some(question.answer(address)),
            Some(DnsAnswer::Servfail) => Some(question.server_failure()),
            Some(DnsAnswer::Timeout) => None,
        }
    }

    /// The answer that a fault gives in place of the right one.
    fn failure(&self, question: &Question, shown: &str, exists: bool) -> Option<DnsAnswer> {
        let asks_address = question.asks_address();
        self.faults.as_ref()?.lookup(&Lookup { name: &question.name, shown, asks_address, exists })
    }

    /// The answer to a question about a name that is not allowed: it leads to the egress gateway, which refuses it.
    async fn answer_from_outside(&self, question: &Question) -> Option<Vec<u8>> {
        let exists = self.zone.exists_outside(&question.name).await;
        self.answer(question, exists.then_some(EGRESS))
    }
}
