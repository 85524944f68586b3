//! Plans a run: the specs that are valid and can be run here, and their scenarios.

use std::path::PathBuf;

use engine::attempt::Permissions;
use scenario::plan::{AgentOverride, Filter, Plan, PlanScope, expand};
use scenario::report::Skipped;
use scenario::spec::sections::chaos::NO_CHAOS;
use scenario::spec::{Spec, render};
use serde_json::Value as Json;
use store::SpecContent;

use super::Run;
use crate::output::{CommandError, Output};
use crate::secrets;
use crate::source::{FoundBy, Source, has_error, same_id, sources};

/// The specs to run, and the skipped ones.
#[derive(Debug, Default)]
pub(in crate::commands) struct Plans {
    /// The specs to run.
    pub(in crate::commands) planned: Vec<Planned>,
    /// The skipped specs.
    pub(in crate::commands) skipped: Vec<Skipped>,
}

impl Plans {
    /// Skips specs that the backend cannot run; a spec named on the command line is an error instead.
    pub(in crate::commands) fn refuse(&mut self, misfit: impl Fn(&Spec) -> Option<String>) -> Result<(), CommandError> {
        for planned in std::mem::take(&mut self.planned) {
            match misfit(&planned.spec) {
                None => self.planned.push(planned),
                Some(reason) if planned.found == FoundBy::Searched => {
                    self.skipped.push(Skipped { spec: planned.source, reason });
                }
                Some(reason) => {
                    return Err(CommandError::Infrastructure(format!("{}: {reason}", planned.source)));
                }
            }
        }
        Ok(())
    }
}

/// A spec that is to be run.
#[derive(Debug)]
pub(in crate::commands) struct Planned {
    /// Its name in messages.
    pub(in crate::commands) source: String,
    /// The way in which it was found.
    found: FoundBy,
    /// The folder that it is in.
    pub(in crate::commands) folder: Option<PathBuf>,
    /// The spec.
    pub(in crate::commands) spec: Spec,
    /// Its content, to be stored.
    pub(in crate::commands) content: SpecContent,
    /// Parameters that were given.
    pub(in crate::commands) parameters: Vec<(String, Json)>,
    /// Its scenarios.
    pub(in crate::commands) plan: Plan,
}

/// Reads and plans all specs before anything is run; `None` when one is not valid, after saying why.
pub(in crate::commands) fn plans(run: &Run, output: &mut Output) -> Result<Option<Plans>, CommandError> {
    let (sources, readable) = sources(&run.paths);
    readable?;
    let filters = run.choices.filters()?;
    let Some(specs) = read(&sources, output)? else { return Ok(None) };
    let permissions = run.work.permissions()?;
    let mut plans = Plans::default();
    let mut problems = Vec::new();
    for (source, spec) in sources.iter().zip(specs) {
        match plan(run, source, spec, &filters, &permissions) {
            Ok(Some(planned)) => plans.planned.push(planned),
            // Not asked for.
            Ok(None) => {}
            Err(Refused::Unsupported(reason)) if source.found == FoundBy::Searched => {
                plans.skipped.push(Skipped { spec: source.name.clone(), reason });
            }
            Err(Refused::Unsupported(reason)) => {
                return Err(CommandError::Infrastructure(format!("{}: {reason}", source.name)));
            }
            Err(Refused::Wrong(problem)) => problems.push(format!("{}: {problem}", source.name)),
        }
    }
    if !problems.is_empty() {
        return Err(CommandError::Usage(problems.join("\n")));
    }
    if plans.planned.is_empty() && plans.skipped.is_empty() {
        return Err(run.choices.nothing_matches());
    }
    Ok(Some(plans))
}

/// The reason why a spec is not run.
enum Refused {
    /// This version or machine cannot.
    Unsupported(String),
    /// The command asks for something that the spec has not.
    Wrong(String),
}

fn plan(
    run: &Run,
    source: &Source,
    spec: Spec,
    filters: &[Filter],
    permissions: &Permissions,
) -> Result<Option<Planned>, Refused> {
    let wrong = |error: &dyn std::fmt::Display| Refused::Wrong(error.to_string());
    if run.only_contracts && spec.contract.is_none() {
        let searched = source.found == FoundBy::Searched;
        return if searched { Ok(None) } else { Err(wrong(&"the spec has no `contract`")) };
    }
    let parameters = run.choices.parameters(&spec).map_err(|error| wrong(&error))?;
    let mut options = run.choices.plan_options(&parameters);
    options.scope = match &run.replayed {
        Some(replayed) => replayed.scope(source),
        None if run.only_contracts || run.for_certificate => PlanScope::Worlds,
        None => PlanScope::Everything,
    };
    if run.for_certificate && spec.chaos_cells().next().is_some() {
        // Faults without a matrix are a part of the only world that there is.
        options.chaos = Some(vec![NO_CHAOS.to_owned()]);
    }
    let mut whole = expand(&spec, options).map_err(|error| wrong(&error))?;
    if let Some(replayed) = &run.replayed {
        whole = replayed.narrow(source, whole).map_err(|error| wrong(&error))?;
    }
    let Some(plan) = whole.narrowed(filters, &spec) else { return Ok(None) };
    if run.choices.agent == Some(AgentOverride::Oracle) && spec.task.solution.is_none() {
        let reason = "there is no `task.solution`, which is what `--agent oracle` does".to_owned();
        return Err(if source.found == FoundBy::Searched {
            Refused::Unsupported(reason)
        } else {
            Refused::Wrong(reason)
        });
    }
    if let Some(reason) = engine::unsupported(&spec, run.choices.agent.as_ref(), permissions, engine::Uploads::None) {
        return Err(Refused::Unsupported(reason));
    }
    if let Some(reason) = missing_judge(run, &spec).map_err(|error| wrong(&error))? {
        return Err(Refused::Unsupported(reason));
    }
    let forwarded = run.work.secrets.read().map_err(|error| wrong(&error))?;
    secrets::resolve(&spec, &forwarded).map_err(Refused::Wrong)?;
    let mut content = run.choices.content(source).map_err(|error| wrong(&error))?;
    if let Some(replayed) = &run.replayed {
        replayed.add_files(source, &mut content);
    }
    let (name, folder) = (source.name.clone(), source.folder.clone());
    Ok(Some(Planned { source: name, found: source.found, folder, spec, content, parameters, plan }))
}

/// Returns the model of the spec's judges that is unavailable here, if any.
fn missing_judge(run: &Run, spec: &Spec) -> Result<Option<String>, CommandError> {
    if !engine::judges::are_asked(spec) {
        return Ok(None);
    }
    let machine = run.work.models.machine(&run.work.store.data_dir()?)?;
    Ok(engine::judges::missing(spec, &machine.providers))
}

/// Reads all specs; `None` when one is not valid, after showing every finding.
pub(crate) fn read(sources: &[Source], output: &mut Output) -> Result<Option<Vec<Spec>>, CommandError> {
    let mut specs = Vec::new();
    for source in sources {
        let loaded = source.load();
        for diagnostic in loaded.diagnostics.iter().filter(|_| has_error(&loaded.diagnostics)) {
            output.line(format!("{}\n", render::text(diagnostic, &source.name, &source.text, output.style())))?;
        }
        specs.push(loaded.spec);
    }
    let Some(specs) = specs.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    match same_id(sources.iter().zip(&specs)) {
        Some(problem) => Err(CommandError::InvalidSpec(problem)),
        None => Ok(Some(specs)),
    }
}
