//! Builds the world: images, sandbox, services, gateways, fixtures, setup; then looks at what it is like.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use doorkeeper::protocol::EntryKind;
use gateways::Gateway;
use gateways::addresses::DNS;
use gateways::api::ApiGateway;
use gateways::clock::Clock;
use gateways::faults::FaultEngine;
use gateways::http_mock::HttpMocks;
use gateways::model::ModelGateway;
use gateways::redact::Redactor;
use gateways::tls::Inside;
use jiff::Timestamp;
use scenario::checks::{Check, RunsIn, Verify};
use scenario::spec::sections::{AgentKind, Chaos};

use super::contracts::Contracts;
use super::gateways::{Opened, Shared};
use super::image::ImageState;
use super::network::Network;
use super::tools::ToolServers;
use super::world_faults::SandboxChanger;
use super::{Times, attacks, mocks, setup, tools};
use crate::attempt::Attempt;
use crate::backend::{Backend, Image, Limits, Sandbox, SandboxRequest, WORKSPACE};
use crate::command_log::CommandLog;
use crate::database::wire::Recorder;
use crate::environment::{self, Environment};
use crate::error::EngineError;
use crate::event::{Event, Events};
use crate::faketime::FakeClock;
use crate::fixtures;
use crate::gateway_list::GatewayList;
use crate::limits::Counters;
use crate::services::{self, Addresses, Baseline, Forwards, StartAll};
use crate::snapshot::{MOST_COMPARED, MOST_ENTRIES, Snapshot};
use crate::uploaded;
use crate::users::{self, User};
use crate::world::{Before, World};

/// The images that a world is made from.
#[derive(Debug)]
pub(crate) struct Images {
    /// Image of the sandbox.
    pub(crate) base: Image,
    /// Images of the services, by name.
    pub(crate) services: BTreeMap<String, Image>,
}

/// Finds all images, before anything is made.
pub(crate) async fn images(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    events: &Events,
) -> Result<Images, EngineError> {
    let values = attempt.values();
    let reference = match attempt.agent() {
        Some(AgentKind::Image(own)) => own.image.render(&values),
        Some(AgentKind::Http(http)) => http.image.as_ref().unwrap_or(&attempt.spec.base).render(&values),
        _ => attempt.spec.base.render(&values),
    };
    let found = backend.image(&reference, events).await?;
    let packages: Vec<_> = attempt.spec.setup.packages.iter().map(ToString::to_string).collect();
    let base = backend.with_packages(&found, &packages, events).await?;
    Ok(Images { base, services: services::images(backend, attempt, events).await? })
}

/// Makes the sandbox.
pub(crate) async fn sandbox(
    backend: &dyn Backend,
    attempt: &Attempt<'_>,
    images: &Images,
    events: &Events,
) -> Result<Box<dyn Sandbox>, EngineError> {
    let request = SandboxRequest {
        identity: attempt.identity.clone(),
        image: images.base.clone(),
        limits: limits(attempt),
        hosts: Addresses::in_cell(attempt.spec, &attempt.scenario.chaos).hosts(attempt.spec),
        name_server: Some(DNS),
        read_only: attempt.spec.agent.as_ref().is_some_and(|agent| agent.common.read_only),
        has_tools: !attempt.spec.tools.is_empty(),
    };
    let sandbox = backend.create(request).await?;
    events.tell(Event::SandboxCreated { name: sandbox.name().to_owned() });
    Ok(sandbox)
}

fn limits(attempt: &Attempt<'_>) -> Limits {
    let resources = &attempt.spec.resources;
    Limits {
        cpus: resources.cpu.get(),
        memory: resources.memory.get(),
        disk: resources.disk.get(),
        pids: resources.pids.get(),
    }
}

/// The current step, for the message when it takes too long.
#[derive(Debug, Default)]
struct Step(Mutex<String>);

impl Step {
    fn is(&self, step: &str) {
        step.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Builds everything around and in the sandbox.
pub(crate) async fn world(
    attempt: &Attempt<'_>,
    images: &Images,
    sandbox: Arc<dyn Sandbox>,
    redactor: Redactor,
    times: Times,
    events: &Events,
) -> Result<World, EngineError> {
    let step = Step::default();
    let built = build(attempt, images, sandbox, redactor, times, (&step, events));
    match tokio::time::timeout_at(times.overall, built).await {
        Ok(built) => built,
        Err(_) => Err(EngineError::PrepareTimeout {
            seconds: attempt.spec.resources.timeout.get().as_secs(),
            step: step.get(),
        }),
    }
}

async fn build(
    attempt: &Attempt<'_>,
    images: &Images,
    sandbox: Arc<dyn Sandbox>,
    redactor: Redactor,
    times: Times,
    (step, events): (&Step, &Events),
) -> Result<World, EngineError> {
    step.is("services");
    let user = find_user(&*sandbox, &agents_user(attempt, images)).await?;
    let addresses = Addresses::in_cell(attempt.spec, &attempt.scenario.chaos);
    let clock = Arc::new(Clock::default());
    let chaos = attempt.scenario.faults(attempt.spec);
    let fake_clock = FakeClock::of(attempt.spec, &chaos, times.now(attempt));
    let changer = Arc::new(SandboxChanger::new(attempt, &chaos, sandbox.door(), &user, fake_clock.as_ref()));
    let faults = faults(attempt, &chaos, &clock, &changer);
    let contracts = Contracts::open(attempt, &clock, &redactor, times.now(attempt))?;
    let shared = Shared { clock: &clock, redactor: &redactor, faults: faults.as_ref(), contracts: contracts.as_ref() };
    let network = Network::open(attempt, sandbox.door(), &addresses, &shared).await?;
    let secure = network.terminator(Inside::AnyHttp)?;
    let mocks = Arc::new(mocks::serve(attempt, sandbox.door(), &addresses, &shared, secure.as_ref()).await?);
    let mut forwards = Forwards::default();
    let secure = network.terminator(Inside::Service)?;
    let start = StartAll {
        addresses: &addresses,
        images: &images.services,
        secure: secure.as_ref(),
        clock: fake_clock.as_ref().and_then(FakeClock::of_databases),
        faults: faults.as_ref(),
        contracts: contracts.as_ref(),
        watch: attacks::are_scored(attempt).then_some(&redactor),
        events,
    };
    let services = services::start_all(&*sandbox, attempt, &start, &mut forwards).await?;
    let opened = Opened::open(attempt, sandbox.door(), &shared, times.now(attempt)).await?;
    let Opened { api, model, mut variables } = opened;
    let recorder = Arc::new(std::mem::take(&mut forwards.recorder));
    let changer = (!chaos.file_faults.is_empty()).then_some(changer);
    variables.extend(tools::variables(attempt.spec));
    let gateways = gateway_list(&mocks, &network, (&recorder, contracts.as_ref()), faults, (api, model));
    variables.extend(clock_variables(fake_clock.as_ref(), &*sandbox).await?);
    let environment = environment::of_commands(attempt, &images.base, &user, variables);
    let world = World {
        sandbox,
        limits: limits(attempt),
        services,
        gateways,
        contracts,
        tool_servers: ToolServers::default(),
        recorder,
        changer,
        clock,
        _forwards: forwards,
        commands: CommandLog::default(),
        environment,
        user,
        redactor,
        agent: None,
        before: Before::default(),
    };
    step.is("the workspace");
    claim_workspace(&world).await?;
    network.trust(world.sandbox.door()).await?;
    Ok(readable(furnish(world, attempt, times, (step, events)).await?, &mocks))
}

/// Opens the world, which is complete, to the rules of tool contracts.
fn readable(world: World, mocks: &Arc<HttpMocks>) -> World {
    if let Some(contracts) = &world.contracts {
        contracts.reader.open(&world, mocks);
    }
    world
}

/// The variables by which programs see another time than the real one.
async fn clock_variables(clock: Option<&FakeClock>, sandbox: &dyn Sandbox) -> Result<Environment, EngineError> {
    match clock {
        Some(clock) => clock.of_sandbox(sandbox.door()).await,
        None => Ok(Environment::new()),
    }
}

/// Puts everything into the sandbox that the agent finds there, and looks at what it is like.
async fn furnish(
    mut world: World,
    attempt: &Attempt<'_>,
    times: Times,
    (step, events): (&Step, &Events),
) -> Result<World, EngineError> {
    step.is("fixtures");
    fixtures::apply_all(&world, attempt, events).await?;
    if let Some(snapshot) = attempt.snapshot {
        step.is("the agent's files");
        world.agent = Some(uploaded::install(&world, attempt, snapshot).await?);
    }
    if attempt.has_agent_files() {
        step.is("the agent's files");
        uploaded::install_files(&world, attempt).await?;
    }
    step.is("setup");
    tools::configure(&world, attempt.spec).await?;
    setup::apply(&world, attempt).await?;
    attacks::plant(&world, attempt).await?;
    step.is("the tools");
    tools::serve(&mut world, attempt).await?;
    step.is("the baseline");
    world.before = look(&world, attempt, times.now(attempt)).await?;
    if let Some(changer) = &world.changer {
        changer.starts_with(&world.before.workspace);
    }
    Ok(world)
}

/// Lists all gateways of the attempt, in the order of their evidence.
fn gateway_list(
    mocks: &Arc<HttpMocks>,
    network: &Network,
    (recorder, contracts): (&Arc<Recorder>, Option<&Contracts>),
    faults: Option<Arc<FaultEngine>>,
    (api, model): (Arc<ApiGateway>, Option<Arc<ModelGateway>>),
) -> GatewayList {
    let mocks: Arc<dyn Gateway> = Arc::<HttpMocks>::clone(mocks);
    let recorder: Arc<dyn Gateway> = Arc::<Recorder>::clone(recorder);
    let session = contracts.map(Contracts::gateway);
    let first = [mocks].into_iter().chain(network.gateways()).chain([recorder]).chain(session);
    GatewayList::new(first, faults, api, model)
}

/// The faults of the scenario's chaos cell, if it has any.
fn faults(
    attempt: &Attempt<'_>,
    chaos: &Chaos,
    clock: &Arc<Clock>,
    changer: &Arc<SandboxChanger>,
) -> Option<Arc<FaultEngine>> {
    let engine = || FaultEngine::new(chaos, attempt.scenario.seed, Arc::clone(clock));
    (!chaos.is_none()).then(|| Arc::new(engine().changing(Arc::<SandboxChanger>::clone(changer))))
}

/// Returns the agent's user: the one that the spec names, else that of its own image, else root.
fn agents_user(attempt: &Attempt<'_>, images: &Images) -> String {
    let named = attempt.spec.agent.as_ref().and_then(|agent| agent.common.user.as_ref().map(ToString::to_string));
    let own_image = matches!(attempt.agent(), Some(AgentKind::Image(_) | AgentKind::Http(_)));
    named.unwrap_or_else(|| if own_image { images.base.user.clone() } else { String::new() })
}

async fn find_user(sandbox: &dyn Sandbox, named: &str) -> Result<User, EngineError> {
    let user = users::find(sandbox.door(), named).await?;
    if user.uid == 0 && user.gid == 0 || sandbox.has_other_users() {
        return Ok(user);
    }
    let what = format!(
        "`agent.user: {named}` cannot be had here: a sandbox that an ordinary user makes without Docker has one user, its root; leave `agent.user` out, run as root, or use Docker"
    );
    Err(EngineError::Unsupported { what })
}

/// Makes the folder that is ours in the workspace.
async fn claim_workspace(world: &World) -> Result<(), EngineError> {
    setup::write(world, &format!("{WORKSPACE}/.keystone"), EntryKind::Directory, 0o755, Vec::new()).await
}

/// Records the state of the world before the agent starts.
async fn look(world: &World, attempt: &Attempt<'_>, now: Timestamp) -> Result<Before, EngineError> {
    let door = world.sandbox.door();
    let operation = "look at the sandbox before the agent starts";
    if crate::limits::disk(door, &world.limits).await.map_err(EngineError::door(operation))?.is_some() {
        let reason = "the workspace was full before the agent started; raise `resources.disk`".to_owned();
        return Err(EngineError::Setup { place: "setup".to_owned(), reason });
    }
    let workspace = Snapshot::take(door).await.map_err(EngineError::door(operation))?;
    require_comparable(&workspace, attempt)?;
    let activity = super::activity::look(world).await?;
    Ok(Before {
        texts: super::diffs::take(door, &workspace).await.map_err(EngineError::door(operation))?,
        workspace,
        counters: Counters::read(door).await.map_err(EngineError::door(operation))?,
        programs: Baseline::take(&world.services, now).await?,
        image: if runs_in_sandbox(attempt) || attempt.spec.effective_audit().file_writes {
            Some(ImageState::take(world).await?)
        } else {
            None
        },
        written_over_image: world.sandbox.written_over_image(false).await?,
        tables: super::databases::look(world, attempt, &activity).await?,
        activity,
        image_room: door.space("/").await.map_err(EngineError::door(operation))?.free,
    })
}

/// Refuses a workspace of which not every write would be seen, where a rule is about writes. This is before the agent starts,
/// so it is the spec's doing.
fn require_comparable(workspace: &Snapshot, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    if attempt.spec.forbidden.file_writes_outside.is_none() || workspace.is_complete() {
        return Ok(());
    }
    let reason = format!(
        "the workspace holds more than can be compared before and after the agent: at most {MOST_ENTRIES} entries and {} GiB of files; make its fixtures smaller, or leave the rule out",
        MOST_COMPARED >> 30
    );
    Err(EngineError::WrongSpec { place: "forbidden.file_writes_outside".to_owned(), reason })
}

/// Returns true if a check runs something in the image that the agent leaves.
fn runs_in_sandbox(attempt: &Attempt<'_>) -> bool {
    attempt.scenario.judged(attempt.spec).iter().any(|judged| match judged.check {
        Check::CommandExit(check) => check.verify == Verify::Sandbox,
        Check::Custom(check) => check.runs_in == RunsIn::Sandbox && check.verify == Verify::Sandbox,
        _ => false,
    })
}
