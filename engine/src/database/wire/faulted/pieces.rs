//! Cuts a stream into whole messages, with their headers.

use super::super::frames::Kind;

/// The longest message that can be kept whole: a packet of MySQL that is longer goes on in the next one.
pub(super) const LONGEST: usize = 0xff_ffff;

/// Cuts a stream; a message that is too long comes in parts.
#[derive(Debug)]
pub(super) struct Pieces {
    kind: Kind,
    longest: usize,
    kept: Vec<u8>,
    /// Bytes of a long message that are still to come.
    left: usize,
}

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A whole message.
    Whole(Vec<u8>),
    /// A part of one that is too long.
    Part(Vec<u8>),
}

impl Pieces {
    /// Messages up to so many bytes are kept whole.
    pub(super) fn new(kind: Kind, longest: usize) -> Self {
        Self { kind, longest: longest.min(LONGEST), kept: Vec::new(), left: 0 }
    }

    /// The next piece; the bytes after it are left in `bytes`.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<Piece> {
        if self.left > 0 {
            let (part, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= part.len();
            *bytes = rest;
            return (!part.is_empty()).then(|| Piece::Part(part.to_vec()));
        }
        let header = match self.kind {
            Kind::Postgres => 5,
            Kind::MySql => 4,
        };
        if !self.fill(header, bytes) {
            return None;
        }
        let length = self.length();
        if length > self.longest {
            self.left = length.saturating_sub(self.kept.len());
            return Some(Piece::Part(std::mem::take(&mut self.kept)));
        }
        self.fill(length, bytes).then(|| Piece::Whole(std::mem::take(&mut self.kept)))
    }

    /// Keeps bytes until there are so many.
    fn fill(&mut self, length: usize, bytes: &mut &[u8]) -> bool {
        let wanted = length.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..wanted]);
        *bytes = &bytes[wanted..];
        self.kept.len() >= length
    }

    /// The length of the message whose header is kept, with that.
    fn length(&self) -> usize {
        match (self.kind, self.kept.as_slice()) {
            (Kind::Postgres, [_, a, b, c, d, ..]) => (u32::from_be_bytes([*a, *b, *c, *d]) as usize).max(4) + 1,
            (Kind::MySql, [a, b, c, ..]) => u32::from_le_bytes([*a, *b, *c, 0]) as usize + 4,
            _ => self.kept.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Piece, Pieces};

    fn cut(kind: Kind, longest: usize, stream: &[u8], chunk: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
        let mut pieces = Pieces::new(kind, longest);
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        for mut bytes in stream.chunks(chunk) {
            while let Some(piece) = pieces.next(&mut bytes) {
                match piece {
                    Piece::Whole(message) => whole.push(message),
                    Piece::Part(part) => parts.extend(part),
                }
            }
            assert!(bytes.is_empty());
        }
        (whole, parts)
    }

    #[test]
    fn messages_are_whole_however_the_stream_is_cut_and_long_ones_come_in_parts() {
        let postgres = b"Q\0\0\0\x07abcX\0\0\0\x04d\0\0\0\x0eabcdefghijZ\0\0\0\x05I";
        let mysql = [2, 0, 0, 0, 3, 4, 0, 0, 0, 1, 9, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        for chunk in 1..30 {
            let (whole, parts) = cut(Kind::Postgres, 10, postgres, chunk);
            assert_eq!(whole, [b"Q\0\0\0\x07abc".to_vec(), b"X\0\0\0\x04".to_vec(), b"Z\0\0\0\x05I".to_vec()]);
            assert_eq!(parts, b"d\0\0\0\x0eabcdefghij");
            let (whole, parts) = cut(Kind::MySql, 10, &mysql, chunk);
            assert_eq!((whole, parts), (vec![mysql[..6].to_vec(), mysql[6..10].to_vec()], mysql[10..].to_vec()));
        }
    }
}
