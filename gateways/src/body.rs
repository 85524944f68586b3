//! Bodies of requests as they come in: the part that is kept, and the size and hash of the whole.

use scenario::evidence::{Blob, Body};
use scenario::hex;
use sha2::{Digest, Sha256};

use super::memory_budget::{Room, Share};

/// Number of bytes of one body that are kept: 1 MiB. Bodies that checks read are far smaller, and a larger one keeps
/// its beginning.
pub const KEPT_BODY_BYTES: usize = 1024 * 1024;

/// The body of a request that is coming in. It keeps the beginning, and counts and hashes the rest.
#[derive(Debug)]
pub struct IncomingBody {
    kept: Vec<u8>,
    most: usize,
    size: u64,
    /// Hash of the whole body; it exists once the body is larger than the part that is kept.
    hash: Option<Sha256>,
    share: Share,
    /// True when there was no room for a part of it.
    dropped: bool,
}

impl IncomingBody {
    /// An empty body that keeps at most `most` bytes, as far as there is room for them.
    #[must_use]
    pub fn new(most: usize, room: &Room) -> Self {
        Self { kept: Vec::new(), most, size: 0, hash: None, share: room.share(), dropped: false }
    }

    /// Takes the next part; `false` when there is no room for it, and then nothing of the body is kept.
    #[must_use]
    pub fn push(&mut self, part: &[u8]) -> bool {
        self.size += part.len() as u64;
        let fits = part.len().min(self.most - self.kept.len());
        if self.dropped || !self.share.grow(fits) {
            self.dropped = true;
            self.kept = Vec::new();
            return false;
        }
        if fits < part.len() {
            self.hash.get_or_insert_with(|| Sha256::new_with_prefix(&self.kept)).update(part);
        }
        self.kept.extend_from_slice(&part[..fits]);
        true
    }

    /// Returns the number of bytes that have arrived.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the bytes that are kept.
    #[must_use]
    pub fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// Returns true if all bytes that arrived are kept.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.hash.is_none() && !self.dropped
    }

    /// The body as it is recorded.
    #[must_use]
    pub fn into_evidence(self) -> Body {
        match self.hash {
            _ if self.dropped => Body::Dropped { size: self.size },
            None => Body::Kept(Blob(self.kept)),
            Some(hash) => Body::Cut { kept: Blob(self.kept), size: self.size, sha256: hex(hash.finalize()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scenario::evidence::{Blob, Body};
    use sha2::{Digest, Sha256};

    use super::{IncomingBody, hex};
    use crate::memory_budget::Room;

    fn read(parts: &[&[u8]], most: usize, room: usize) -> Body {
        let mut body = IncomingBody::new(most, &Room::new(room));
        for part in parts {
            if !body.push(part) {
                break;
            }
        }
        body.into_evidence()
    }

    #[test]
    fn a_body_that_fits_is_kept_whole() {
        assert_eq!(read(&[], 4, 4), Body::Kept(Blob::default()));
        assert_eq!(read(&[b"ab", b"cd"], 4, 4), Body::Kept("abcd".into()));
    }

    #[test]
    fn a_larger_body_keeps_its_beginning_its_size_and_its_hash() {
        // The digest of `abc`, as FIPS 180-2 gives it.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        assert_eq!(read(&[b"a", b"b", b"c"], 2, 9), Body::Cut { kept: "ab".into(), size: 3, sha256: sha256.clone() });
        assert_eq!(read(&[b"abc"], 2, 9), Body::Cut { kept: "ab".into(), size: 3, sha256 });
    }

    #[test]
    fn a_body_without_room_is_dropped() {
        assert_eq!(read(&[b"abc", b"de"], 9, 4), Body::Dropped { size: 5 });
    }

    proptest! {
        #[test]
        fn the_parts_do_not_matter(bytes: Vec<u8>, part in 1usize..9, most in 0usize..200) {
            let parts: Vec<&[u8]> = bytes.chunks(part).collect();
            let expected = if bytes.len() <= most {
                Body::Kept(Blob(bytes.clone()))
            } else {
                let sha256 = hex(Sha256::digest(&bytes));
                Body::Cut { kept: Blob(bytes[..most].to_vec()), size: bytes.len() as u64, sha256 }
            };
            prop_assert_eq!(read(&parts, most, 1000), expected);
        }
    }
}
