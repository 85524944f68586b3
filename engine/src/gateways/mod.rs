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
//! - **After `stop` nothing is recorded any more**, so that evidence does not change while it is read.

pub mod api;
pub mod body;
pub(crate) mod bounded_json;
pub mod calls;
pub mod clock;
pub mod dns;
pub mod egress;
pub mod http_mock;
pub(crate) mod ingress;
pub mod model;
pub mod overflow;
pub mod recorder;
pub mod room;
mod settling;
pub mod sightings;
pub mod tls;
