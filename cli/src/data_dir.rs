//! The storage: the data directory, and the store.

use std::env;
use std::io;
use std::path::PathBuf;

use clap::Args;
use engine::data_dir::DataDir;
use store::{ArtifactClaim, Artifacts, Store, StoreError};

use crate::machine_id::{NO_MACHINE_ID, machine_id};
use crate::output::CommandError;

/// The variable that often holds a server's database. It may belong to an application under development, so commands
/// for writing specs ignore it.
const USUAL: &str = "DATABASE_URL";

/// Advice for a data directory that cannot be used.
pub(crate) const ANOTHER_DATA_DIR: &str =
    "name a folder that you may write: `--data-dir FOLDER` or TOUCHSTONE_DATA_DIR";

/// Which data directory.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataDirOption {
    /// Where Touchstone keeps its things.
    #[arg(long, env = "TOUCHSTONE_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

/// Which data directory, and which store.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreOption {
    #[command(flatten)]
    data_dir: DataDirOption,
    /// Where the database is: postgres://…, or a SQLite file; `touchstone.db` of the data directory without it.
    #[arg(long, env = "TOUCHSTONE_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<String>,
    /// Where what is too large for the database is: `file:/a/folder` or `s3://bucket/beginning`; `evidence` of the data
    /// directory without it.
    #[arg(long, env = "TOUCHSTONE_ARTIFACTS", value_name = "URL")]
    artifacts: Option<String>,
}

impl StoreOption {
    /// The store of a data directory.
    pub(crate) fn beside(data_dir: DataDirOption) -> Self {
        Self { data_dir, database_url: None, artifacts: None }
    }

    /// Returns advice for storage that cannot be opened, depending on the options.
    pub(crate) fn remedy(&self) -> &'static str {
        match (&self.database_url, &self.artifacts) {
            (Some(_), _) => {
                "look at `--database-url` (TOUCHSTONE_DATABASE_URL), or leave it away for a file of the data directory"
            }
            (None, Some(_)) => {
                "look at `--artifacts` (TOUCHSTONE_ARTIFACTS), or leave it away for a folder of the data directory"
            }
            (None, None) => {
                "restore `touchstone.db` of the data directory from a copy, or move it away: a new one is made, without the history"
            }
        }
    }
}

/// The data directory, and the store.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The data directory.
    pub(crate) data_dir: DataDir,
    /// The database.
    pub(crate) store: Store,
}

impl DataDirOption {
    /// The data directory; it is made when it is not there.
    pub(crate) fn resolve(&self) -> Result<DataDir, CommandError> {
        let unusable = |error| {
            CommandError::Infrastructure(format!("the data directory cannot be used: {error}; {ANOTHER_DATA_DIR}"))
        };
        self.find().map_err(unusable)
    }

    fn find(&self) -> io::Result<DataDir> {
        DataDir::resolve(self.data_dir.clone())
    }
}

impl StoreOption {
    /// The data directory; it is made when it is not there.
    pub(crate) fn data_dir(&self) -> Result<DataDir, CommandError> {
        self.data_dir.resolve()
    }

    /// The same, with nothing but the reason when it cannot be used.
    pub(crate) fn find_data_dir(&self) -> io::Result<DataDir> {
        self.data_dir.find()
    }

    /// The data directory with its store.
    pub(crate) async fn open(&self) -> Result<Home, CommandError> {
        self.open_at(self.database_url.as_deref()).await
    }

    /// The same for commands of a server, which also take the usual variable.
    pub(crate) async fn open_shared(&self) -> Result<Home, CommandError> {
        self.open_at(self.shared_url().as_deref()).await
    }

    /// Returns the URL of a server's database; `None` for the database of the data directory.
    pub(crate) fn shared_url(&self) -> Option<String> {
        let usual = || env::var(USUAL).ok().filter(|url| !url.is_empty());
        self.database_url.clone().or_else(usual)
    }

    /// The same, with a database that was moved here from another machine and becomes this machine's; returns the machine
    /// that used it before as well.
    pub(crate) async fn open_moved(&self) -> Result<(Home, Option<String>), CommandError> {
        let machine = machine_id().ok_or_else(|| CommandError::Usage(NO_MACHINE_ID.to_owned()))?;
        let home = self.connect(self.shared_url().as_deref()).await?;
        let before = home.store.move_to_machine(&machine).await?;
        Ok((home, before))
    }

    /// Opens the store, and refuses a SQLite file that another machine uses. Where this machine has no id, as in most
    /// containers, nothing is refused.
    async fn open_at(&self, url: Option<&str>) -> Result<Home, CommandError> {
        let home = self.connect(url).await?;
        if let Some(machine) = machine_id() {
            home.store.require_same_machine(&machine).await?;
        }
        Ok(home)
    }

    async fn connect(&self, url: Option<&str>) -> Result<Home, CommandError> {
        let data_dir = self.data_dir()?;
        let store = match url {
            Some(url) => Store::connect(url, data_dir.path()).await?,
            None => Store::open(data_dir.path()).await?,
        };
        let store = match &self.artifacts {
            Some(url) => store.with_artifacts(Artifacts::open(url, env::vars())?),
            None => store,
        };
        Ok(Home { data_dir, store })
    }
}

impl Home {
    /// Refuses an artifact place that another database owns. One that cannot be reached now is looked at again before
    /// anything is run.
    pub(crate) async fn require_own_artifacts(&self) -> Result<(), CommandError> {
        match self.store.claim_artifacts().await {
            Err(error) if error.is_about_owner() => Err(error.into()),
            Err(error) => {
                tracing::warn!(%error, "the artifact place cannot be used now: {error}");
                Ok(())
            }
            Ok(ArtifactClaim::Own) => Ok(()),
            Ok(ArtifactClaim::Unmarked { unknown }) => {
                let place = self.store.artifacts().whole_place();
                tracing::warn!(
                    "`{place}` has no mark of its owner and holds {unknown} experiments or agents that this database does not know; nothing is removed there until `touchstone gc --adopt-artifacts` makes it this database's own"
                );
                Ok(())
            }
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(_)
            | StoreError::Conflict(_)
            | StoreError::DatabaseUrl(_)
            | StoreError::OtherMachine { .. }
            | StoreError::Invalid(_) => Self::Usage(error.to_string()),
            error if error.is_about_owner() => Self::Usage(error.to_string()),
            other => Self::Infrastructure(other.to_string()),
        }
    }
}
