//! The options of a run that contracts do not say themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The required completeness of tool files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// `tool` and `side_effect` are required, and the rest has defaults.
    #[default]
    Lenient,
    /// All ten fields are required.
    Strict,
}

/// The one on whose behalf the agent acts, which policies are about.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Principal {
    /// The session is not opened yet, so its principal is unknown.
    #[default]
    Later,
    /// The session is opened without one.
    Missing,
    /// The session is opened with this one.
    Given(Json),
}

/// The way in which decisions take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Decisions are computed and never applied: the state follows what happened.
    #[default]
    Observe,
    /// Decisions are applied: the state follows what was released.
    Govern,
}

/// The handling of a response with blocked calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseGate {
    /// Nothing of it is released.
    #[default]
    RejectAll,
    /// The calls that are allowed are released.
    StripPartial,
    /// As before, and a response without any allowed call becomes text.
    StripBlocked,
}

/// The decision on a tool without rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// It is blocked.
    #[default]
    Block,
    /// It passes.
    Allow,
}

/// The options of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// The way in which decisions take effect.
    pub mode: Mode,
    /// The handling of a response with blocked calls.
    pub gate: ResponseGate,
    /// The handling of calls of tools without a contract.
    pub unmatched: Fallback,
    /// The handling of failures of our own evaluation.
    pub on_error: Fallback,
    /// Maximum number of calls that may pass without being judged before the session is killed.
    pub max_unguarded_calls: u64,
    /// The values of `equals_env`; never the environment of this process.
    pub env: BTreeMap<String, String>,
    /// True when reported results of high-risk tools count as proof in govern mode.
    pub trust_self_reported: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            gate: ResponseGate::default(),
            unmatched: Fallback::default(),
            on_error: Fallback::default(),
            max_unguarded_calls: 3,
            env: BTreeMap::new(),
            trust_self_reported: false,
        }
    }
}

/// The input of compiling besides the files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompileOptions {
    /// The required completeness of tool files.
    pub profile: Profile,
    /// The one on whose behalf the agent acts.
    pub principal: Principal,
    /// The tools whose executions pass a gateway; `None` when that is not known.
    pub gateway_tools: Option<BTreeSet<String>>,
    /// JSON Schemas of tools' arguments, which come before those seen in a run.
    pub tool_schemas: BTreeMap<String, Json>,
    /// Rules over the whole session beside those of `session.yaml`, in the same form. Diagnostics call them `rules[0]`,
    /// `rules[1]`, ….
    pub rules: Vec<Json>,
    /// The options of the session.
    pub run: RunOptions,
}
