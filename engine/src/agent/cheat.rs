//! A cheat as the agent: its lines run like those of a solution, and then its requests are sent.

use scenario::certificate::cheats::{CheatProgram, CheatRequest, cheat_program};
use scenario::plan::AgentOverride;

use super::Acted;
use super::http::Target;
use super::process::Watch;
use crate::attempt::Attempt;
use crate::error::EngineError;
use crate::services::Addresses;

/// The steps of the cheat that acts; `None` when another agent does.
pub(super) fn program(attempt: &Attempt<'_>) -> Result<Option<CheatProgram>, EngineError> {
    let Some(AgentOverride::Cheat(name)) = attempt.agent else { return Ok(None) };
    let program = cheat_program(name, &attempt.agents_values());
    program.map(Some).map_err(|unknown| EngineError::Unsupported { what: unknown.to_string() })
}

/// Sends the requests of the cheat that acts, as far as the time is enough. What comes back decides nothing.
pub(super) async fn send_requests(
    watch: &Watch<'_>,
    attempt: &Attempt<'_>,
    acted: &mut Acted,
) -> Result<(), EngineError> {
    let requests = program(attempt)?.map(|program| program.requests).unwrap_or_default();
    if requests.is_empty() || acted.lost || !acted.limits.is_empty() {
        return Ok(());
    }
    let addresses = Addresses::in_cell(attempt.spec, &attempt.scenario.chaos);
    let sent = async {
        for request in &requests {
            let _ = send(watch, &addresses, request).await;
        }
    };
    tokio::select! {
        () = sent => {}
        () = tokio::time::sleep_until(watch.deadline.at) => acted.limits.push(watch.deadline.fired.clone()),
        fired = watch.world.gateways.limit_fired() => acted.limits.push(fired),
    }
    Ok(())
}

/// Sends one request; `None` when there is nobody to send it to.
async fn send(watch: &Watch<'_>, addresses: &Addresses, request: &CheatRequest) -> Option<()> {
    let CheatRequest { service, port, method, path, headers, body } = request;
    let address = addresses.get(service)?;
    let target = Target::at(watch.world, address, service, u16::try_from(*port).ok()?);
    target.send(method, path, headers, body).await.ok()
}
