//! `model`: the model gateway that the agent talks to.

use crate::spec::section::{by_default, choice, section};
use crate::spec::template::Text;
use crate::spec::types::{BaseUrl, BundlePath, Dollars, Filled, Label, SecretName, Timespan, Value, Whole};

/// A number of tokens.
type Tokens = Whole<0, 1_000_000_000>;

section! {
    /// The model that the agent talks to, in the shape of OpenAI's and Anthropic's APIs. Its address in the sandbox is in
    /// `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL`, with a stand-in for the key in `OPENAI_API_KEY` and
    /// `ANTHROPIC_API_KEY`. The real key stays outside; tokens and cost are counted here, so the agent does not have to report them.
    ///
    /// ```yaml
    /// model:
    ///   mode: scripted
    ///   turns:
    ///     - tool_calls: [{ name: read_file, arguments: { path: notes.txt } }]
    ///       completion_tokens: 12
    ///     - content: "Done."
    /// ```
    pub struct Model {
        /// Where answers come from.
        mode: ModelMode,
        /// The answers of a scripted model, one for each call.
        turns: Vec<Turn> = Vec::new(),
        /// Answers that a scripted model gives to requests which contain a text; tried before `turns`.
        rules as "match": Vec<TurnMatch> = Vec::new(),
        /// What moves a scripted model on to the next turn.
        advance: Advance = Advance::Call,
        /// What a scripted model does after its last turn.
        on_exhausted: Exhausted = Exhausted::Error,
        /// Makes the scenario fail when turns are left over.
        require_all_turns: bool = false,
        /// Where `proxy` and `record` forward to.
        upstream: Option<Upstream>,
        /// The file of the spec's folder that `replay` reads and `record` writes.
        recording: Option<BundlePath>,
        /// How `replay` finds the answer to a request.
        matching: Matching = Matching::Strict,
        /// What the agent may use of the model; beyond it, the agent is stopped.
        limits: ModelLimits = by_default(),
    }
}

choice! {
    /// Where a model's answers come from.
    pub enum ModelMode {
        /// From `turns`: no key, no network, no chance.
        Scripted = "scripted",
        /// From `upstream`; every exchange is recorded as evidence.
        Proxy = "proxy",
        /// From `upstream`; the exchanges are also kept for `replay`.
        Record = "record",
        /// From a recording.
        Replay = "replay",
    }
}

choice! {
    /// How `replay` finds the answer to a request.
    pub enum Matching {
        /// The recorded request with the same content; each answers once, in their order.
        Strict = "strict",
        /// The next one of the recording, whatever is asked.
        Fifo = "fifo",
    }
}

section! {
    /// What the agent may use of the model. The limit that fires stops the agent and fails the scenario by its name.
    pub struct ModelLimits {
        /// Calls.
        max_calls: Option<Whole<1, 1_000_000>>,
        /// Tokens of requests and answers together.
        max_tokens: Option<Whole<1, 1_000_000_000>>,
        /// Cost in US dollars, by the price table. A model without a price cannot be used with this limit.
        max_cost_usd: Option<Dollars>,
    }
}

choice! {
    /// What moves a scripted model on to the next turn.
    pub enum Advance {
        /// Every call.
        Call = "call",
        /// The number of tool results in the conversation, which survives retries of the agent's client.
        Transcript = "transcript",
    }
}

choice! {
    /// What a scripted model does after its last turn.
    pub enum Exhausted {
        /// Answers with an error, and the scenario fails with that reason.
        Error = "error",
        /// Gives the last answer again.
        RepeatLast = "repeat_last",
    }
}

section! {
    /// One answer of a scripted model. Give `content`, `tool_calls` or `variants`.
    pub struct Turn {
        /// The text of the answer.
        content: Option<Text>,
        /// The tools that the answer calls.
        tool_calls: Vec<ToolCall> = Vec::new(),
        /// Tokens that the request counts; 0 means that they are estimated from its length, and marked so.
        prompt_tokens: Tokens = Whole::new(0),
        /// Tokens that the answer counts; 0 means that they are estimated from its length, and marked so.
        completion_tokens: Tokens = Whole::new(0),
        /// How long to wait before answering.
        delay: Option<Timespan>,
        /// Different answers for different replicas: replica 0 gets the first one, the others are chosen by the seed so
        /// that every combination is seen as soon as there are replicas enough.
        variants: Vec<Variant> = Vec::new(),
    }
}

section! {
    /// One of several answers of a turn.
    pub struct Variant {
        /// The text of the answer.
        content: Option<Text>,
        /// The tools that the answer calls.
        tool_calls: Vec<ToolCall> = Vec::new(),
        /// Tokens that the request counts; 0 means that they are estimated from its length, and marked so.
        prompt_tokens: Tokens = Whole::new(0),
        /// Tokens that the answer counts; 0 means that they are estimated from its length, and marked so.
        completion_tokens: Tokens = Whole::new(0),
    }
}

section! {
    /// A tool that an answer calls.
    pub struct ToolCall {
        /// The tool.
        name: Label,
        /// Its arguments.
        arguments: Option<Value>,
    }
}

section! {
    /// An answer for requests that contain a text.
    pub struct TurnMatch {
        /// The text that the request must contain.
        contains: Filled,
        /// The answer.
        turn: Turn,
    }
}

section! {
    /// Where calls are forwarded to.
    ///
    /// A provider that cannot be reached or answers 429 or 5xx is tried again for up to two minutes before the agent notices. What
    /// remains is an `error` of kind `provider`, tried again as a new attempt, and a key or an address that the provider refuses one
    /// of kind `provider_config`; unless the agent's own request is what fails, or it floods the provider beyond
    /// `limits.max_calls` (without it: 32 calls at once, 600 calls or 64 MiB a minute).
    pub struct Upstream {
        /// The name of a provider in this machine's configuration, which has its address, key and model.
        alias: Option<Label>,
        /// The provider's address, such as `https://api.example.com/v1`, instead of an alias: without user, `?` and `#`.
        /// Servers and workers connect to public addresses only, unless their operator allows others.
        base_url: Option<BaseUrl>,
        /// The secret that holds the key. It is added outside the sandbox; the agent never has it.
        api_key: Option<SecretName>,
        /// The shape of the provider's API.
        provider: Provider = Provider::OpenAi,
        /// The model to ask, whatever the agent asks for. With it, an agent cannot make a provider refuse a model that it made up.
        model: Option<Filled>,
    }
}

choice! {
    /// The shape of a provider's API.
    pub enum Provider {
        /// Chat completions.
        OpenAi = "openai",
        /// Messages.
        Anthropic = "anthropic",
    }
}
