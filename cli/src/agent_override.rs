//! The agent that acts instead of a spec's own, and what this machine's owner allows: what `try` and `run` share.

use std::io;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use engine::attempt::{HostChecks, Permissions};
use scenario::plan::AgentOverride;

/// Reads the word of an agent, and knows them all for the help.
pub(crate) fn agent_parser() -> impl TypedValueParser<Value = AgentOverride> {
    let known = AgentOverride::ALL.map(|agent| PossibleValue::new(agent.word()).help(agent.summary()));
    PossibleValuesParser::new(known).try_map(|word| word.parse::<AgentOverride>())
}

/// What the machine's owner allows; scripts beside the worker are confined by a command of our own.
pub(crate) fn permissions(allow_host_checks: bool) -> io::Result<Permissions> {
    if !allow_host_checks {
        return Ok(Permissions::default());
    }
    let own = std::env::current_exe()?.display().to_string();
    let host_checks = Some(HostChecks { confine: vec![own, "confine".to_owned()] });
    Ok(Permissions { host_checks, ..Permissions::default() })
}
