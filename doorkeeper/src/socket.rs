//! Messages and descriptors over a Unix socket, for callers that may block: the first greeting, and tests.
//!
//! A descriptor travels with the first byte of its frame, and the kernel keeps the order. So the receiver puts
//! descriptors into a queue, and each [`Event::Descriptor`] takes the next.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::protocol::{Decoder, Event, Message, encode};

/// Number of bytes that are received at once.
const PIECE: usize = 64 * 1024;
/// The most descriptors that are received at once; the doorkeeper sends one with a frame.
const DESCRIPTORS: usize = 4;

/// One end of the connection between the worker and the doorkeeper.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    stream: UnixStream,
    /// Decodes what arrived, and holds the part of a message that is not complete.
    decoder: Decoder,
    /// Descriptors whose frame was not taken yet.
    descriptors: VecDeque<OwnedFd>,
}

impl Connection {
    /// Speaks over a connected socket.
    #[must_use]
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, decoder: Decoder::default(), descriptors: VecDeque::new() }
    }

    /// The socket itself, to set time limits on it.
    #[must_use]
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Returns the socket, and the decoder with the part of the next messages that arrived already.
    #[must_use]
    pub fn into_parts(self) -> (UnixStream, Decoder) {
        (self.stream, self.decoder)
    }

    /// Sends a whole message, with a descriptor if it has one.
    ///
    /// # Errors
    ///
    /// When the socket fails.
    pub fn send(&mut self, message: &Message, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let frame = encode(message);
        let mut sent = send_some(&self.stream, &frame, descriptor)?;
        while sent < frame.len() {
            sent += send_some(&self.stream, &frame[sent..], None)?;
        }
        Ok(())
    }

    /// Waits for the next message, and for its descriptor if it is [`Event::Descriptor`]. `None` is the end.
    ///
    /// # Errors
    ///
    /// When the socket fails, when the bytes are not a message, and when the connection ends within one.
    pub fn receive(&mut self) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
        loop {
            let taken = self.decoder.take().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if let Some(message) = taken {
                let wanted = matches!(message, Message::Event(Event::Descriptor { .. }));
                return Ok(Some((message, if wanted { self.descriptors.pop_front() } else { None })));
            }
            let bytes = receive_some(&self.stream, &mut self.descriptors)?;
            if bytes.is_empty() {
                let cut = self.decoder.is_within_message();
                return if cut { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(None) };
            }
            self.decoder.feed(&bytes);
        }
    }
}

/// Sends as much as the socket takes; the descriptor goes with the first byte.
///
/// # Errors
///
/// Returns the result of `sendmsg`, and repeats the call when it was interrupted.
pub fn send_some(socket: impl AsFd, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.map(|descriptor| [descriptor]);
    if let Some(descriptors) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    rustix::io::retry_on_intr(|| sendmsg(socket.as_fd(), &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL))
}

/// Receives the bytes that have arrived, and puts the descriptors that came along into a queue. No bytes mean the end.
///
/// # Errors
///
/// Returns the result of `recvmsg`, and repeats the call when it was interrupted.
pub fn receive_some(socket: impl AsFd, descriptors: &mut VecDeque<OwnedFd>) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; PIECE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    bytes.truncate(received.bytes);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;
    use crate::protocol::{Request, Stream};

    #[test]
    fn messages_arrive_in_order_and_descriptors_with_their_frame() {
        let (left, right) = UnixStream::pair().unwrap();
        let (mut left, mut right) = (Connection::new(left), Connection::new(right));
        let (mut reader, writer) = std::io::pipe().unwrap();
        left.send(&Message::greeting(), None).unwrap();
        left.send(&Event::Descriptor { id: 7 }.into(), Some(writer.as_fd())).unwrap();
        left.send(&Request::Shutdown.into(), None).unwrap();
        drop((left, writer));
        assert_eq!(right.receive().unwrap().unwrap().0, Message::greeting());
        let (message, descriptor) = right.receive().unwrap().unwrap();
        assert_eq!(message, Event::Descriptor { id: 7 }.into());
        std::fs::File::from(descriptor.unwrap()).write_all(b"through").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        assert_eq!(right.receive().unwrap().unwrap().0, Request::Shutdown.into());
        assert!(right.receive().unwrap().is_none());
    }

    #[test]
    fn a_message_larger_than_the_socket_buffer_arrives_whole() {
        let (left, right) = UnixStream::pair().unwrap();
        let data: Message = Event::Data { id: 1, stream: Stream::Out, bytes: vec![7; 2 << 20] }.into();
        let expected = data.clone();
        let sender = std::thread::spawn(move || Connection::new(left).send(&data, None).unwrap());
        assert_eq!(Connection::new(right).receive().unwrap().unwrap().0, expected);
        sender.join().unwrap();
    }

    #[test]
    fn a_connection_that_ends_within_a_message_is_an_error() {
        let (mut left, right) = UnixStream::pair().unwrap();
        left.write_all(&[0, 0, 0, 9, 1]).unwrap();
        drop(left);
        assert_eq!(Connection::new(right).receive().unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    }
}
