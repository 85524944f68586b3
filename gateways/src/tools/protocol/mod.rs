//! The Model Context Protocol as a server speaks it over streamable HTTP, in both of its eras on one address.
//!
//! Up to 2025-11-25 a client begins with `initialize` and belongs to a session. From 2026-07-28 on each request says in its
//! `_meta` which version it speaks, and there are no sessions. The body of a request says which era it is; headers never
//! decide anything, and one that contradicts the body is refused.

mod message;
mod session;
mod version;

pub(super) use message::{Incoming, MOST_VALUES, RpcError, RpcRequest, error_response, notification, response};
pub(super) use session::{Session, Sessions};
pub(super) use version::{Era, Version};
