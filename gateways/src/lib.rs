//! Servers of ours on the agent's way out.
//!
//! A gateway runs in the worker, on listeners that were opened inside the sandbox: the agent reaches it by name and can
//! touch nothing of it. What all gateways share:
//!
//! - **Journal first, answer second.** An exchange is in the journal before the first byte of its answer leaves, so an
//!   agent cannot know of an answer whose request was not written down ([`recorder`]).
//! - **Everything is bounded.** Requests, bodies, paths, connections and bodies under way have a largest number each, and
//!   what goes beyond is counted ([`overflow`]). Nothing that an agent sends makes the worker's memory grow without end.
//! - **Time is the agent's.** Moments are milliseconds since the agent started ([`clock`]).
//! - **Secrets are replaced before anything is kept.** The gateway calls the hook that it was given; it knows no secrets.
//! - **After `seal` nothing is recorded any more**, so that evidence does not change while it is read.
//! - **Connections come through one [`listener`]**, which bounds them and ends them.

pub mod addresses;
pub mod api;
pub mod approvals;
pub mod audit_log;
pub mod body;
pub mod bounded_json;
pub mod calls;
pub mod clock;
pub mod contract_session;
pub mod dial;
pub mod dns;
pub mod egress;
pub mod entropy;
mod faulted_requests;
pub mod faults;
pub mod forward;
mod gateway;
mod honeytoken_stream;
mod hop_by_hop;
pub mod http_mock;
pub mod ingress;
mod json_match;
pub mod listener;
pub mod memory_budget;
pub mod model;
pub mod overflow;
pub mod providers;
pub mod public_network;
pub mod recorder;
pub mod redact;
pub mod tls;
pub mod tools;

pub use gateway::Gateway;
