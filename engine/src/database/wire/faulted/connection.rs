//! A connection to a database, with faults.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateways::faults::{Decision, Fault, ServiceFaults, hang_time};
use gateways::listener::{Connection as Accepted, Reset};
use gateways::tls::Duplex;
use scenario::spec::sections::ServiceMode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::super::{Passed, Unfollowable};
use super::Faultable;
use super::lost::{Lost, Outcome};
use super::pieces::{LONGEST, Piece, Pieces};

/// Number of bytes that are read at once.
const CHUNK: usize = 32 << 10;
/// The longest message of a server that can be replaced.
const LONGEST_OF_SERVER: usize = 1 << 20;

/// The client's side to write to; nothing once the client is cut off.
type ToClient = AsyncMutex<Option<WriteHalf<Box<dyn Duplex>>>>;

/// The faults of one connection.
#[derive(Debug)]
pub(in super::super) struct FaultedConnection {
    faults: ServiceFaults,
    lost: Mutex<Option<Lost>>,
    /// Statements that wait for their delay.
    delayed: AtomicUsize,
    /// The client gets and sends nothing any more.
    cut: CancellationToken,
}

/// Continuation of the connection after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

/// Runs something with the conversation.
pub(in super::super) trait Converse: Sync {
    /// Runs it while nobody else does.
    fn with<T>(&self, what: impl FnOnce(&mut dyn Faultable) -> T) -> T;
}

impl FaultedConnection {
    /// A new connection.
    pub(in super::super) fn new(faults: ServiceFaults) -> Self {
        Self { faults, lost: Mutex::default(), delayed: AtomicUsize::new(0), cut: CancellationToken::new() }
    }

    /// Returns true if a statement waits for its delay.
    pub(in super::super) fn is_delayed(&self) -> bool {
        self.delayed.load(Ordering::Acquire) > 0
    }

    /// Takes back what had no effect, once nothing more is recorded.
    pub(in super::super) fn settle(&self, conversation: &mut dyn Faultable) {
        conversation.undone().iter().for_each(|fault| self.faults.take_back(fault));
        if let Some(lost) = self.lost().take() {
            self.faults.take_back(&lost.into_fault());
        }
    }

    /// Passes on both ways until the server ends, or the connection cannot be followed.
    pub(in super::super) async fn follow(
        &self,
        conversation: &impl Converse,
        client: Accepted,
        server: TcpStream,
    ) -> Result<(), Unfollowable> {
        let _ = server.set_nodelay(true);
        let Accepted { stream, reset, .. } = client;
        let (from_client, to_client) = split(stream);
        let (from_server, to_server) = server.into_split();
        let to_client = AsyncMutex::new(Some(to_client));
        let up = async {
            self.up(conversation, from_client, to_server, (&to_client, &reset)).await?;
            std::future::pending().await
        };
        tokio::select! {
            ended = self.down(conversation, from_server, &to_client) => ended,
            failed = up => failed,
        }
    }

    /// Passes on what the client says. Then the server is told the end, and still reads what it was sent before.
    async fn up(
        &self,
        conversation: &impl Converse,
        mut from: ReadHalf<Box<dyn Duplex>>,
        mut to: OwnedWriteHalf,
        (to_client, reset): (&ToClient, &Reset),
    ) -> Result<(), Unfollowable> {
        let mut chunk = vec![0; CHUNK];
        let mut pieces = Pieces::new(conversation.with(|conversation| conversation.kind()), LONGEST);
        'reading: loop {
            let length = tokio::select! {
                read = from.read(&mut chunk) => match read {
                    Ok(length @ 1..) => length,
                    _ => break,
                },
                () = self.cut.cancelled() => break,
            };
            let mut rest = &chunk[..length];
            if !conversation.with(|conversation| conversation.is_logged_in()) {
                let passed = conversation.with(|conversation| conversation.client_said(rest))?;
                if send(passed, &mut to, to_client).await == Next::End {
                    break;
                }
                continue;
            }
            while let Some(piece) = pieces.next(&mut rest) {
                let decision = self.decide(conversation, &piece);
                if self.wait(decision.delay).await == Next::End {
                    break 'reading;
                }
                let next = match decision.fault {
                    None => self.pass(conversation, piece, &mut to, to_client).await?,
                    Some(fault) => {
                        self.hit(conversation, piece, fault, (&mut from, &mut to), (to_client, reset)).await?
                    }
                };
                if next == Next::End {
                    break 'reading;
                }
            }
        }
        // A client that is cut off gets no end of answers either.
        if self.cut.is_cancelled() {
            to_client.lock().await.take();
        }
        drop(from);
        let _ = to.shutdown().await;
        Ok(())
    }

    fn decide(&self, conversation: &impl Converse, piece: &Piece) -> Decision<ServiceMode> {
        let Piece::Whole(message) = piece else { return Decision::none() };
        let call = conversation.with(|conversation| conversation.call(message));
        // While the answer to a commit is held back, the connection is about to end.
        let is_ending = self.lost().is_some();
        call.filter(|_| !is_ending).map_or_else(Decision::none, |call| self.faults.statement(&call))
    }

    /// Waits for the delay of a statement. One that outlives the agent is not sent any more.
    async fn wait(&self, delay: Duration) -> Next {
        if delay.is_zero() {
            return Next::GoOn;
        }
        self.delayed.fetch_add(1, Ordering::AcqRel);
        tokio::select! {
            () = sleep(delay) => {}
            () = self.cut.cancelled() => {}
        }
        self.delayed.fetch_sub(1, Ordering::AcqRel);
        if self.faults.is_over() || self.cut.is_cancelled() { Next::End } else { Next::GoOn }
    }

    async fn pass(
        &self,
        conversation: &impl Converse,
        piece: Piece,
        to: &mut OwnedWriteHalf,
        to_client: &ToClient,
    ) -> Result<Next, Unfollowable> {
        let (Piece::Whole(bytes) | Piece::Part(bytes)) = piece;
        let passed = conversation.with(|conversation| conversation.client_said(&bytes))?;
        Ok(send(passed, to, to_client).await)
    }

    /// Carries out a fault.
    async fn hit(
        &self,
        conversation: &impl Converse,
        piece: Piece,
        fault: Fault<ServiceMode>,
        (from, to): (&mut ReadHalf<Box<dyn Duplex>>, &mut OwnedWriteHalf),
        (to_client, reset): (&ToClient, &Reset),
    ) -> Result<Next, Unfollowable> {
        let (Piece::Whole(message) | Piece::Part(message)) = piece;
        match &fault.mode {
            ServiceMode::Error(_) | ServiceMode::ReadOnly(_) => {
                let to_server = conversation.with(|conversation| conversation.refuse(&message, fault))?;
                return Ok(send(Passed { to_server, ..Passed::default() }, to, to_client).await);
            }
            ServiceMode::CommitUnknown(_) => {
                let passed = conversation.with(|conversation| {
                    let passed = conversation.client_said(&message);
                    let owed = conversation.owed() + conversation.owed_later(&message);
                    *self.lost() = Some(Lost::new(fault, owed));
                    passed
                })?;
                return Ok(send(passed, to, to_client).await);
            }
            mode if mode.is_about_whole_service() => {
                self.faults.carry_out(&fault).await;
                return self.pass(conversation, Piece::Whole(message), to, to_client).await;
            }
            ServiceMode::KillSession(_) => {
                let last = conversation.with(|conversation| conversation.killed());
                if let Some(to_client) = to_client.lock().await.as_mut() {
                    let _ = to_client.write_all(&last).await;
                    let _ = to_client.shutdown().await;
                }
            }
            ServiceMode::Hang(_) => hang(from, hang_time(&fault.mode).unwrap_or_default()).await,
            _ => reset.arm(),
        }
        self.cut.cancel();
        Ok(Next::End)
    }

    /// Passes on what the server says, with what faults make of it.
    async fn down(
        &self,
        conversation: &impl Converse,
        mut from: OwnedReadHalf,
        to: &ToClient,
    ) -> Result<(), Unfollowable> {
        let mut chunk = vec![0; CHUNK];
        let mut pieces = Pieces::new(conversation.with(|conversation| conversation.kind()), LONGEST_OF_SERVER);
        while let Ok(length @ 1..) = from.read(&mut chunk).await {
            let mut rest = &chunk[..length];
            let mut to_client = Vec::new();
            while let Some(piece) = pieces.next(&mut rest) {
                let answer = conversation.with(|conversation| self.heard(conversation, &piece))?;
                to_client.extend(answer);
            }
            if let Some(to) = to.lock().await.as_mut().filter(|_| !to_client.is_empty()) {
                // A client that has gone does not matter: the server's answers are read to the end.
                let _ = to.write_all(&to_client).await;
            }
            if self.cut.is_cancelled()
                && let Some(mut to) = to.lock().await.take()
            {
                let _ = to.shutdown().await;
            }
        }
        if let Some(mut to) = to.lock().await.take() {
            let _ = to.shutdown().await;
        }
        Ok(())
    }

    /// Returns the bytes that the client gets of a message of the server.
    fn heard(&self, conversation: &mut dyn Faultable, piece: &Piece) -> Result<Vec<u8>, Unfollowable> {
        let (Piece::Whole(message) | Piece::Part(message)) = piece;
        let is_whole = matches!(piece, Piece::Whole(_));
        let (replacement, failed) = match is_whole && conversation.is_logged_in() {
            true => (conversation.replacement(message), conversation.tells_failure(message)),
            false => (None, None),
        };
        let owed = conversation.owed();
        let passed = conversation.server_said(message)?;
        conversation.undone().iter().for_each(|fault| self.faults.take_back(fault));
        let to_client = replacement.unwrap_or(passed.to_client);
        if self.cut.is_cancelled() {
            return Ok(Vec::new());
        }
        let mut lost = self.lost();
        let Some(commit) = lost.take() else { return Ok(to_client) };
        match commit.heard(&to_client, owed.saturating_sub(conversation.owed()), failed) {
            Outcome::Open(commit) => *lost = Some(commit),
            Outcome::Made => self.cut.cancel(),
            Outcome::Refused(answers, fault) => {
                self.faults.take_back(&fault);
                return Ok(answers);
            }
        }
        Ok(Vec::new())
    }

    fn lost(&self) -> MutexGuard<'_, Option<Lost>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what is to be sent after something was received.
async fn send(passed: Passed, to_server: &mut OwnedWriteHalf, to_client: &ToClient) -> Next {
    if !passed.to_client.is_empty()
        && let Some(to_client) = to_client.lock().await.as_mut()
        && to_client.write_all(&passed.to_client).await.is_err()
    {
        return Next::End;
    }
    if to_server.write_all(&passed.to_server).await.is_err() { Next::End } else { Next::GoOn }
}

/// Answers nothing for so long, unless the client goes before that.
async fn hang(from: &mut ReadHalf<Box<dyn Duplex>>, wait: Duration) {
    let mut nothing = [0; 1024];
    let _ = timeout(wait, async { while matches!(from.read(&mut nothing).await, Ok(1..)) {} }).await;
}
