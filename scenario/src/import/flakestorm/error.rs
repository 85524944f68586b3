//! The reasons why a file cannot be made into a spec.

/// A reason why a file cannot be made into a spec, with what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is no YAML.
    #[error("this is no YAML: {0}")]
    Yaml(#[source] serde_yaml::Error),
    /// The spec cannot be written.
    #[error("the spec cannot be written: {0}")]
    Write(#[source] serde_yaml::Error),
    /// It is no map.
    #[error("a flakestorm.yaml is a map with the keys `agent`, `golden_prompts`, …")]
    NoMap,
    /// There is no prompt.
    #[error("`golden_prompts` is missing or empty: write at least one prompt")]
    NoPrompts,
    /// There is nothing to judge by.
    #[error("there is neither an invariant nor a contract that can be converted: write at least one of `invariants`")]
    NothingToJudge,
    /// There is no agent.
    #[error(
        "`agent` is missing: give a command that does its work with --agent-command, or the image of its server with --agent-image"
    )]
    NoAgent,
    /// A server outside of any sandbox.
    #[error(
        "`agent.endpoint` is a server at `{endpoint}`, and here the agent is started in a sandbox: name the image of the server \
         with --agent-image, or a command that does its work with --agent-command"
    )]
    Endpoint {
        /// Its address.
        endpoint: String,
    },
    /// A callable of Python.
    #[error(
        "`agent.type: {kind}` calls `{endpoint}` inside of Flakestorm's own process: write a script that reads the prompt from \
         the variable TOUCHSTONE_TASK_PROMPT and prints the answer, and give it with --agent-command \"python3 agent.py\""
    )]
    Callable {
        /// The type.
        kind: String,
        /// The callable.
        endpoint: String,
    },
    /// An image without a server.
    #[error(
        "--agent-image needs `agent.endpoint` with the port and the path of the server, such as http://localhost:8000/invoke"
    )]
    NoEndpoint,
}
