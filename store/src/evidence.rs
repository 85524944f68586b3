//! What was observed: small bodies in their rows, large ones in files, and the digest of both.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use scenario::evidence::Evidence;
use sea_query::{Expr, ExprTrait as _, Query};
use sha2::{Digest as _, Sha256};
use tempfile::{Builder, NamedTempFile, TempPath};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::{ExperimentId, JobId, RunId};
use crate::queue::Lease;
use crate::specs::hex;
use crate::tables::{Attempts, Jobs};
use crate::{json, number};

/// Bodies up to this many bytes stand in their rows.
const SMALL: usize = 32 * 1024;
/// The file with an attempt's evidence.
const FILE: &str = "evidence.json";
/// How often a folder is made again that somebody removes at the same time.
const TRIES: u32 = 10;

/// An attempt: the run, the scenario, and the number of the attempt.
pub(crate) type Place<'a> = (RunId, &'a str, u32);

/// Where large bodies are.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    folder: PathBuf,
}

/// A body that is ready to be kept.
#[derive(Debug)]
pub(crate) struct Body {
    digest: String,
    size: i64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// To stand in its row.
    Small(String),
    /// In a file that has no name of its own yet.
    Large(TempPath),
}

impl Bodies {
    /// Bodies in this folder, which is made when it is needed.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of an experiment.
    pub(crate) fn experiment(&self, experiment: ExperimentId) -> PathBuf {
        self.folder.join(experiment.to_string())
    }

    /// The folders of all experiments that have one.
    pub(crate) fn experiments(&self) -> Result<Vec<ExperimentId>, StoreError> {
        let listed = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(StoreError::files("list", &self.folder))?,
        };
        let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    fn attempt(&self, (run, scenario, attempt): Place<'_>) -> PathBuf {
        self.experiment(run.experiment).join(run.number.to_string()).join(scenario).join(attempt.to_string())
    }

    /// Gets a body ready to be kept. Nobody sees it yet, and nothing that is kept is touched.
    pub(crate) async fn prepare(&self, place: Place<'_>, text: String) -> Result<Body, StoreError> {
        let (digest, size) = (hex(&Sha256::digest(&text)), number::kept(text.len()));
        if text.len() <= SMALL {
            return Ok(Body { digest, size, content: Content::Small(text) });
        }
        let folder = self.attempt(place);
        let written = tokio::task::spawn_blocking(move || write_file(&folder, text.as_bytes())).await;
        Ok(Body { digest, size, content: Content::Large(written.map_err(StoreError::damaged)??) })
    }

    /// Keeps a body with the row of its attempt, once it is sure that the attempt counts.
    pub(crate) async fn keep(
        &self,
        tx: &mut Tx,
        lease: &Lease,
        place: Place<'_>,
        body: Body,
    ) -> Result<(), StoreError> {
        let small = match body.content {
            Content::Small(text) => Some(text),
            Content::Large(file) => {
                let path = self.attempt(place).join(FILE);
                file.persist(&path).map_err(|error| StoreError::files("write", path)(error.error))?;
                None
            }
        };
        let update = Query::update()
            .table(Attempts::Table)
            .value(Attempts::Digest, body.digest)
            .value(Attempts::Size, body.size)
            .value(Attempts::Body, small)
            .and_where(Expr::col(Attempts::Job).eq(lease.job.to_string()))
            .and_where(Expr::col(Attempts::Number).eq(i64::from(lease.epoch)))
            .to_owned();
        tx.execute(&update).await?;
        Ok(())
    }

    /// Removes a body that is not kept, and folders that are empty then.
    pub(crate) async fn discard(&self, place: Place<'_>, body: Body) {
        let Content::Large(file) = body.content else { return };
        drop(file);
        for folder in self.attempt(place).ancestors().take(4) {
            if tokio::fs::remove_dir(folder).await.is_err() {
                break;
            }
        }
    }
}

/// Writes a file without a name of its own yet, which is removed unless it gets one.
fn write_file(folder: &Path, content: &[u8]) -> Result<TempPath, StoreError> {
    let write = || {
        let mut file = make_file(folder)?;
        file.write_all(content)?;
        file.as_file().sync_data()?;
        Ok(file.into_temp_path())
    };
    write().map_err(StoreError::files("write a file in", folder))
}

fn make_file(folder: &Path) -> io::Result<NamedTempFile> {
    let readable = fs::Permissions::from_mode(0o666);
    let mut tries = 0..TRIES;
    loop {
        let made =
            fs::create_dir_all(folder).and_then(|()| Builder::new().permissions(readable.clone()).tempfile_in(folder));
        match made {
            // Somebody removed the folder because it was empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {}
            made => return made,
        }
    }
}

row! {
    /// An attempt's body, and where it belongs.
    BodyRow { experiment: String, run: i64, scenario: String, digest: Option<String>, body: Option<String> }
}

impl Store {
    /// What was observed in an attempt, byte for byte as it was written; `None` when the attempt left no evidence.
    pub async fn evidence_text(&self, job: JobId, attempt: u32) -> Result<Option<String>, StoreError> {
        let select = Query::select()
            .columns([(Jobs::Table, Jobs::Experiment), (Jobs::Table, Jobs::Run), (Jobs::Table, Jobs::Scenario)])
            .columns([(Attempts::Table, Attempts::Digest), (Attempts::Table, Attempts::Body)])
            .from(Attempts::Table)
            .inner_join(Jobs::Table, Expr::col((Jobs::Table, Jobs::Id)).equals((Attempts::Table, Attempts::Job)))
            .and_where(Expr::col((Attempts::Table, Attempts::Job)).eq(job.to_string()))
            .and_where(Expr::col((Attempts::Table, Attempts::Number)).eq(i64::from(attempt)))
            .to_owned();
        let row: Option<BodyRow> = self.db.fetch_optional(&select).await?;
        let Some(BodyRow { experiment, run, scenario, digest: Some(digest), body }) = row else { return Ok(None) };
        let text = match body {
            Some(body) => body.into_bytes(),
            None => {
                let run =
                    RunId { experiment: experiment.parse().map_err(StoreError::damaged)?, number: number::read(run)? };
                let path = self.bodies.attempt((run, &scenario, attempt)).join(FILE);
                tokio::fs::read(&path).await.map_err(StoreError::files("read", path))?
            }
        };
        let damaged = |reason: String| StoreError::Evidence {
            what: format!("attempt {attempt} of `{scenario}` in `{experiment}`"),
            reason,
        };
        let found = hex(&Sha256::digest(&text));
        if found != digest {
            return Err(damaged(format!("its digest is `{found}`, and was `{digest}`")));
        }
        String::from_utf8(text).map(Some).map_err(|error| damaged(error.to_string()))
    }

    /// What was observed in an attempt.
    pub async fn evidence(&self, job: JobId, attempt: u32) -> Result<Option<Evidence>, StoreError> {
        let text = self.evidence_text(job, attempt).await?;
        text.as_deref().map(json::read).transpose()
    }
}
