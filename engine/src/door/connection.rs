//! A connection to a doorkeeper: frames out, frames and descriptors in, each event to its caller.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use doorkeeper::protocol::{Decoder, Event, Greeting, Message, Request, Stream, VERSION, encode};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::DoorError;

/// Timeout for a doorkeeper that says nothing about something that it does by itself.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time limit of one operation, although the doorkeeper reports that it works on it.
const MOST_WORK: Duration = Duration::from_secs(300);
/// Number of descriptors that one read takes along.
const MOST_DESCRIPTORS: usize = 8;
/// Number of bytes that one read takes.
const READ_BYTES: usize = 64 * 1024;

/// An event, and the descriptor that came with it.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) event: Event,
    pub(super) descriptor: Option<OwnedFd>,
}

/// A connection to a doorkeeper.
#[derive(Debug)]
pub(super) struct Connection {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    state: Mutex<State>,
    ended: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    last_id: u32,
    waiting: HashMap<u32, mpsc::UnboundedSender<Reply>>,
    /// Reason why the connection ended.
    ended: Option<String>,
}

/// A request that was sent, and what comes back.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: u32,
    replies: mpsc::UnboundedReceiver<Reply>,
    connection: Arc<Connection>,
}

impl Connection {
    /// Greets the doorkeeper on a fresh connection, and begins to serve it.
    pub(super) async fn open(stream: UnixStream) -> Result<Arc<Self>, DoorError> {
        let mut reader = Reader::new(stream);
        let greeting = reader.next().await.map_err(|error| closed(error.to_string()))?;
        match greeting {
            Some((Message::Greeting(Greeting { version: VERSION }), _)) => {}
            Some((Message::Greeting(Greeting { version }), _)) => {
                return Err(closed(format!("it speaks version {version} of the protocol, and this worker {VERSION}")));
            }
            _ => return Err(closed("it did not greet".to_owned())),
        }
        let (outgoing, queue) = mpsc::unbounded_channel();
        let _ = outgoing.send(encode(&Message::Greeting(Greeting { version: VERSION })));
        let connection = Arc::new(Self { outgoing, state: Mutex::default(), ended: CancellationToken::new() });
        let (reader, writer) = reader.split();
        tokio::spawn(write(writer, queue, connection.ended.clone()));
        tokio::spawn(read(reader, Arc::downgrade(&connection), connection.ended.clone()));
        Ok(connection)
    }

    /// Sends a request under a number of its own.
    pub(super) fn call(self: &Arc<Self>, request: impl FnOnce(u32) -> Request) -> Result<Call, DoorError> {
        let (sender, replies) = mpsc::unbounded_channel();
        let id = {
            let mut state = self.state();
            if let Some(reason) = &state.ended {
                return Err(closed(reason.clone()));
            }
            state.last_id = state.last_id.wrapping_add(1).max(1);
            let id = state.last_id;
            state.waiting.insert(id, sender);
            id
        };
        self.send(&request(id));
        Ok(Call { id, replies, connection: Arc::clone(self) })
    }

    /// Sends a request that has no answer of its own.
    pub(super) fn send(&self, request: &Request) {
        let _ = self.outgoing.send(encode(&Message::Request(request.clone())));
    }

    /// Returns true if the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.ended.is_cancelled()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dispatch(&self, event: Event, descriptor: Option<OwnedFd>) {
        let id = event.id();
        let mut state = self.state();
        let gone = state.waiting.get(&id).is_some_and(|sender| sender.send(Reply { event, descriptor }).is_err());
        if gone {
            state.waiting.remove(&id);
        }
    }

    fn end(&self, reason: String) {
        let mut state = self.state();
        state.ended.get_or_insert(reason);
        state.waiting.clear();
        self.ended.cancel();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

impl Call {
    /// The next event; an event that says that it failed is an error.
    pub(super) async fn next(&mut self) -> Result<Reply, DoorError> {
        match self.replies.recv().await {
            Some(Reply { event: Event::Failed { failure, .. }, .. }) => Err(DoorError::Failed(failure)),
            Some(reply) => Ok(reply),
            None => Err(closed(self.connection.state().ended.clone().unwrap_or_else(|| "it hung up".to_owned()))),
        }
    }

    /// The next event of something that a doorkeeper does by itself, for which it does not take long.
    pub(super) async fn answer(&mut self) -> Result<Reply, DoorError> {
        let silent = |_| DoorError::Silent { seconds: PATIENCE.as_secs() };
        let deadline = tokio::time::Instant::now() + MOST_WORK;
        loop {
            let reply = tokio::time::timeout(PATIENCE, self.next()).await.map_err(silent)??;
            if !matches!(reply.event, Event::Working { .. }) {
                return Ok(reply);
            }
            if tokio::time::Instant::now() > deadline {
                return Err(DoorError::Late { seconds: MOST_WORK.as_secs() });
            }
        }
    }

    /// The connection that it was sent on.
    pub(super) fn connection(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }

    /// Allows as many more bytes of a stream as were taken.
    pub(super) fn credit(&self, stream: Stream, bytes: u32) {
        self.connection.send(&Request::Credit { id: self.id, stream, bytes });
    }

    /// Sends a request about this one and waits until it is done.
    pub(super) async fn about(&self, request: impl FnOnce(u32) -> Request) -> Result<(), DoorError> {
        self.connection.call(request)?.answer().await.map(|_| ())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // An answer may have come already; then the doorkeeper has forgotten the number, and this says nothing new.
        if self.connection.state().waiting.remove(&self.id).is_some() {
            self.connection.send(&Request::Cancel { id: self.id });
        }
    }
}

fn closed(reason: String) -> DoorError {
    DoorError::Closed { reason }
}

async fn write(mut half: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<Vec<u8>>, ended: CancellationToken) {
    while let Some(Some(frame)) = ended.run_until_cancelled(queue.recv()).await {
        if half.write_all(&frame).await.is_err() {
            break;
        }
    }
}

async fn read(mut reader: Reader, connection: std::sync::Weak<Connection>, ended: CancellationToken) {
    let reason = loop {
        match ended.run_until_cancelled(reader.next()).await {
            None => break "the worker hung up".to_owned(),
            Some(Ok(Some((Message::Event(event), descriptor)))) => match connection.upgrade() {
                Some(connection) => connection.dispatch(event, descriptor),
                None => break "nobody listens any more".to_owned(),
            },
            Some(Ok(Some(_))) => break "it sent something that is no event".to_owned(),
            Some(Ok(None)) => break "it hung up".to_owned(),
            Some(Err(error)) => break error.to_string(),
        }
    };
    if let Some(connection) = connection.upgrade() {
        connection.end(reason);
    }
}

/// Takes messages and descriptors off a socket.
#[derive(Debug)]
struct Reader {
    stream: ReadEnd,
    decoder: Decoder,
    descriptors: VecDeque<OwnedFd>,
}

#[derive(Debug)]
enum ReadEnd {
    Whole(UnixStream),
    Half(tokio::net::unix::OwnedReadHalf),
}

impl ReadEnd {
    fn stream(&self) -> &UnixStream {
        match self {
            Self::Whole(stream) => stream,
            Self::Half(half) => half.as_ref(),
        }
    }
}

impl Reader {
    fn new(stream: UnixStream) -> Self {
        Self { stream: ReadEnd::Whole(stream), decoder: Decoder::default(), descriptors: VecDeque::new() }
    }

    /// The same reader, and the other direction.
    #[expect(clippy::panic, reason = "a reader is split once, by the one function that makes it")]
    fn split(self) -> (Self, OwnedWriteHalf) {
        let ReadEnd::Whole(stream) = self.stream else { panic!("the reader was split before") };
        let (read, write) = stream.into_split();
        (Self { stream: ReadEnd::Half(read), ..self }, write)
    }

    /// The next message with its descriptor; `None` when the other side hung up.
    async fn next(&mut self) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
        loop {
            let decoded = self.decoder.take();
            if let Some(message) = decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))? {
                let carries = matches!(message, Message::Event(Event::Descriptor { .. }));
                let descriptor = if carries { self.descriptors.pop_front() } else { None };
                return Ok(Some((message, descriptor)));
            }
            if !self.fill().await? {
                return Ok(None);
            }
        }
    }

    async fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = vec![0; READ_BYTES];
        let stream = self.stream.stream();
        let (read, descriptors) = stream.async_io(Interest::READABLE, || receive(stream, &mut bytes)).await?;
        self.descriptors.extend(descriptors);
        self.decoder.feed(&bytes[..read]);
        Ok(read > 0)
    }
}

fn receive(stream: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(stream, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok((received.bytes, descriptors.flatten().collect()))
}
