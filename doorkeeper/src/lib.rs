//! PID 1 of every sandbox: a small static program that the worker talks to over one Unix socket.
//!
//! The worker listens in a private folder which is mounted read-only into the sandbox; the doorkeeper connects, once,
//! before the agent exists, and the worker closes the door behind it. After that the worker sends requests
//! ([`protocol`]) and the doorkeeper carries them out: it starts commands and streams their output, opens and connects
//! sockets inside the sandbox and hands their descriptors out, reads and writes files, and ends every process but
//! itself.
//!
//! It trusts the worker and nobody else. It runs under a user of its own, because an agent with the same user could
//! lower its limits or raise its score for the out-of-memory killer, and so turn its own failure into ours.

pub mod calls;
pub mod plan;
pub mod protocol;
pub mod socket;
