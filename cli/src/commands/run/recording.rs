//! Recordings of models and tools, written beside the specs that ask for them.

use std::fs;
use std::path::Path;

use scenario::cassette::{Cassette, Recording, ToolCassette};
use scenario::count_noun;
use scenario::spec::Spec;
use scenario::spec::sections::ModelMode;
use store::RunId;

use super::plan::Planned;
use crate::output::{CommandError, Output};
use crate::session::Session;

/// A recording that a spec may ask for.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// The file in the spec's folder; `None` when the spec asks for no recording.
    path: fn(&Spec) -> Option<&str>,
    /// The key of the spec that names the file.
    key: &'static str,
    /// The key of the spec by which a later run uses it.
    used_by: &'static str,
}

const OF_MODEL: Wanted = Wanted { path: model, key: "model.recording", used_by: "mode: replay" };
const OF_TOOLS: Wanted = Wanted { path: tools, key: "tools.record", used_by: "tools.replay" };

/// Writes what models and tools of runs answered, where their specs ask for it. What other scenarios recorded before stays.
pub(super) async fn keep(
    session: &Session,
    planned: &[Planned],
    runs: &[RunId],
    output: &mut Output,
) -> Result<(), CommandError> {
    for (one, run) in planned.iter().zip(runs) {
        keep_one::<Cassette>(OF_MODEL, session, one, *run, output).await?;
        keep_one::<ToolCassette>(OF_TOOLS, session, one, *run, output).await?;
    }
    Ok(())
}

async fn keep_one<Kind: Recording>(
    wanted: Wanted,
    session: &Session,
    one: &Planned,
    run: RunId,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Some(path) = (wanted.path)(&one.spec) else { return Ok(()) };
    let Some(path) = one.folder.as_deref().map(|folder| folder.join(path)) else {
        output.note(format!("{}: nothing was recorded, because the spec has no folder", one.source));
        return Ok(());
    };
    let mut recording = read::<Kind>(&path, wanted.key)?;
    let mut kept = 0;
    for stored in session.store.scenarios(run).await? {
        let Some((job, attempt)) = stored.source else { continue };
        let Some(evidence) = session.store.evidence(job, attempt).await? else { continue };
        match Kind::from_evidence(stored.scenario.id.as_str(), &evidence) {
            Ok(recorded) => {
                recording.merge(recorded);
                kept += 1;
            }
            Err(error) => output.note(format!("{}/{} was not recorded: {error}", one.source, stored.scenario.id)),
        }
    }
    if kept > 0 {
        write(&path, &recording.text())?;
        let scenarios = count_noun(kept, "scenario");
        output.note(format!("recorded {scenarios} in {}; `{}` uses it", path.display(), wanted.used_by));
    }
    Ok(())
}

fn model(spec: &Spec) -> Option<&str> {
    let model = spec.model.as_ref().filter(|model| model.mode == ModelMode::Record)?;
    model.recording.as_ref().map(|path| path.as_str())
}

fn tools(spec: &Spec) -> Option<&str> {
    spec.tools.record.as_ref().map(|path| path.as_str())
}

/// Reads the recording if it exists.
fn read<Kind: Recording>(path: &Path, key: &str) -> Result<Kind, CommandError> {
    if !path.exists() {
        return Ok(Kind::default());
    }
    let text = fs::read_to_string(path)?;
    Kind::parse(&text).map_err(|error| {
        CommandError::Usage(format!(
            "{} is no recording, and is left as it is: {error}; remove it, or name another file as `{key}`",
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
