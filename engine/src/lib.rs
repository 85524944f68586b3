//! Sandboxes: the world of a scenario, made for real.
//!
//! ```text
//!            prepare                     act                probe            destroy
//! image → sandbox → services → fixtures → agent → kill all → answers → evidence → nothing left
//! ```
//!
//! [`run_scenario`] does it for one attempt and returns what was observed. A [`backend`] makes the box, a doorkeeper inside
//! ([`door`]) does what is asked, gateways (a crate of their own) serve what the agent calls, and everything that is seen becomes evidence.
//! The engine judges nothing, and knows neither a database of ours nor a queue.

mod advice;
mod agent;
pub mod attempt;
pub mod backend;
pub mod baselines;
pub mod bundle;
mod capture;
mod command_log;
pub mod data_dir;
pub mod database;
mod demand;
pub mod door;
mod doorkeeper_binary;
mod environment;
pub mod error;
pub mod event;
mod faketime;
pub mod fixtures;
mod gateway_list;
pub mod images;
pub mod judges;
pub mod kept;
mod limits;
pub mod machine;
mod memory_events;
pub mod owner;
mod probes;
mod run;
mod services;
pub mod session;
mod snapshot;
pub mod uploaded;
mod users;
mod world;

pub use ::gateways::{approvals, entropy, providers};
pub use demand::needs;
pub use run::{Uploads, run_scenario, unsupported};
