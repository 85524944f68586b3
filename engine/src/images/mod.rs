//! Images for a machine without a registry: the recipes of stand-ins, and which names they stand in for.
//!
//! A [`Recipe`] says what is in an image, [`bootstrap`] how a chroot of Debian packages becomes one, and [`Aliases`] keep
//! which name resolves to which stand-in. Whoever builds them is in [`crate::backend::docker::build`].

pub mod alias;
pub mod bootstrap;
mod catalogue;
pub mod recipe;
pub mod reference;

pub use alias::{AliasError, Aliases};
pub use recipe::Recipe;
