//! Reasons why a stored spec cannot be read.

use scenario::spec::BundleError;

/// A spec that is kept and that this version cannot read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableSpec {
    /// The files beside it cannot be used.
    #[error(transparent)]
    Files(#[from] BundleError),
    /// It is not valid any more.
    #[error("the stored spec is not valid for this version: {0}")]
    Invalid(String),
}
