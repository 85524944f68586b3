//! The doorkeeper as it runs: PID 1 of a box made with `unshare`, with the test as its worker.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests too")]

mod changing;
mod commands;
mod copying;
mod descriptors;
mod ending;
mod fingerprints;
mod identity;
mod lookups;
mod putting;
mod reading;
mod sandbox;
mod start;
mod staying;
mod terminals;
mod tool;
mod walking;
mod walls;
mod writing;
