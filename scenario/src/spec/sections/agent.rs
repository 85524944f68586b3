//! `agent`: the agent to test.

use serde::Serialize;

use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, choice, finish_tagged, section, tagged};
use crate::spec::shape::{Section, Shape};
use crate::spec::template::Text;
use crate::spec::types::{
    Command, EnvName, Filled, HeaderName, Method, SandboxPath, Table, Timespan, UserName, Value, Whole,
};
use crate::spec::yaml::{Kind, Node};

/// The agent to test: the settings that all kinds share, and the kind itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agent {
    /// Settings that every kind has.
    pub common: AgentCommon,
    /// The kind, with its own settings.
    pub kind: AgentKind,
}

section! {
    /// Settings that every kind of agent has.
    pub struct AgentCommon {
        /// How long the agent may act. When it fires, everything that the agent started is stopped, the scenario is a
        /// `fail` that names `agent.timeout`, and the invariants are still evaluated. Without it, `resources.timeout` is
        /// the only bound.
        timeout: Option<Timespan>,
        /// Environment variables of the agent's process.
        env: Table<EnvName, Text> = Table::default(),
        /// Who the agent is inside the sandbox: a user of the image. Root by default, without any capability.
        user: Option<UserName>,
        /// Makes everything but the workspace, `/tmp` and `/run` read-only, for `setup` too.
        read_only: bool = false,
        /// Resets the agent's state, for `contract.isolation: reuse`: it is done before each invocation but the first. A
        /// reset that fails is noted, and never fails the agent. A text is a path of an agent with `type: http`, which is asked
        /// with `POST` before the task, whatever the isolation is.
        reset: Option<Reset>,
        /// What has to make the sandbox. Without it, whatever makes sandboxes on the machine does.
        backend: Option<BackendName>,
    }
}

/// A way to reset an agent's state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reset {
    /// A path of an agent that is asked over HTTP.
    Path(Text),
    /// A request or a command of its own.
    By(ResetBy),
}

section! {
    /// A request or a command that clears what an agent remembers. Give one of the two.
    ///
    /// ```yaml
    /// agent:
    ///   type: cli
    ///   command: python3 agent.py
    ///   reset: { command: rm -f history.json }
    /// ```
    pub struct ResetBy {
        /// A URL that is asked with `POST`, for five seconds at most. Its host is a declared service, or `localhost` for something that
        /// the agent left running.
        http: Option<Filled>,
        /// A command that is run in the workspace as the agent's user, for a minute at most: a line for `sh -c`, or a list of words.
        command: Option<Command>,
    }
}

impl Readable for Reset {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::Map(_) => ResetBy::read(node, reader).map(Self::By),
            Kind::Null | Kind::List(_) => {
                reader.wrong_type(node, "`{ http: URL }`, `{ command: … }`, or a path of an agent with `type: http`")
            }
            // Numbers and booleans are texts wherever a text is.
            _ => Text::read(node, reader).map(Self::Path),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![Shape::Text, ResetBy::shape()])
    }
}

choice! {
    /// What makes a sandbox.
    pub enum BackendName {
        /// A Docker engine.
        Docker = "docker",
        /// Namespaces of the kernel, with the programs of the machine.
        Local = "local",
    }
}

tagged! {
    /// Who is put to the test, and how it is started.
    pub enum AgentKind by "type" {
        /// A command inside the `base` image.
        Cli(Cli) = "cli",
        /// A container image of its own.
        Image(Image) = "image",
        /// A server that is asked over HTTP.
        Http(Http) = "http",
        /// An uploaded agent snapshot.
        Snapshot(Snapshot) = "snapshot",
        /// The hosted agent of that name.
        Paragon(Paragon) = "paragon",
        /// Does nothing.
        Noop(Noop) = "noop",
        /// Solves the task with `task.solution`.
        Oracle(Oracle) = "oracle",
    }
}

section! {
    /// Runs a command inside the `base` image. Its exit code is recorded and decides nothing by itself.
    ///
    /// ```yaml
    /// agent:
    ///   type: cli
    ///   command: python3 agent.py
    ///   timeout: 2m
    /// ```
    pub struct Cli {
        /// What to run: a line for `sh -c`, or a list of words that is run as it is. Prefer the environment variable
        /// `TOUCHSTONE_TASK_PROMPT` over `{{ task.prompt }}` in a shell line: the prompt is not quoted for the shell.
        command: Command,
        /// Where to run it.
        workdir: SandboxPath = SandboxPath::workspace(),
        /// What the command reads on standard input.
        stdin: Stdin = Stdin::Prompt,
    }
}

choice! {
    /// What an agent reads on standard input.
    pub enum Stdin {
        /// The task's prompt.
        Prompt = "prompt",
        /// Nothing.
        None = "none",
    }
}

section! {
    /// Runs a container image as the agent. The image replaces `base`: its entrypoint, command, environment, working
    /// directory and user are used.
    ///
    /// ```yaml
    /// agent: { type: image, image: "registry.example/my-agent:1.4" }
    /// ```
    pub struct Image {
        /// The image.
        image: Filled,
        /// Replaces the image's command.
        command: Option<Command>,
        /// What the command reads on standard input.
        stdin: Stdin = Stdin::Prompt,
    }
}

section! {
    /// Asks a server over HTTP: either a declared service (`url`), or an image that is started as the agent (`image`
    /// and `port`). Give one of the two.
    ///
    /// ```yaml
    /// agent:
    ///   type: http
    ///   url: http://assistant:8080/chat
    ///   request: { input: "{{ task.prompt }}" }
    ///   response_path: output
    /// ```
    pub struct Http {
        /// Where the agent answers: a URL whose host is a declared service.
        url: Option<Filled>,
        /// An image that is started as the agent.
        image: Option<Filled>,
        /// The port on which the image listens.
        port: Option<Whole<1, 65535>>,
        /// The path to ask, with `image`.
        path: Text = Text::literal("/"),
        /// The method of the request.
        method: Method = Method::new("POST").unwrap_or_else(|| unreachable!("POST is a method")),
        /// Headers of the request.
        headers: Table<HeaderName, Text> = Table::default(),
        /// The body of the request. A map or list is sent as JSON, a text as it is. Without it:
        /// `{"input": "<the prompt>"}`.
        request: Option<Value>,
        /// Where in the JSON answer the output stands, as dotted keys and indices: `choices.0.message.content`. Without it
        /// the whole body is the output.
        response_path: Option<Text>,
    }
}

section! {
    /// Runs an agent that was uploaded to the server. Its files are in `/opt/agent` (also `TOUCHSTONE_AGENT_DIR`), and
    /// its entrypoint runs in the workspace: a word of it that names one of its files is replaced by the whole path, so
    /// `["python3", "agent.py"]` finds what was uploaded. It reads the prompt on standard input.
    ///
    /// ```yaml
    /// agent: { type: snapshot, snapshot: email-agent, tag: stable }
    /// ```
    pub struct Snapshot {
        /// The name of the agent, or the id of one snapshot.
        snapshot: Filled,
        /// The version to use; the newest without it.
        version: Option<Whole<1, { i64::MAX }>>,
        /// The tag to use, instead of a version.
        tag: Option<Filled>,
    }
}

section! {
    /// The hosted agent of that name. Accepted so that existing specs load; running it needs an alias in the
    /// server's configuration, and says so otherwise.
    pub struct Paragon {
        /// The model that the hosted agent uses.
        model: Option<Filled>,
    }
}

section! {
    /// Does nothing at all. Invariants that pass with this agent prove nothing.
    pub struct Noop {}
}

section! {
    /// Runs `task.solution`. Invariants that fail with this agent cannot be met.
    pub struct Oracle {}
}

impl Cli {
    /// An agent that runs this line in the workspace, with the prompt on standard input.
    #[must_use]
    pub fn of_line(line: &str) -> Self {
        Self { command: Command::Line(Text::literal(line)), workdir: SandboxPath::workspace(), stdin: Stdin::Prompt }
    }
}

impl Readable for Agent {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let common = AgentCommon::read_fields(&mut map, reader);
        let kind = AgentKind::read_variant(&mut map, reader);
        let variants: Vec<(&'static str, Section)> = AgentKind::variants();
        finish_tagged(&map, reader, "type", variants);
        Some(Self { common: common?, kind: kind? })
    }

    fn shape() -> Shape {
        AgentKind::tagged_shape(AgentCommon::section().fields)
    }
}
