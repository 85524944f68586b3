//! Tests of the worker with a real store and scripted sandboxes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod chance;
mod crashes;
mod fake;
mod harness;
mod leases;
mod life;
mod many;
mod orders;
mod retries;
mod room;
mod runs;
mod surroundings;
