//! Serves a spec's tools inside its sandbox, and starts its MCP servers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use doorkeeper::protocol::{EntryKind, Transport};
use futures::future::try_join_all;
use gateways::addresses::TOOLS;
use gateways::redact::Redactor;
use gateways::tools::{
    DeclaredWith, McpServer, RecordedTools, ServerLink, ServerPipe, ServicePlace, ToolGateway, ToolGatewaySettings,
    URL, client_configuration,
};
use scenario::cassette::{Recording as _, ToolCassette};
use scenario::evidence::Evidence;
use scenario::spec::Spec;
use scenario::spec::sections::{DeclaredTool, ServerUrl, ToolServer};
use serde_json::Value as Json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_util::task::AbortOnDropHandle;

use super::setup;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::capture::Capture;
use crate::database::ToAddress;
use crate::door::{Command, CommandEvent, CommandInput, Stream};
use crate::environment::Environment;
use crate::error::EngineError;
use crate::probes::Line;
use crate::services::{Addresses, HTTP};
use crate::world::World;

/// Path of the configuration for clients of MCP in the sandbox.
const CONFIGURATION: &str = "/run/touchstone/mcp.json";
/// Length of a server's error output that is kept at each end.
const ERRORS_BYTES: usize = 4 * 1024;
/// Length of that output in a message.
const SHOWN: usize = 1500;
/// Number of bytes that can wait between a server and its gateway.
const PIPE_BYTES: usize = 256 * 1024;

/// The MCP servers that run as commands in the sandbox. They are ended with everything else in it.
#[derive(Debug, Default)]
pub(crate) struct ToolServers {
    commands: Vec<ServerCommand>,
}

/// An MCP server that is a command.
#[derive(Debug)]
struct ServerCommand {
    name: String,
    errors: Arc<Mutex<Capture>>,
    _pumps: [AbortOnDropHandle<()>; 2],
}

impl ToolServers {
    /// Adds what the servers printed as errors to what is known about them.
    pub(crate) fn record(&self, evidence: &mut Evidence) {
        let Some(record) = &mut evidence.tools else { return };
        for command in &self.commands {
            let known = record.servers.iter_mut().find(|server| server.name == command.name);
            if let Some(server) = known {
                server.stderr = command.printed();
            }
        }
    }
}

impl ServerCommand {
    /// The end of what it printed as errors.
    fn printed(&self) -> String {
        let capture = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        capture.so_far().last(SHOWN)
    }
}

/// The variables by which programs in the sandbox find the tools.
pub(super) fn variables(spec: &Spec) -> Environment {
    let known = [("TOUCHSTONE_MCP_URL", URL), ("TOUCHSTONE_MCP_CONFIG", CONFIGURATION)];
    let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
    known.into_iter().filter(|_| !spec.tools.is_empty()).collect()
}

/// Writes the configuration for clients of MCP.
pub(super) async fn configure(world: &World, spec: &Spec) -> Result<(), EngineError> {
    if spec.tools.is_empty() {
        return Ok(());
    }
    let text = format!("{:#}\n", client_configuration()).into_bytes();
    setup::write(world, CONFIGURATION, EntryKind::File, 0o644, text.clone()).await?;
    if spec.tools.mcp_json {
        setup::write(world, &format!("{WORKSPACE}/.mcp.json"), EntryKind::File, 0o644, text).await?;
    }
    Ok(())
}

/// Starts the MCP servers, and serves the tools.
pub(super) async fn serve(world: &mut World, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    let spec = attempt.spec;
    if spec.tools.is_empty() {
        return Ok(());
    }
    let places = Places { world, addresses: Addresses::in_cell(spec, &attempt.scenario.chaos) };
    let recorded = recording(attempt)?;
    let declared = spec.tools.declared().map(|tool| places.declared(attempt, tool));
    let declared = declared.collect::<Result<_, _>>()?;
    let starting = spec.tools.servers().filter(|_| recorded.is_none()).map(|server| places.start(attempt, server));
    let started = try_join_all(starting).await?;
    let (servers, commands): (Vec<_>, Vec<_>) = started.into_iter().unzip();
    let gateway = ToolGateway::new(ToolGatewaySettings {
        declared,
        servers,
        recorded,
        tools: spec.tools.clone(),
        clock: Arc::clone(&world.clock),
        redactor: world.redactor.at("tools"),
        faults: world.gateways.faults().cloned(),
        contracts: world.contracts.as_ref().map(|contracts| Arc::clone(&contracts.session)),
    });
    let listener = world.sandbox.door().listen(Transport::Tcp, SocketAddr::from((TOOLS, HTTP))).await;
    let listener = listener.map_err(EngineError::door("listen for the tool gateway"))?;
    gateway.serve(listener.into()).map_err(EngineError::files("serve the tool gateway"))?;
    world.gateways.add_tools(Arc::new(gateway));
    world.tool_servers = ToolServers { commands: commands.into_iter().flatten().collect() };
    Ok(())
}

/// Addresses of services in the sandbox.
struct Places<'w> {
    world: &'w World,
    addresses: Addresses,
}

impl Places<'_> {
    fn of(&self, service: &str, port: u16) -> Option<ServicePlace> {
        let address = self.addresses.get(service)?;
        let dial = ToAddress { door: self.world.sandbox.door().clone(), address };
        let mark = self.world.contracts.as_ref().map(|contracts| contracts.mark.clone());
        Some(ServicePlace { name: service.to_owned(), dial: Arc::new(dial), port, mark })
    }

    /// A declared tool with what it needs.
    fn declared(&self, attempt: &Attempt<'_>, tool: &DeclaredTool) -> Result<DeclaredWith, EngineError> {
        let values = attempt.values();
        let Some(operation) = &tool.http else {
            return Ok(DeclaredWith { tool: tool.clone(), service: None, headers: Vec::new() });
        };
        let service = attempt.spec.service(&operation.service);
        let first = || service.and_then(|service| service.ports().first().copied());
        let port = operation.port.map(|port| port.get()).or_else(first).and_then(|port| u16::try_from(port).ok());
        let place = port.and_then(|port| self.of(&operation.service, port));
        let what = || format!("`tools.{}`: the service `{}` has no port", tool.name, operation.service);
        let place = place.ok_or_else(|| EngineError::Unsupported { what: what() })?;
        let headers = operation.headers.iter().map(|(name, value)| (name.to_string(), value.render(&values)));
        Ok(DeclaredWith { tool: tool.clone(), service: Some(place), headers: headers.collect() })
    }

    /// Starts a server, and waits until it lists its tools.
    async fn start(
        &self,
        attempt: &Attempt<'_>,
        server: &ToolServer,
    ) -> Result<((McpServer, Vec<Json>), Option<ServerCommand>), EngineError> {
        let (link, command) = match server.address() {
            Some(url) => (self.over_http(server, &url)?, None),
            None => {
                let (pipe, command) = self.spawn(attempt, server).await?;
                (ServerLink::Stdio(pipe), Some(command))
            }
        };
        match McpServer::open(server.clone(), link).await {
            Ok(opened) => Ok((opened, command)),
            Err(failure) => {
                let printed = command.map(|command| command.printed()).unwrap_or_default();
                Err(not_ready(server, &format!("{failure}\n{printed}")))
            }
        }
    }

    fn over_http(&self, server: &ToolServer, url: &ServerUrl) -> Result<ServerLink, EngineError> {
        let place = self.of(&url.service, url.port);
        let place = place.ok_or_else(|| not_ready(server, &format!("there is no service `{}`", url.service)))?;
        Ok(ServerLink::Http(place, url.path.clone()))
    }

    /// Starts the command of a server.
    async fn spawn(
        &self,
        attempt: &Attempt<'_>,
        server: &ToolServer,
    ) -> Result<(ServerPipe, ServerCommand), EngineError> {
        let values = attempt.values();
        let words = server.command.as_ref().map(|command| command.render(&values)).unwrap_or_default();
        let mut environment = self.world.environment.clone();
        environment.extend(server.env.iter().map(|(name, value)| (name.to_string(), value.render(&values))));
        let line =
            Line { words: &words, directory: WORKSPACE, environment: &environment, user: &self.world.user, stdin: b"" };
        let mut spawn = line.spawn();
        spawn.more_input = true;
        let command = self.world.sandbox.door().spawn(spawn).await;
        let command = command.map_err(|error| not_ready(server, &format!("it cannot be started: {error}")))?;
        Ok(connect(server.server.to_string(), command, &self.world.redactor))
    }
}

/// Connects a command with a pipe.
fn connect(name: String, command: Command, redactor: &Redactor) -> (ServerPipe, ServerCommand) {
    let (output, from_server) = tokio::io::duplex(PIPE_BYTES);
    let (input, to_server) = tokio::io::duplex(PIPE_BYTES);
    let errors = Arc::new(Mutex::new(Capture::new(ERRORS_BYTES, redactor)));
    let writing = tokio::spawn(pump_in(to_server, command.input()));
    let reading = tokio::spawn(pump_out(command, from_server, Arc::clone(&errors)));
    let pipe = ServerPipe { output: Box::new(output), input: Box::new(input) };
    (pipe, ServerCommand { name, errors, _pumps: [writing, reading].map(AbortOnDropHandle::new) })
}

/// Passes what a server prints on, until it ends.
async fn pump_out(mut command: Command, mut to: DuplexStream, errors: Arc<Mutex<Capture>>) {
    while let Ok(event) = command.next().await {
        match event {
            CommandEvent::Output(Stream::Out, bytes) => {
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            CommandEvent::Output(Stream::Err, bytes) => {
                errors.lock().unwrap_or_else(PoisonError::into_inner).take(&bytes);
            }
            CommandEvent::Exited(_) => return,
        }
    }
}

/// Passes what a server reads on, until there is no more.
async fn pump_in(mut from: DuplexStream, input: CommandInput) {
    let mut buffer = vec![0; doorkeeper::protocol::CHUNK];
    loop {
        match from.read(&mut buffer).await {
            Ok(count) if count > 0 => {
                if input.write(buffer[..count].to_vec()).await.is_err() {
                    return;
                }
            }
            _ => {
                // An empty piece is the end.
                let _ = input.write(Vec::new()).await;
                return;
            }
        }
    }
}

fn not_ready(server: &ToolServer, reason: &str) -> EngineError {
    EngineError::WrongSpec { place: format!("tools.{}", server.server), reason: reason.trim().to_owned() }
}

/// The tools and answers that are replayed.
fn recording(attempt: &Attempt<'_>) -> Result<Option<RecordedTools>, EngineError> {
    let tools = &attempt.spec.tools;
    let Some(path) = &tools.replay else { return Ok(None) };
    let refused = |reason: String| EngineError::WrongSpec { place: "tools.replay".to_owned(), reason };
    let bytes = attempt.bundle.read(path.as_str()).map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    let cassette = ToolCassette::parse(&text).map_err(|error| refused(error.to_string()))?;
    let id = attempt.scenario.id.as_str();
    let tape = cassette.scenario(id).ok_or_else(|| refused(format!("there is no scenario `{id}` in the recording")))?;
    Ok(Some(RecordedTools::new(tape.clone(), tools.matching)))
}
