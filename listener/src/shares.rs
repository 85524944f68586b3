//! A number of places that are shared out by key: none takes all of them, and some are left for keys that have none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places that are shared out by key. Clones are the same places.
#[derive(Debug, Clone)]
pub struct Shares(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// All places.
    total: usize,
    /// Places that one key may have.
    per_key: usize,
    /// The last places, which only a key that has none gets.
    reserved: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    by_key: HashMap<String, usize>,
}

/// A place of a key, until it is dropped.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    key: String,
}

/// Reason why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The key has as many as it may have.
    #[error("this key has {0} of them open, which is the most that one key may have")]
    Key(usize),
    /// All are taken; those that are left are for keys that have none.
    #[error("all are taken")]
    All,
}

impl Shares {
    /// Makes places for everybody, of which one key may have `per_key`. An eighth is reserved for keys that have none.
    #[must_use]
    pub fn new(total: usize, per_key: usize) -> Self {
        Self::with_reserve(total, per_key, total / 8)
    }

    /// Places that one key may have all of.
    #[must_use]
    pub fn of_one_key(total: usize) -> Self {
        Self::with_reserve(total, total, 0)
    }

    fn with_reserve(total: usize, per_key: usize, reserved: usize) -> Self {
        Self(Arc::new(Inner { total, per_key, reserved, taken: Mutex::default() }))
    }

    /// Takes a place for a key.
    pub fn take(&self, key: &str) -> Result<Share, Full> {
        let mut taken = self.taken();
        let own = taken.by_key.get(key).copied().unwrap_or(0);
        if own > 0 && own >= self.0.per_key {
            return Err(Full::Key(own));
        }
        let reserved = if own == 0 { 0 } else { self.0.reserved };
        if taken.total + reserved >= self.0.total {
            return Err(Full::All);
        }
        taken.total += 1;
        *taken.by_key.entry(key.to_owned()).or_default() += 1;
        Ok(Share { shares: self.clone(), key: key.to_owned() })
    }

    /// Returns the number of places that are taken.
    #[must_use]
    pub fn count(&self) -> usize {
        self.taken().total
    }

    /// Returns the number of places that a key has taken.
    pub(crate) fn count_of(&self, key: &str) -> usize {
        self.taken().by_key.get(key).copied().unwrap_or(0)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Returns the key that has the place.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        taken.total = taken.total.saturating_sub(1);
        let left = taken.by_key.get_mut(&self.key).map(|own| {
            *own = own.saturating_sub(1);
            *own
        });
        // Keys come and go; those without a place are not remembered.
        if left == Some(0) {
            taken.by_key.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Full, Shares};

    #[test]
    fn no_key_takes_what_another_needs() {
        let shares = Shares::new(16, 4);
        let hog: Vec<_> = (0..4).map(|_| shares.take("hog").expect("a place")).collect();
        assert_eq!(shares.take("hog").expect_err("its share"), Full::Key(4));
        let other = shares.take("other").expect("a place");
        drop(hog);
        assert_eq!((shares.count(), shares.count_of("hog")), (1, 0));
        drop(other);
        assert!(shares.taken().by_key.is_empty());
    }

    #[test]
    fn the_last_places_are_for_keys_that_have_none() {
        let shares = Shares::new(16, 100);
        let hog: Vec<_> = std::iter::from_fn(|| shares.take("hog").ok()).collect();
        assert_eq!(hog.len(), 14, "an eighth is left");
        assert_eq!(shares.take("hog").expect_err("reserved"), Full::All);
        let first = shares.take("first").expect("a reserved place");
        assert_eq!(shares.take("first").expect_err("has one"), Full::All);
        let second = shares.take("second").expect("a reserved place");
        assert_eq!(shares.take("third").expect_err("none left"), Full::All);
        drop((first, second, hog));
        assert_eq!(shares.count(), 0);
    }

    #[test]
    fn few_places_are_places_too() {
        assert_eq!(Shares::new(0, 5).take("a").expect_err("none"), Full::All);
        let one = Shares::new(1, 5);
        let place = one.take("a").expect("the only one");
        assert_eq!(one.take("b").expect_err("taken"), Full::All);
        drop(place);
        let alone = Shares::of_one_key(3);
        let all: Vec<_> = std::iter::from_fn(|| alone.take("open").ok()).collect();
        assert_eq!(all.len(), 3);
    }
}
