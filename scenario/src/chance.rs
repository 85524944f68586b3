//! Numbers that a seed decides. The algorithm is a promise: the same seed gives the same numbers for ever.

use crate::seed::Seed;

/// A sequence of numbers that depends on a seed alone: `SplitMix64`.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self(seed.get())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`: the upper half of the product of the next number and the bound. 0 when there is none below.
    pub fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.next()) * bound as u128;
        usize::try_from(product >> 64).unwrap_or_default()
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, Seed};

    #[test]
    fn the_numbers_of_a_seed_never_change() {
        let mut chance = Chance::new(Seed::new(0));
        // The published first numbers of `SplitMix64` for the seed 0.
        assert_eq!([chance.next(), chance.next()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
        assert_eq!((chance.below(1), chance.below(0), chance.pick::<u8>(&[])), (0, 0, None));
    }
}
