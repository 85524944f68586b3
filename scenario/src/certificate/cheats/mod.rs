//! Cheats: agents that try to pass without doing what is asked. A spec whose invariants let one of them through proves nothing.
//!
//! Those that every spec has are made from what an agent can see or guess: the task, the mocks, and the paths that invariants look
//! at. A spec adds its own as `task.cheats`.
//!
//! To add one: write its file, add its variant to `plan/built_in_cheat.rs`, and the compiler asks for the rest.

mod call_every_mock;
mod confident;
mod echo_expected;
mod guess;
mod shell;
mod touch_paths;
mod verdict_files;

pub use crate::plan::BuiltInCheat;
use crate::plan::Values;
use crate::spec::Spec;
use crate::spec::types::CheatName;

/// The steps of a cheat: first its shell lines, then its requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheatProgram {
    /// Shell lines, run one after the other in the workspace.
    pub lines: Vec<String>,
    /// Requests to services, whose answers are not read.
    pub requests: Vec<CheatRequest>,
}

/// One request of a cheat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheatRequest {
    /// The service.
    pub service: String,
    /// Its port.
    pub port: i64,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// A cheat that this spec has, or why it makes no sense for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCheat {
    /// Its name.
    pub name: CheatName,
    /// A line about it for people.
    pub summary: String,
    /// Why it is not run; `None` when it is.
    pub not_applicable: Option<&'static str>,
}

/// A spec has no such cheat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the spec has no cheat `{name}`, only {}", known.join(", "))]
pub struct UnknownCheat {
    /// The name.
    pub name: String,
    /// Those that it has.
    pub known: Vec<String>,
}

impl BuiltInCheat {
    /// Why it makes no sense for a spec; `None` when it does.
    #[must_use]
    pub fn not_applicable(self, spec: &Spec) -> Option<&'static str> {
        match self {
            Self::TouchPaths if !guess::has_paths(spec) => Some("no invariant looks at a path"),
            Self::CallEveryMock if !call_every_mock::has_routes(spec) => Some("there is no mock with a route"),
            _ => None,
        }
    }

    fn program(self, values: &Values<'_>) -> CheatProgram {
        match self {
            Self::VerdictFiles => verdict_files::program(),
            Self::EchoExpected => echo_expected::program(values),
            Self::TouchPaths => touch_paths::program(values),
            Self::CallEveryMock => call_every_mock::program(values.spec()),
            Self::Confident => confident::program(),
        }
    }
}

/// The cheats of a spec: those that every spec has, and its own.
#[must_use]
pub fn cheats(spec: &Spec) -> Vec<PlannedCheat> {
    let built_in = BuiltInCheat::ALL.into_iter().filter_map(|cheat| {
        let (summary, not_applicable) = (cheat.summary().to_owned(), cheat.not_applicable(spec));
        Some(PlannedCheat { name: CheatName::new(cheat.word())?, summary, not_applicable })
    });
    let own = spec.task.cheats.iter().map(|own| {
        let summary = own.description.clone().unwrap_or_else(|| "A cheat of the spec's own".to_owned());
        PlannedCheat { name: own.name.clone(), summary, not_applicable: None }
    });
    built_in.chain(own).collect()
}

/// The steps of a cheat in a scenario.
///
/// # Errors
///
/// The spec has no such cheat.
pub fn cheat_program(name: &CheatName, values: &Values<'_>) -> Result<CheatProgram, UnknownCheat> {
    let spec = values.spec();
    if let Some(built_in) = BuiltInCheat::named(name) {
        return Ok(built_in.program(values));
    }
    let own = spec.task.cheats.iter().find(|own| own.name == *name).ok_or_else(|| unknown(name, spec))?;
    let lines = own.script.0.iter().map(|line| line.render(values)).collect();
    Ok(CheatProgram { lines, requests: Vec::new() })
}

/// Refuses a cheat that a spec does not have.
///
/// # Errors
///
/// The spec has no such cheat.
pub fn require_cheat(name: &CheatName, spec: &Spec) -> Result<(), UnknownCheat> {
    let is_known = BuiltInCheat::named(name).is_some() || spec.task.cheats.iter().any(|own| own.name == *name);
    if is_known { Ok(()) } else { Err(unknown(name, spec)) }
}

fn unknown(name: &CheatName, spec: &Spec) -> UnknownCheat {
    let known = cheats(spec).into_iter().map(|cheat| format!("`{}`", cheat.name)).collect();
    UnknownCheat { name: name.to_string(), known }
}

#[cfg(test)]
mod tests;
