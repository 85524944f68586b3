//! Opens a sandbox for somebody to work in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gateways::addresses::DOMAIN;
use gateways::redact::Redactor;
use scenario::evidence::Evidence;
use scenario::interactive::ServiceState;
use scenario::spec::Spec;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{COMMANDS, FILES, Live, Session};
use crate::attempt::Attempt;
use crate::backend::{Backend, Sandbox};
use crate::entropy;
use crate::environment;
use crate::error::EngineError;
use crate::event::{Event, Events, Phase};
use crate::run::prepare::{self, Images};
use crate::run::{Times, begin, end, hidden, network, redacted, until_cancelled};

/// Prepares the world, like that of a scenario.
pub(super) async fn open(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    events: &Events,
    cancel: &CancellationToken,
) -> Result<Session, EngineError> {
    let started = begin(events, Phase::Prepare);
    let safe = |error| redacted::error(error, attempt.secrets);
    let images = until_cancelled(cancel, Box::pin(prepare::images(backend, attempt, events))).await.map_err(safe)?;
    // Not given up half way: a sandbox that is being made can only be removed once it is there.
    let sandbox = prepare::sandbox(backend, attempt, &images, events).await.map_err(safe)?;
    let sandbox: Arc<dyn Sandbox> = Arc::from(sandbox);
    let times = Times { started, overall: Instant::now() + attempt.spec.resources.timeout.get() };
    let opened = Box::pin(build(attempt, &images, Arc::clone(&sandbox), times, events));
    match until_cancelled(cancel, opened).await {
        Ok(live) => {
            end(events, Phase::Prepare, started);
            let services = services(attempt.spec);
            Ok(Session { live: Arc::new(live), services, destroyed: AtomicBool::new(false) })
        }
        Err(error) => {
            remove(&*sandbox, events).await;
            Err(safe(error))
        }
    }
}

async fn build(
    attempt: &Attempt<'_>,
    images: &Images,
    sandbox: Arc<dyn Sandbox>,
    times: Times,
    events: &Events,
) -> Result<Live, EngineError> {
    let redactor = Redactor::new(&hidden(attempt), &entropy::hex(8));
    let world = Box::pin(prepare::world(attempt, images, sandbox, redactor, times, events)).await?;
    // Where the ways in are is told as it happens; there is no evidence to write it into.
    let ways_in = network::let_in(attempt, world.sandbox.door(), &mut Evidence::default(), events)?;
    world.gateways.begin().await;
    world.clock.start();
    Ok(Live {
        environment: environment::of_agent(attempt, &world.environment),
        world,
        started: times.started,
        started_at: attempt.started_at,
        commands: Semaphore::new(COMMANDS),
        files: Semaphore::new(FILES),
        _ways_in: ways_in,
    })
}

async fn remove(sandbox: &dyn Sandbox, events: &Events) {
    let name = sandbox.name();
    match sandbox.destroy().await {
        Ok(()) => events.tell(Event::SandboxDestroyed { name: name.to_owned() }),
        Err(error) => tracing::error!(sandbox = name, %error, "the sandbox {name} was not removed"),
    }
}

/// Returns the addresses of the services. A sandbox is opened when all of them are ready.
fn services(spec: &Spec) -> BTreeMap<String, ServiceState> {
    let state = |service: &scenario::spec::sections::Service| ServiceState {
        host: format!("{}{DOMAIN}", service.name()),
        port: service.ports().first().and_then(|port| u16::try_from(*port).ok()).unwrap_or(0),
        ready: true,
    };
    spec.services.iter().map(|service| (service.name().to_string(), state(service))).collect()
}
