//! Connections of which every byte that the agent sends is looked at for honeytokens.
//!
//! Recorders search requests that they understand. A value may also travel in bytes that become no request in the end:
//! in a fragment, in trailers, or in a head that is refused.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::redact::{Redactor, StreamRedactor};

/// Number of reads of the bytes that were left unread, and the size of each.
const LEFT_READS: usize = 16;
const LEFT_BYTES: usize = 8 * 1024;

/// A connection of which every byte that comes in is looked at.
#[derive(Debug)]
pub(crate) struct Watched<S: AsyncRead + Unpin> {
    stream: S,
    /// `None` when there is nothing to look for.
    watch: Option<StreamRedactor>,
}

impl<S: AsyncRead + Unpin> Watched<S> {
    /// Searches incoming bytes, on behalf of the place that the redactor is for.
    pub(crate) fn new(stream: S, redactor: Option<&Redactor>) -> Self {
        let watch = redactor.filter(|redactor| !redactor.is_empty()).map(|redactor| redactor.glimpses().stream());
        Self { stream, watch }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if let (Poll::Ready(Ok(())), Some(watch)) = (&read, &mut this.watch) {
            watch.look(&buffer.filled()[before..]);
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl<S: AsyncRead + Unpin> Drop for Watched<S> {
    /// Searches the bytes that have come and were not read: a server that refuses a request does not read the rest of
    /// it.
    fn drop(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let mut context = Context::from_waker(Waker::noop());
        let mut space = [0; LEFT_BYTES];
        for _ in 0..LEFT_READS {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut self.stream).poll_read(&mut context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => watch.look(buffer.filled()),
                Poll::Ready(_) | Poll::Pending => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::Watched;
    use crate::redact::Redactor;

    #[tokio::test]
    async fn a_value_that_comes_in_pieces_is_seen_at_once() {
        let redactor = Redactor::new(&BTreeMap::from([("BAIT".to_owned(), "s3cret-value".to_owned())]), "k");
        let (mut agent, ours) = duplex(64);
        let mut watched = Watched::new(ours, Some(&redactor.at("http mail")));
        let mut read = [0; 64];
        for part in ["GET /#s3cr", "et-value HTTP/1.1"] {
            agent.write_all(part.as_bytes()).await.expect("sent");
            let _ = watched.read(&mut read).await.expect("read");
        }
        assert_eq!(seen_by(&redactor), [("BAIT".to_owned(), "http mail".to_owned(), 1)]);
    }

    #[tokio::test]
    async fn what_nobody_reads_is_looked_at_in_the_end() {
        let redactor = Redactor::new(&BTreeMap::from([("BAIT".to_owned(), "s3cret-value".to_owned())]), "k");
        let (mut agent, ours) = duplex(64);
        let mut watched = Watched::new(ours, Some(&redactor.at("http mail")));
        agent.write_all(b"GE T /s3cret-value HTTP/1.1").await.expect("sent");
        let _ = watched.read(&mut [0; 8]).await.expect("read");
        drop(watched);
        assert_eq!(seen_by(&redactor), [("BAIT".to_owned(), "http mail".to_owned(), 1)]);
    }

    fn seen_by(redactor: &Redactor) -> Vec<(String, String, u64)> {
        redactor.sightings().into_iter().map(|leak| (leak.secret, leak.place, leak.count)).collect()
    }
}
