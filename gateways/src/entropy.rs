//! Randomness that must not be guessed: ids of owners, keys of markers, generated secrets. No verdict depends on it;
//! random choices of a scenario derive from its seed.

use uuid::Uuid;

/// A new id, later than those before it.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "an id must differ from those of all other processes")]
pub fn uuid() -> Uuid {
    Uuid::now_v7()
}

/// Returns this many random bytes in hex.
///
/// # Panics
///
/// When the kernel gives no randomness, because a key that can be guessed is worse than none.
#[must_use]
pub fn hex(bytes: usize) -> String {
    let mut random = vec![0; bytes];
    fill(&mut random);
    scenario::hex(random)
}

/// Fills these bytes.
///
/// # Panics
///
/// When the kernel gives no randomness, because a key that can be guessed is worse than none.
#[expect(clippy::disallowed_methods, reason = "the agent must not know it")]
#[expect(clippy::expect_used, reason = "a key that can be guessed is worse than none")]
pub fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the kernel gives randomness");
}
