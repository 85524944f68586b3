//! Evidence: small bodies in rows, large ones as artifacts, and the digest of both.

use scenario::evidence::Evidence;
use scenario::hex;
use sea_query::{Expr, ExprTrait as _, Query};
use sha2::{Digest as _, Sha256};

use crate::Store;
use crate::artifacts::Artifacts;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::{ExperimentId, JobId, RunId};
use crate::queue::Lease;
use crate::tables::{Attempts, Jobs};
use crate::{json, number};

/// Bodies up to this many bytes stand in their rows.
const SMALL: usize = 32 * 1024;
/// The artifact with an attempt's evidence.
const FILE: &str = "evidence.json";

/// An attempt: the run, the scenario, and the number of the attempt.
pub(crate) type Place<'a> = (RunId, &'a str, u32);

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
    /// In an artifact that has another name than its own yet.
    Large(String),
}

/// Where the evidence of an attempt is.
fn place_of((run, scenario, attempt): Place<'_>) -> String {
    format!("{}/{}/{scenario}/{attempt}", run.experiment, run.number)
}

impl Body {
    /// Gets a body ready to be kept. Nobody sees it yet, and nothing that is kept is touched.
    pub(crate) async fn prepare(
        store: &Store,
        lease: &Lease,
        place: Place<'_>,
        text: String,
    ) -> Result<Self, StoreError> {
        let (digest, size) = (hex(Sha256::digest(&text)), number::kept(text.len()));
        if text.len() <= SMALL {
            return Ok(Self { digest, size, content: Content::Small(text) });
        }
        // A name that nobody else's body has.
        let own = hex(Sha256::digest(format!("{} {digest}", lease.token)));
        let key = format!("{}/{FILE}.{}", place_of(place), &own[..16]);
        store.require_writable().await?;
        store.artifacts.put(&key, text).await?;
        Ok(Self { digest, size, content: Content::Large(key) })
    }

    /// Keeps a body with the row of its attempt, once it is sure that the attempt counts.
    pub(crate) async fn keep(
        &self,
        artifacts: &Artifacts,
        tx: &mut Tx,
        lease: &Lease,
        place: Place<'_>,
    ) -> Result<(), StoreError> {
        let small = match &self.content {
            Content::Small(text) => Some(text.clone()),
            Content::Large(key) => {
                artifacts.rename(key, &format!("{}/{FILE}", place_of(place))).await?;
                None
            }
        };
        let update = Query::update()
            .table(Attempts::Table)
            .value(Attempts::Digest, self.digest.as_str())
            .value(Attempts::Size, self.size)
            .value(Attempts::Body, small)
            .and_where(Expr::col(Attempts::Job).eq(lease.job.to_string()))
            .and_where(Expr::col(Attempts::Number).eq(i64::from(lease.epoch)))
            .to_owned();
        tx.execute(&update).await?;
        Ok(())
    }

    /// Removes a body that is not kept.
    pub(crate) async fn discard(self, artifacts: &Artifacts) {
        let Content::Large(key) = self.content else { return };
        // It belongs to nobody: what cannot be removed now goes with its experiment.
        let _ = artifacts.delete(&key).await;
    }
}

row! {
    /// An attempt's body, and where it belongs.
    BodyRow { experiment: String, run: i64, scenario: String, digest: Option<String>, body: Option<String> }
}

impl Store {
    /// Reads the evidence of an attempt, byte for byte as it was written; `None` when the attempt left no evidence.
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
        let what = format!("attempt {attempt} of `{scenario}` in `{experiment}`");
        let text = match body {
            Some(body) => body.into_bytes(),
            None => {
                let run =
                    RunId { experiment: experiment.parse().map_err(StoreError::damaged)?, number: number::read(run)? };
                let key = format!("{}/{FILE}", place_of((run, &scenario, attempt)));
                match self.artifacts.find(&key).await? {
                    Some(text) => text.into(),
                    None => return Err(self.why_gone(what, &key).await),
                }
            }
        };
        let damaged = |reason: String| StoreError::Evidence { what: what.clone(), reason };
        let found = hex(Sha256::digest(&text));
        if found != digest {
            return Err(damaged(format!("its digest is `{found}`, and was `{digest}`")));
        }
        String::from_utf8(text).map(Some).map_err(|error| damaged(error.to_string()))
    }

    /// Returns the size of an experiment's large evidence in bytes.
    pub async fn evidence_bytes(&self, experiment: ExperimentId) -> Result<u64, StoreError> {
        Ok(self.artifacts.list(&experiment.to_string()).await?.iter().map(|artifact| artifact.size).sum())
    }

    /// Where the large evidence of an experiment is, in words; nothing is there when it has none.
    #[must_use]
    pub fn evidence_place(&self, experiment: ExperimentId) -> String {
        self.artifacts.place(&experiment.to_string())
    }

    /// Reads the evidence of an attempt.
    pub async fn evidence(&self, job: JobId, attempt: u32) -> Result<Option<Evidence>, StoreError> {
        let text = self.evidence_text(job, attempt).await?;
        text.as_deref().map(json::read).transpose()
    }
}
