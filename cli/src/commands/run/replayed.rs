//! Sessions that are run in place of a spec's own scenarios.

use std::path::Path;

use indexmap::IndexMap;
use scenario::plan::{Plan, PlanScope, Replay, Scenario};
use scenario::spec::sections::{ReplayMatching, ReplayModel};
use serde_json::Value as Json;
use store::{SpecContent, SpecFile};

use crate::commands::replay::SessionFile;
use crate::source::Source;

/// The folder in which sessions are kept with the spec that they are run with.
const FOLDER: &str = ".replays";

/// Sessions that are run in place of the scenarios of specs.
#[derive(Debug)]
pub(in crate::commands) struct Replayed {
    /// The sessions.
    pub(in crate::commands) sessions: Vec<SessionFile>,
    /// The way to find the recorded answer to a call.
    pub(in crate::commands) matching: ReplayMatching,
    /// The source of the model's answers.
    pub(in crate::commands) model: ReplayModel,
}

/// A session was recorded in a cell that the matrix does not have.
#[derive(Debug, thiserror::Error)]
#[error(
    "the session `{0}` was recorded with parameters that no cell of the matrix has: choose some with --param NAME=VALUE, or remove `parameters` from the session"
)]
pub(super) struct NoSuchCell(String);

impl Replayed {
    /// The sessions of a spec.
    fn of<'a>(&'a self, source: &Source) -> impl Iterator<Item = &'a SessionFile> {
        let spec = Path::new(&source.name).canonicalize().ok();
        self.sessions.iter().filter(move |session| Some(&session.spec) == spec.as_ref())
    }

    /// The part of a spec's plan that they are.
    pub(super) fn scope(&self, source: &Source) -> PlanScope {
        let replay = |file: &SessionFile| {
            let session = path(&file.name);
            let replay = Replay { id: file.name.clone(), session, matching: self.matching, model: self.model };
            (replay, file.session.chaos.clone())
        };
        PlanScope::Replays(self.of(source).map(replay).collect())
    }

    /// The plan without replays in other cells of the matrix than those that they were recorded in.
    ///
    /// # Errors
    ///
    /// A session was recorded in a cell that the matrix does not have.
    pub(super) fn narrow(&self, source: &Source, plan: Plan) -> Result<Plan, NoSuchCell> {
        let parameters: IndexMap<&str, &IndexMap<String, Json>> =
            self.of(source).map(|file| (file.name.as_str(), &file.session.parameters)).collect();
        let wanted = |scenario: &Scenario| {
            let recorded = scenario.purpose.replay().and_then(|replay| parameters.get(replay.id.as_str()));
            recorded.is_none_or(|recorded| recorded.is_empty() || **recorded == scenario.parameters)
        };
        let scenarios: Vec<_> = plan.scenarios.into_iter().filter(wanted).collect();
        let is_run = |name: &str| scenarios.iter().any(|one| one.purpose.replay().is_some_and(|it| it.id == name));
        match parameters.keys().find(|name| !is_run(name)) {
            Some(name) => Err(NoSuchCell((*name).to_owned())),
            None => Ok(Plan { scenarios, ..plan }),
        }
    }

    /// Adds the files of a spec's sessions to what is kept of it.
    pub(super) fn add_files(&self, source: &Source, content: &mut SpecContent) {
        let file = |file: &SessionFile| SpecFile {
            path: path(&file.name),
            executable: false,
            content: file.text.clone().into_bytes(),
        };
        content.files.extend(self.of(source).map(file));
        content.files.sort_by(|one, other| one.path.cmp(&other.path));
    }
}

fn path(name: &str) -> String {
    format!("{FOLDER}/{name}.yaml")
}
