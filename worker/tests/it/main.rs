//! Tests of the worker with a real store and scripted sandboxes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
mod databases;

mod approvals;
mod artifact_place;
mod chance;
mod control_port;
mod crashes;
mod dependencies;
mod fake;
mod harness;
mod interactive;
mod leases;
mod life;
mod many;
mod orders;
mod retries;
mod room;
mod runs;
mod scoring;
mod services;
mod uploads;
mod wakeups;
