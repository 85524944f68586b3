//! The files of sessions.

use std::fs;
use std::path::{Path, PathBuf};

use scenario::replay::Session;
use scenario::spec::sections::session_name;

use crate::output::CommandError;
use crate::search::SPEC_FILE;

/// The endings of files that can be sessions.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A session, and the file that it was read from.
#[derive(Debug)]
pub(in crate::commands) struct SessionFile {
    /// The name of the replay.
    pub(in crate::commands) name: String,
    /// The file of the spec.
    pub(in crate::commands) spec: PathBuf,
    /// The text of the file.
    pub(in crate::commands) text: String,
    /// The session.
    pub(in crate::commands) session: Session,
}

/// Reads the sessions that paths name: files, and all in a folder. `spec` is used in place of the one that they name.
pub(super) fn read(paths: &[PathBuf], spec: Option<&Path>) -> Result<Vec<SessionFile>, CommandError> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(in_folder(path)?),
            false => files.push(path.clone()),
        }
    }
    let mut sessions: Vec<SessionFile> = Vec::new();
    for file in &files {
        let session = read_one(file, spec)?;
        if sessions.iter().any(|known| known.name == session.name && known.spec == session.spec) {
            return Err(wrong(file, &format!("there is another session `{}`: rename the file", session.name)));
        }
        sessions.push(session);
    }
    Ok(sessions)
}

/// The files of a folder that can be sessions, sorted.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let entries = fs::read_dir(folder).map_err(|error| wrong(folder, &error))?;
    let has_ending =
        |path: &PathBuf| path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(has_ending).collect();
    files.sort();
    match files.is_empty() {
        true => Err(wrong(folder, &"there is no session in this folder: no .yaml, .yml or .json file")),
        false => Ok(files),
    }
}

fn read_one(file: &Path, spec: Option<&Path>) -> Result<SessionFile, CommandError> {
    let text = fs::read_to_string(file).map_err(|error| wrong(file, &error))?;
    let session = Session::parse(&text).map_err(|error| wrong(file, &error))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let named = session.spec.as_ref().map(|path| folder.join(path));
    let spec = spec
        .map(Path::to_owned)
        .or(named)
        .ok_or_else(|| wrong(file, &"the session does not say which spec it belongs to: name it with --spec SPEC"))?;
    let name = session_name(&file.to_string_lossy());
    // A folder stands for the spec in it, as everywhere.
    let spec = if spec.is_dir() { spec.join(SPEC_FILE) } else { spec };
    let spec = spec.canonicalize().map_err(|error| {
        wrong(file, &format!("its spec `{}` cannot be read: {error}; name another with --spec SPEC", spec.display()))
    })?;
    Ok(SessionFile { name, spec, text, session })
}

fn wrong(file: &Path, problem: &dyn std::fmt::Display) -> CommandError {
    CommandError::Usage(format!("`{}`: {problem}", file.display()))
}
