//! The life of a gateway.

use std::fmt::Debug;

use async_trait::async_trait;
use scenario::evidence::Evidence;

/// A server on the agent's way out, from the moment that it is served.
///
/// To add one: serve it on sockets inside the sandbox, implement this, and add it to the engine's list of gateways. The
/// code that runs a scenario then knows it by this trait alone.
#[async_trait]
pub trait Gateway: Debug + Send + Sync {
    /// Prepares for the agent, which is about to start. Forgets everything before it, and removes rights that only the
    /// setup has.
    async fn begin(&self) {}

    /// Handles the end of the agent. Waits for requests that it had sent before, as long as that does not take long,
    /// and records nothing after this returns.
    async fn seal(&self);

    /// Adds what crossed the gateway to the evidence, once it is sealed.
    fn record(&self, evidence: &mut Evidence);
}
