//! Cuts a stream into messages, of which only the beginning is kept.

/// Cuts a stream by the length that stands in the header of each message.
#[derive(Debug)]
pub(super) struct Frames {
    kind: Kind,
    header: Vec<u8>,
    body: Vec<u8>,
    left: u64,
    keep: usize,
    /// MySQL's longest packets go on in the next one.
    continues: bool,
    /// The number of the first of those packets.
    first: Option<u8>,
    is_cut: bool,
}

/// Kind of protocol, which decides how a header is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A letter, and a length that counts itself.
    Postgres,
    /// A length of three bytes, and a number.
    MySql,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// Postgres's letter, or the number of MySQL's (first) packet.
    pub(super) tag: u8,
    /// Its content, as far as it is kept.
    pub(super) body: Vec<u8>,
    /// True when it was longer.
    pub(super) is_cut: bool,
}

/// The longest message of Postgres.
const LONGEST_POSTGRES: u64 = 1 << 30;
/// The length of a packet of MySQL that goes on in the next one.
const FULL_PACKET: u64 = 0xff_ffff;

impl Frames {
    /// Keeps this much of each message.
    pub(super) fn new(kind: Kind, keep: usize) -> Self {
        Self { kind, header: Vec::new(), body: Vec::new(), left: 0, keep, continues: false, first: None, is_cut: false }
    }

    /// Takes bytes until a message is complete; the bytes after it are left in `bytes`. An error is a header that
    /// cannot be.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, &'static str> {
        loop {
            if self.header.len() < self.header_length() {
                let wanted = (self.header_length() - self.header.len()).min(bytes.len());
                self.header.extend_from_slice(&bytes[..wanted]);
                *bytes = &bytes[wanted..];
                if self.header.len() < self.header_length() {
                    return Ok(None);
                }
                self.left = self.length()?;
            }
            self.take_body(bytes);
            if self.left > 0 {
                return Ok(None);
            }
            let tag = match self.kind {
                Kind::Postgres => self.header[0],
                Kind::MySql => self.header[3],
            };
            self.header.clear();
            let tag = *self.first.get_or_insert(tag);
            if !self.continues {
                self.first = None;
                let is_cut = std::mem::take(&mut self.is_cut);
                return Ok(Some(Frame { tag, body: std::mem::take(&mut self.body), is_cut }));
            }
        }
    }

    fn take_body(&mut self, bytes: &mut &[u8]) {
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let (own, rest) = bytes.split_at(length);
        let room = self.keep.saturating_sub(self.body.len()).min(own.len());
        self.body.extend_from_slice(&own[..room]);
        self.is_cut |= room < own.len();
        self.left -= length as u64;
        *bytes = rest;
    }

    fn header_length(&self) -> usize {
        match self.kind {
            Kind::Postgres => 5,
            Kind::MySql => 4,
        }
    }

    fn length(&mut self) -> Result<u64, &'static str> {
        match (self.kind, self.header.as_slice()) {
            (Kind::Postgres, [_, a, b, c, d]) => {
                let length = u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
                length
                    .checked_sub(4)
                    .filter(|length| *length <= LONGEST_POSTGRES)
                    .ok_or("a message of no possible length")
            }
            (Kind::MySql, [a, b, c, _]) => {
                let length = u64::from(u32::from_le_bytes([*a, *b, *c, 0]));
                self.continues = length == FULL_PACKET;
                Ok(length)
            }
            _ => Err("a broken header"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Frames, Kind};

    #[test]
    fn a_packet_of_sixteen_mebibytes_goes_on_in_the_next() {
        let mut stream = vec![0xff, 0xff, 0xff, 0];
        stream.resize(4 + 0xff_ffff, 7);
        stream.extend([2, 0, 0, 1, 8, 9, 0, 0, 0, 0]);
        let mut frames = Frames::new(Kind::MySql, 0xff_ffff + 10);
        let mut bytes = stream.as_slice();
        let frame = frames.next(&mut bytes).expect("a header").expect("a packet");
        assert_eq!((frame.tag, frame.body.len(), frame.is_cut), (0, 0xff_ffff + 2, false));
        assert_eq!(frame.body[0xff_ffff..], [8, 9]);
        let empty = frames.next(&mut bytes).expect("a header").expect("a packet");
        assert!(empty.body.is_empty() && bytes.is_empty());
    }

    #[test]
    fn only_the_beginning_of_a_message_is_kept() {
        let mut frames = Frames::new(Kind::Postgres, 3);
        let mut bytes: &[u8] = b"Q\0\0\0\x0aabcdefX\0\0\0\x04";
        let frame = frames.next(&mut bytes).expect("a header").expect("a message");
        assert_eq!((frame.tag, frame.body.as_slice(), frame.is_cut), (b'Q', b"abc".as_slice(), true));
        assert_eq!(frames.next(&mut bytes).expect("a header").map(|frame| frame.tag), Some(b'X'));
        assert!(frames.next(&mut b"Q\0\0\0\x03".as_slice()).is_err());
    }
}
