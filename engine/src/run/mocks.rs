//! Serves a spec's mocks inside its sandbox.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use doorkeeper::protocol::Transport;
use scenario::evidence::Exchange;

use super::redacted;
use crate::attempt::Attempt;
use crate::door::Door;
use crate::error::EngineError;
use crate::gateways::clock::Clock;
use crate::gateways::http_mock::{HttpMocks, MockContext};
use crate::redact::Redactor;
use crate::services::Addresses;

/// Serves the mocks inside the sandbox: one listener a port, unless a container wants the same port.
pub(super) async fn serve(
    attempt: &Attempt<'_>,
    door: &Door,
    addresses: &Addresses,
    clock: &Arc<Clock>,
    redactor: &Redactor,
) -> Result<HttpMocks, EngineError> {
    let spec = attempt.spec;
    let mocks = spec.services.iter().filter_map(|service| Some((service.name().to_string(), service.mock()?.clone())));
    let redactor = redactor.clone();
    let context = MockContext {
        seed: attempt.scenario.seed.get(),
        replica: attempt.scenario.replica,
        parameters: attempt.scenario.parameters.clone(),
        clock: Arc::clone(clock),
        redact: Arc::new(move |exchange: &mut Exchange| redacted::exchange(exchange, &redactor)),
        collect_calls: spec.effective_audit().http_calls,
    };
    let served = HttpMocks::new(mocks, context);
    for (port, names) in mock_ports(attempt, addresses) {
        let operation = format!("listen for the mocks on port {port}");
        let crowded = spec.services.iter().any(|service| {
            addresses.has_own_network(service.name().as_str()) && service.ports().contains(&i64::from(port))
        });
        if crowded {
            for (address, name) in names {
                let listener = door.listen(Transport::Tcp, (address, port).into()).await;
                let listener = listener.map_err(EngineError::door(operation.clone()))?;
                served
                    .serve(listener.into(), HashMap::from([(address, name)]))
                    .map_err(EngineError::files(operation.clone()))?;
            }
        } else {
            let listener = door.listen_tcp(port).await.map_err(EngineError::door(operation.clone()))?;
            served.serve(listener, names).map_err(EngineError::files(operation))?;
        }
    }
    Ok(served)
}

/// Which mocks are called at which port, by address.
fn mock_ports(attempt: &Attempt<'_>, addresses: &Addresses) -> BTreeMap<u16, HashMap<IpAddr, String>> {
    let mut ports: BTreeMap<u16, HashMap<IpAddr, String>> = BTreeMap::new();
    for service in attempt.spec.services.iter().filter(|service| service.mock().is_some()) {
        let name = service.name().to_string();
        let Some(address) = addresses.get(&name) else { continue };
        for port in service.ports().into_iter().filter_map(|port| u16::try_from(port).ok()) {
            ports.entry(port).or_default().insert(IpAddr::V4(address), name.clone());
        }
    }
    ports
}
