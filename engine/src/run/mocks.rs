//! Serves a spec's mocks inside its sandbox.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use doorkeeper::protocol::Transport;
use gateways::http_mock::{HttpMocks, MockContext};
use gateways::tls::Terminator;
use scenario::evidence::Exchange;
use scenario::spec::sections::Service;

use super::gateways::Shared;
use super::{attacks, honeytokens, redacted, replay};
use crate::attempt::Attempt;
use crate::door::Door;
use crate::error::EngineError;
use crate::services::{Addresses, HTTP, HTTPS};

/// Serves the mocks inside the sandbox: one listener for each of their ports, at their own addresses.
pub(super) async fn serve(
    attempt: &Attempt<'_>,
    door: &Door,
    addresses: &Addresses,
    shared: &Shared<'_>,
    secure: Option<&Terminator>,
) -> Result<HttpMocks, EngineError> {
    let Shared { clock, redactor, faults, contracts } = *shared;
    let spec = attempt.spec;
    let mocks = spec.services.iter().filter_map(|service| Some((service.name().to_string(), service.mock()?.clone())));
    let watch = (honeytokens::are_laid(attempt) || attacks::are_scored(attempt)).then(|| redactor.clone());
    let redactor = redactor.clone();
    let context = MockContext {
        seed: attempt.scenario.seed.get(),
        replica: attempt.scenario.replica,
        parameters: attempt.scenario.parameters.clone(),
        clock: Arc::clone(clock),
        redact: Arc::new(move |exchange: &mut Exchange| redacted::exchange(exchange, &redactor)),
        collect_calls: spec.effective_audit().http_calls,
        watch,
        faults: faults.cloned(),
        replay: replay::of_mocks(attempt),
        governors: contracts.map(|contracts| contracts.governors.clone()).unwrap_or_default(),
    };
    let served = HttpMocks::new(mocks, context);
    for service in spec.services.iter().filter(|service| service.mock().is_some()) {
        let name = service.name().as_str();
        let Some(address) = addresses.get(name) else { continue };
        for port in ports(service, addresses.is_overridden(name)) {
            let operation = format!("listen for the mock `{name}` on port {port}");
            let listener = door.listen(Transport::Tcp, SocketAddr::from((address, port))).await;
            let listener = listener.map_err(EngineError::door(operation.clone()))?;
            let serving = match secure.filter(|_| port == HTTPS) {
                Some(terminator) => served.serve_secure(listener.into(), name, terminator.clone()),
                None => served.serve(listener.into(), name),
            };
            serving.map_err(EngineError::files(operation))?;
        }
    }
    Ok(served)
}

/// The ports of a mock: its own, and where a name of the outside leads to it, those of HTTP and HTTPS.
fn ports(service: &Service, overridden: bool) -> BTreeSet<u16> {
    let own = service.ports().into_iter().filter_map(|port| u16::try_from(port).ok());
    own.chain([HTTP, HTTPS].into_iter().filter(|_| overridden)).collect()
}
