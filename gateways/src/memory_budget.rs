//! Memory budget for requests and answers under way, shared by all connections of a sandbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// A number of bytes that requests under way may take together.
#[derive(Debug, Clone)]
pub struct Room {
    left: Arc<AtomicUsize>,
}

/// Memory that one request took of a [`Room`]; it is given back on drop.
#[derive(Debug)]
pub struct Share {
    room: Room,
    taken: usize,
}

impl Room {
    /// Room for this many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(bytes)) }
    }

    /// A share of nothing, which can grow.
    #[must_use]
    pub fn share(&self) -> Share {
        Share { room: self.clone(), taken: 0 }
    }
}

impl Share {
    /// Takes this many bytes more; returns false if there is no room for them, and then takes nothing.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let taken =
            self.room.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(bytes)).is_ok();
        if taken {
            self.taken += bytes;
        }
        taken
    }
}

/// Bytes with the memory that they take.
struct Held {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Share {
    /// Bytes that keep the share until they have been sent.
    #[must_use]
    pub fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _share: self })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.left.fetch_add(self.taken, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn what_was_taken_comes_back_on_drop() {
        let room = Room::new(10);
        let mut first = room.share();
        let mut second = room.share();
        assert!(first.grow(4) && first.grow(4));
        assert!(!second.grow(3), "only two are left");
        assert!(second.grow(2));
        drop(first);
        assert!(second.grow(8));
    }
}
