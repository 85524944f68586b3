//! The store, against real files and a real Postgres.

#[macro_use]
mod databases;

mod alerts;
mod approvals;
mod artifact_owner;
mod artifacts;
mod at_once;
mod baselines;
mod cancel;
mod certificates;
mod claim;
mod completion;
mod datasets;
mod events;
mod evidence;
mod fake_s3;
mod gc;
mod harness;
mod history;
mod idempotency;
mod keys;
mod lease;
mod limits;
mod model;
mod opening;
mod owners;
mod parity;
mod prune;
mod races;
mod reading;
mod rescored;
mod results;
mod run_ends;
mod sandboxes;
mod scenarios;
mod scores;
mod secrets;
mod settings;
mod snapshots;
mod specs;
mod submit;
mod traces;
mod wakeups;
mod workers;
