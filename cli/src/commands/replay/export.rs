//! `touchstone replay export`: a stored scenario as a session.

use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use scenario::replay::{ExportError, Session, export};
use scenario::spec::Spec;
use scenario::spec::sections::session_name;
use store::spec_of;
use tempfile::NamedTempFile;
use tokio::runtime::Runtime;

use crate::client::{MaybeServer, Server};
use crate::data_dir::StoreOption;
use crate::evidence_of::{EvidenceHere, EvidenceThere};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;

/// Write a stored scenario down as a session: its prompt, its variants, the faults that fired, and the answers of its HTTP mocks
/// and of its model's provider, word for word.
///
/// Secrets are not in it: where one stood, it says `[redacted:NAME]`.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// EXPERIMENT/SCENARIO or EXPERIMENT#RUN/SCENARIO; the scenario can be left away when there is only one.
    #[arg(value_name = "SCENARIO")]
    reference: Reference,
    /// The file to write, in place of standard output. An existing file is replaced.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The name of the session; without it, that of the file or of the scenario.
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

/// A session, and what else is known of its scenario.
struct Exported {
    session: Session,
    /// The file of the spec, when it is on this machine.
    spec_file: Option<PathBuf>,
    spec: Option<Spec>,
}

impl Export {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let Exported { mut session, spec_file, spec } = Runtime::new()?.block_on(async {
            match self.server.named()? {
                Some(server) => self.export_at(&server).await,
                None => self.export_here().await,
            }
        })?;
        let of_file = self.output.as_deref().and_then(Path::to_str).map(session_name);
        session.id = self.id.clone().or(of_file).filter(|id| !id.is_empty()).unwrap_or(session.id);
        session.spec = self.output.as_deref().zip(spec_file).and_then(|(file, spec)| path_from(file, &spec));
        if let Some(spec) = &spec {
            tell_live_services(spec, output);
        }
        let Some(file) = &self.output else {
            output.line(session.text().trim_end())?;
            return Ok(Exit::Passed);
        };
        write(file, &session.text())?;
        let run = format!("touchstone replay run {}", file.display());
        output.note(format!("wrote {} answers to `{}`; run it again with `{run}`", answers(&session), file.display()));
        Ok(Exit::Passed)
    }

    async fn export_here(&self) -> Result<Exported, CommandError> {
        let found = EvidenceHere::find(&self.store, &self.reference).await?;
        let spec = spec_of(&found.home.store, &found.run).await?;
        let scenario = &found.stored.scenario;
        let mut session = export(spec.id.as_str(), scenario, &found.evidence).map_err(|error| refused(&error))?;
        let status = found.stored.result.as_ref().map(|result| result.word().to_owned());
        if let Some(source) = &mut session.source {
            source.experiment = Some(found.run.id.to_string());
            source.status = status;
        }
        let spec_file = Some(PathBuf::from(&found.experiment.source)).filter(|path| path.is_file());
        Ok(Exported { session, spec_file, spec: Some(spec) })
    }

    async fn export_at(&self, server: &Server) -> Result<Exported, CommandError> {
        let found = EvidenceThere::find(server, &self.reference).await?;
        let (report, _) = server.report(&found.run).await?;
        let is_meant = |row: &&scenario::report::Row| row.result.scenario.id.as_str() == found.id;
        let row = report.rows.iter().find(is_meant).ok_or_else(|| {
            CommandError::Infrastructure(format!("the server's results have no scenario `{}`", found.name()))
        })?;
        let mut session =
            export(&report.spec_id, &row.result.scenario, &found.evidence).map_err(|error| refused(&error))?;
        if let Some(source) = &mut session.source {
            source.experiment = Some(found.run.name());
            source.status = Some(row.result.word().to_owned());
        }
        Ok(Exported { session, spec_file: None, spec: None })
    }
}

/// The number of answers that a session has.
fn answers(session: &Session) -> usize {
    session.tool_responses.len() + session.model_responses.len()
}

fn refused(error: &ExportError) -> CommandError {
    CommandError::Usage(error.to_string())
}

/// Lists the services that are not replayed.
fn tell_live_services(spec: &Spec, output: &mut Output) {
    let live: Vec<_> = Session::live_services(spec).into_iter().map(|name| format!("`{name}`")).collect();
    if !live.is_empty() {
        output.note(format!(
            "{} answer for themselves in a replay: only recording HTTP mocks answer from a session",
            live.join(", ")
        ));
    }
}

/// Writes a file whole, or not at all.
fn write(file: &Path, text: &str) -> Result<(), CommandError> {
    let failed =
        |error: &dyn std::fmt::Display| CommandError::Usage(format!("cannot write `{}`: {error}", file.display()));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let mut written = NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    written.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    written.persist(file).map_err(|error| failed(&error.error))?;
    Ok(())
}

/// The path of a spec from the folder of a session's file.
fn path_from(file: &Path, spec: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).ok()?;
    let (folder, spec) = (folder.canonicalize().ok()?, spec.canonicalize().ok()?);
    let shared = folder.components().zip(spec.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(spec.components().skip(shared)).collect();
    path.to_str().map(ToOwned::to_owned)
}
