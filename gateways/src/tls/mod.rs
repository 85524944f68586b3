//! HTTPS to names that lead to services: a certificate authority for each sandbox.
//!
//! The authority is made with the sandbox and trusted inside it; nobody else knows it. Where a name of the outside
//! leads to a service, port 443 is answered with a certificate for the name that the client asked for, and the bytes
//! inside TLS go to the service as if there were no TLS.

mod authority;
mod terminator;

pub use authority::Authority;
pub use terminator::{Duplex, Inside, Terminator};
