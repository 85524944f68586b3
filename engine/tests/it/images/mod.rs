//! Promises of the images that Touchstone makes itself, as tests. They must have been made: `touchstone images build`.

mod base;
mod build;
mod mysql;
mod postgres;
mod redis;
mod world;
