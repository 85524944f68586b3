//! Where everything is kept: the data directory, and the store in it.

use std::path::PathBuf;

use clap::Args;
use engine::data_dir::DataDir;
use store::{Store, StoreError};

use crate::output::CommandError;

/// Which data directory.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataDirOption {
    /// Where Touchstone keeps its things.
    #[arg(long, env = "TOUCHSTONE_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

/// The data directory, and the store in it.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The data directory.
    pub(crate) data_dir: DataDir,
    /// What is kept.
    pub(crate) store: Store,
}

impl DataDirOption {
    /// The data directory; it is made when it is not there.
    pub(crate) fn resolve(&self) -> Result<DataDir, CommandError> {
        DataDir::resolve(self.data_dir.clone())
            .map_err(|error| CommandError::Infrastructure(format!("the data directory cannot be used: {error}")))
    }

    /// The data directory with its store.
    pub(crate) async fn open(&self) -> Result<Home, CommandError> {
        let data_dir = self.resolve()?;
        let store = Store::open(data_dir.path()).await?;
        Ok(Home { data_dir, store })
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(_) | StoreError::Conflict(_) => Self::Usage(error.to_string()),
            other => Self::Infrastructure(other.to_string()),
        }
    }
}
