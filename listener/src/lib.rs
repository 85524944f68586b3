//! The HTTP listeners of the server and of workers: timeouts, caps on connections, and an orderly end.
//!
//! ```text
//! accept ─► unauthenticated (few places; newcomers push out the oldest) ─► authenticated (most places, shared out by key)
//! ```
//!
//! Every client is accepted, and has a few seconds to send a request. Until a request shows a key, the connection has
//! one of the places for unauthenticated callers. When those are taken, the newcomer gets the place of a connection
//! that waits longest, of the peer that has most of them: half-open connections make room for requests, and a flood
//! from one address for all others. Once a request shows a key, the connection counts as that key's and is pushed out
//! only by the same key, while it is idle. So no number of anonymous connections keeps a caller with a key out, and no
//! key another.

mod activity;
mod connection;
mod limits;
mod peer;
mod registry;
mod serve;
mod shares;

pub use connection::Connection;
pub use hyper::body::Incoming;
pub use limits::Limits;
pub use serve::Connections;
pub use shares::{Full, Share, Shares};
