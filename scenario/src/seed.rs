//! Seeds: numbers that decide everything that is left to chance.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The number of bits of a seed. JSON readers that keep numbers as floats still read it exactly.
const BITS: u32 = 53;

/// A seed of an experiment or scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(u64);

impl Seed {
    /// The seed with this number; only its lower 53 bits count.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number & ((1 << BITS) - 1))
    }

    /// A seed from the content of something.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self::new(first_bytes(&Sha256::digest(content)))
    }

    /// A seed for one purpose, unrelated to that of any other purpose.
    #[must_use]
    pub fn derive(self, purpose: &[&str]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0.to_be_bytes());
        for word in purpose {
            // The length goes first, so that ("ab", "c") and ("a", "bc") differ.
            hasher.update((word.len() as u64).to_be_bytes());
            hasher.update(word.as_bytes());
        }
        Self::new(first_bytes(&hasher.finalize()))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

fn first_bytes(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl fmt::Display for Seed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Seed;

    #[test]
    fn seeds_are_exact_in_a_float_and_depend_on_every_word() {
        assert!(Seed::new(u64::MAX).get() < 1 << 53);
        let root = Seed::of(b"spec");
        assert_ne!(root.derive(&["ab", "c"]), root.derive(&["a", "bc"]));
        assert_eq!(root.derive(&["a"]), root.derive(&["a"]));
    }

    #[test]
    fn low_bits_of_derived_seeds_do_not_correlate() {
        let root = Seed::new(1);
        let pairs: HashSet<_> = (0..64)
            .map(|n| {
                (root.derive(&["turn-0", &n.to_string()]).get() % 2, root.derive(&["turn-1", &n.to_string()]).get() % 2)
            })
            .collect();
        assert_eq!(pairs.len(), 4, "two binary choices see all four combinations");
    }
}
