//! Recordings of models, written beside the specs that ask for them.

use std::fs;
use std::path::{Path, PathBuf};

use scenario::cassette::Cassette;
use scenario::count_noun;
use scenario::spec::Spec;
use scenario::spec::sections::ModelMode;
use store::RunId;

use super::plan::Planned;
use crate::output::{CommandError, Output};
use crate::session::Session;

/// Writes what the models of runs answered, where their specs say `mode: record`. What other scenarios recorded before stays.
pub(super) async fn keep(
    session: &Session,
    planned: &[Planned],
    runs: &[RunId],
    output: &mut Output,
) -> Result<(), CommandError> {
    for (one, run) in planned.iter().zip(runs) {
        let Some(path) = place(one) else {
            if wanted(&one.spec).is_some() {
                output.note(format!("{}: nothing was recorded, because the spec has no folder", one.source));
            }
            continue;
        };
        let mut cassette = read(&path)?;
        let mut kept = 0;
        for stored in session.store.scenarios(*run).await? {
            let Some((job, attempt)) = stored.source else { continue };
            let Some(evidence) = session.store.evidence(job, attempt).await? else { continue };
            match Cassette::from_evidence(stored.scenario.id.as_str(), &evidence) {
                Ok(recorded) => {
                    cassette.merge(recorded);
                    kept += 1;
                }
                Err(error) => output.note(format!("{}/{} was not recorded: {error}", one.source, stored.scenario.id)),
            }
        }
        if kept > 0 {
            write(&path, &cassette.text())?;
            output.note(format!(
                "recorded {} in {}; `mode: replay` uses it",
                count_noun(kept, "scenario"),
                path.display()
            ));
        }
    }
    Ok(())
}

/// Where a spec's recording is written; `None` when it asks for none, or has no folder.
fn place(one: &Planned) -> Option<PathBuf> {
    Some(one.folder.as_deref()?.join(wanted(&one.spec)?))
}

fn wanted(spec: &Spec) -> Option<&str> {
    let model = spec.model.as_ref().filter(|model| model.mode == ModelMode::Record)?;
    model.recording.as_ref().map(|path| path.as_str())
}

/// The recording that is there already.
fn read(path: &Path) -> Result<Cassette, CommandError> {
    if !path.exists() {
        return Ok(Cassette::default());
    }
    let text = fs::read_to_string(path)?;
    Cassette::parse(&text).map_err(|error| {
        CommandError::Usage(format!(
            "{} is no recording, and is left as it is: {error}; remove it, or name another file as `model.recording`",
            path.display()
        ))
    })
}

/// Writes the file as a whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(temporary.path(), text)?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}
