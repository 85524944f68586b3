//! The agent that acts instead of a spec's own, and what this machine's owner allows: what `try` and `run` share.

use std::ffi::OsStr;
use std::io;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, Error};
use engine::attempt::{HostChecks, Permissions};
use scenario::certificate::cheats::BuiltInCheat;
use scenario::plan::AgentOverride;

/// Reads the word of an agent, and knows for the help all that every spec has.
pub(crate) fn agent_parser() -> impl TypedValueParser<Value = AgentOverride> {
    AgentParser
}

/// Reads the word of an agent. A spec may have cheats of its own, so that not all words are known here.
#[derive(Debug, Clone, Copy)]
struct AgentParser;

impl TypedValueParser for AgentParser {
    type Value = AgentOverride;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<AgentOverride, Error> {
        let known = || PossibleValuesParser::new(known());
        match value.to_str().and_then(|word| word.parse().ok()) {
            Some(agent) => Ok(agent),
            // It says which there are, and what may be meant.
            None => known().try_map(|word| word.parse::<AgentOverride>()).parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new(known().into_iter()))
    }
}

/// The words of agents that every spec has.
fn known() -> Vec<PossibleValue> {
    let plain =
        AgentOverride::PLAIN.iter().map(|agent| PossibleValue::new(agent.word().into_owned()).help(agent.summary()));
    let cheat = |cheat: BuiltInCheat| PossibleValue::new(format!("cheat:{}", cheat.word())).help(cheat.summary());
    plain.chain(BuiltInCheat::ALL.map(cheat)).collect()
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
