//! The agent that acts instead of a spec's own, and what this machine's owner allows: what `try` and `run` share.

use std::io;
use std::path::Path;

use engine::attempt::{HostChecks, Permissions};
use engine::bundle::AGENT_FILES;
use scenario::certificate::cheats::BuiltInCheat;
use scenario::plan::AgentOverride;
use scenario::spec::diagnostic::closest;
use store::{SpecContent, SpecFile};

use crate::bundle_files;
use crate::output::CommandError;

/// Reads the name of an agent, or a command. A spec may have cheats of its own, so that not all names are known here.
pub(crate) fn agent(text: &str) -> Result<AgentOverride, String> {
    text.parse().map_err(|_| {
        let known = known();
        let near = closest(text, known.iter().map(String::as_str));
        let near = near.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        format!("{near}known agents are {}; write `cmd:{text}` for a command of that name", known.join(", "))
    })
}

/// The names of agents that every spec has.
fn known() -> Vec<String> {
    let plain = AgentOverride::PLAIN.iter().map(ToString::to_string);
    plain.chain(BuiltInCheat::ALL.map(|cheat| format!("cheat:{}", cheat.word()))).collect()
}

/// Adds the files of a command that acts as the agent to what is kept of a spec, so that every run of it has them.
pub(crate) fn add_files(folder: &Path, content: &mut SpecContent) -> Result<(), CommandError> {
    let unreadable = |error: io::Error| {
        CommandError::Usage(format!("the agent's files in `{}` cannot be read: {error}", folder.display()))
    };
    if !folder.is_dir() {
        return Err(unreadable(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    let files = bundle_files::files(folder).map_err(unreadable)?;
    content
        .files
        .extend(files.into_iter().map(|file| SpecFile { path: format!("{AGENT_FILES}/{}", file.path), ..file }));
    content.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(())
}

/// Returns the permissions that the machine's owner grants. Scripts beside the worker are confined by a command of our
/// own.
pub(crate) fn permissions(allow_host_checks: bool) -> io::Result<Permissions> {
    if !allow_host_checks {
        return Ok(Permissions::default());
    }
    let own = std::env::current_exe()?.display().to_string();
    let host_checks = Some(HostChecks { confine: vec![own, "confine".to_owned()] });
    Ok(Permissions { host_checks, ..Permissions::default() })
}
