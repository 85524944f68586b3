//! The run whose judges are meant: by its experiment, or the newest one of a spec.

use std::path::Path;

use store::{Experiment, Run, Store};

use crate::output::CommandError;
use crate::reference::Reference;
use crate::source::sources;

/// The run that a word means: EXPERIMENT, EXPERIMENT#RUN, the id of a spec, or the path of one.
pub(super) async fn find(store: &Store, named: &str) -> Result<(Experiment, Run), CommandError> {
    let spec = spec_at(Path::new(named))?.unwrap_or_else(|| named.to_owned());
    let newest = store.experiments(1, Some(&spec)).await?.pop();
    let named = newest.map_or_else(|| named.to_owned(), |experiment| experiment.id.to_string());
    let reference: Reference = named.parse().map_err(CommandError::usage)?;
    if reference.scenario.is_some() {
        return Err(CommandError::Usage("a run is calibrated as a whole; leave `/SCENARIO` away".to_owned()));
    }
    reference.find(store).await
}

/// The id of the spec at a path; `None` where there is none.
fn spec_at(path: &Path) -> Result<Option<String>, CommandError> {
    if !path.exists() {
        return Ok(None);
    }
    let (sources, readable) = sources(&[path.to_owned()]);
    readable?;
    let [source] = sources.as_slice() else {
        return Err(CommandError::Usage(format!("`{}` holds more than one spec; name one", path.display())));
    };
    let broken =
        || CommandError::InvalidSpec(format!("`{}` is not valid: `touchstone validate` says why", path.display()));
    Ok(Some(source.load().spec.ok_or_else(broken)?.id.to_string()))
}
