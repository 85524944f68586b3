//! Resources of this machine for every attempt: providers of models, and the replies of judges.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use engine::data_dir::DataDir;
use engine::machine::Machine;
use engine::providers::Providers;

use crate::output::CommandError;

/// The file of the data directory that says where models are.
const MODELS: &str = "models.yaml";

/// Where models are.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelOptions {
    /// Which models there are, where, and what they cost; `models.yaml` of the data directory without it.
    #[arg(long, env = "TOUCHSTONE_MODELS", value_name = "FILE")]
    models: Option<PathBuf>,
}

impl ModelOptions {
    /// Loads the resources of this machine.
    pub(crate) fn machine(&self, data_dir: &DataDir) -> Result<Machine, CommandError> {
        let path = match &self.models {
            Some(path) if !path.is_file() => {
                return Err(CommandError::Usage(format!("there is no file `{}` with models", path.display())));
            }
            Some(path) => path.clone(),
            None => data_dir.path().join(MODELS),
        };
        let providers = Providers::load(&path, &|name| env::var(name).ok());
        let providers = providers.map_err(|error| CommandError::Usage(error.to_string()))?;
        Ok(Machine { providers: Arc::new(providers), judgements: Some(judgements(data_dir)), ..Machine::default() })
    }
}

/// Returns the folder of the judges' replies.
pub(crate) fn judgements(data_dir: &DataDir) -> PathBuf {
    data_dir.path().join("judgements")
}
