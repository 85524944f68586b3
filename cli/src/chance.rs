//! Ids and tokens that nobody can guess, for the server and for keys.

use engine::entropy;
use uuid::Uuid;

/// The kernel's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chance;

impl server::Ids for Chance {
    fn id(&self) -> Uuid {
        entropy::uuid()
    }

    fn random(&self, bytes: &mut [u8]) {
        entropy::fill(bytes);
    }
}
