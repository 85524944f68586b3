//! Experiments: submissions of a spec.

use std::fmt;

use jiff::Timestamp;
use scenario::plan::{AgentOverride, Seed, UnknownAgent};
use sea_query::{Expr, ExprTrait as _, LockType, Order, Query, SelectStatement};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::{ExperimentId, RunId};
use crate::newest::newer_than;
use crate::page::{Listed, Page};
use crate::runs::{NewRun, RunKind, insert_run};
use crate::specs::{SpecVersion, require_spec};
use crate::tables::{ExperimentSecrets, Experiments};
use crate::time::{millis, timestamp};
use crate::{json, number};

/// The beginning or end of an id that names it has at least so many characters.
const SHORTEST: usize = 4;

/// All columns of an experiment.
pub(crate) const COLUMNS: [Experiments; 11] = [
    Experiments::Id,
    Experiments::SpecId,
    Experiments::Version,
    Experiments::Digest,
    Experiments::Source,
    Experiments::Seed,
    Experiments::Settings,
    Experiments::CreatedAt,
    Experiments::Owner,
    Experiments::Name,
    Experiments::Pinned,
];

/// An experiment that is to be kept and run.
#[derive(Debug, Clone, PartialEq)]
pub struct NewExperiment {
    /// Its id.
    pub id: ExperimentId,
    /// Whose it is; '' when it is this machine's own.
    pub owner: String,
    /// Its name, for people.
    pub name: String,
    /// The spec that is run.
    pub spec: SpecVersion,
    /// Where the spec came from.
    pub source: String,
    /// The seed from which every scenario's seed derives.
    pub seed: Seed,
    /// The caller's options.
    pub settings: Settings,
    /// The values of its secrets, sealed.
    pub secrets: Option<Vec<u8>>,
}

/// A caller's options for a spec.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The agent that acts instead of the spec's own.
    pub agent: Option<StoredAgent>,
    /// The required backend: `docker` or `local`.
    pub backend: Option<String>,
    /// Values of parameters, instead of the matrix's.
    pub parameters: Vec<(String, Json)>,
    /// The number of replicas per cell, instead of the spec's.
    pub replicas: Option<usize>,
    /// A pass rate that every cell must reach, besides its own bar.
    pub min_pass_rate: Option<f64>,
    /// The scenario that this repeats.
    pub rerun_of: Option<String>,
    /// Only scenarios that one of these patterns chooses; all without one.
    pub filter: Vec<String>,
    /// Only these chaos cells; all without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chaos: Vec<String>,
    /// Jobs with a higher number are taken first.
    pub priority: i64,
}

/// The agent of a stored experiment: one that this version knows, or the word of one that a newer version has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredAgent {
    /// An agent that this version knows.
    Known(AgentOverride),
    /// The word of one that it does not know.
    Unknown(String),
}

impl From<AgentOverride> for StoredAgent {
    fn from(agent: AgentOverride) -> Self {
        Self::Known(agent)
    }
}

impl fmt::Display for StoredAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(agent) => agent.fmt(formatter),
            Self::Unknown(word) => formatter.write_str(word),
        }
    }
}

impl Settings {
    /// The agent that acts instead of the spec's own, if this version knows it.
    pub fn agent_override(&self) -> Result<Option<AgentOverride>, UnknownAgent> {
        match &self.agent {
            None => Ok(None),
            Some(StoredAgent::Known(agent)) => Ok(Some(agent.clone())),
            Some(StoredAgent::Unknown(word)) => Err(UnknownAgent(word.clone())),
        }
    }
}

/// An experiment that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its id.
    pub id: ExperimentId,
    /// Whose it is; '' when it is this machine's own.
    pub owner: String,
    /// Its name, for people.
    pub name: String,
    /// The spec that is run.
    pub spec: SpecVersion,
    /// Where the spec came from.
    pub source: String,
    /// The seed from which every scenario's seed derives.
    pub seed: Seed,
    /// The caller's options.
    pub settings: Settings,
    /// True when retention never removes it.
    pub pinned: bool,
    /// When it was submitted.
    pub created_at: Timestamp,
}

impl Experiment {
    /// Its title: its name, or that of its spec.
    #[must_use]
    pub fn title(&self) -> &str {
        if self.name.is_empty() { &self.spec.spec_id } else { &self.name }
    }
}

row! {
    /// An experiment.
    pub(crate) ExperimentRow {
        id: String,
        spec_id: String,
        version: i64,
        digest: String,
        source: String,
        seed: i64,
        settings: String,
        created_at: i64,
        owner: String,
        name: String,
        pinned: bool,
    }
}

row! {
    /// The spec of an experiment.
    DigestRow { digest: String }
}

row! {
    /// Whose an experiment is.
    OwnerRow { owner: String }
}

impl ExperimentRow {
    /// The experiment's id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The digest of what it runs.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    pub(crate) fn read(self) -> Result<Experiment, StoreError> {
        Ok(Experiment {
            id: self.id.parse().map_err(StoreError::damaged)?,
            owner: self.owner,
            name: self.name,
            pinned: self.pinned,
            spec: SpecVersion { spec_id: self.spec_id, version: number::read(self.version)?, digest: self.digest },
            source: self.source,
            seed: Seed::new(number::read(self.seed)?),
            settings: json::read(&self.settings)?,
            created_at: timestamp(self.created_at)?,
        })
    }
}

impl Store {
    /// Keeps an experiment, its first run and a job for each scenario, all at once.
    pub async fn submit(&self, experiment: &NewExperiment, run: &NewRun, now: Timestamp) -> Result<RunId, StoreError> {
        let mut tx = self.db.begin().await?;
        let id = submit_in(&mut tx, experiment, run, now).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Keeps an experiment that is not run yet.
    pub async fn create_experiment(&self, experiment: &NewExperiment, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        insert_experiment(&mut tx, experiment, now).await?;
        tx.commit().await
    }

    /// Says whether an experiment is never removed because of its age or size.
    pub async fn pin_experiment(&self, id: ExperimentId, pinned: bool) -> Result<(), StoreError> {
        let update = Query::update()
            .table(Experiments::Table)
            .value(Experiments::Pinned, pinned)
            .and_where(Expr::col(Experiments::Id).eq(id.to_string()))
            .to_owned();
        match self.db.execute(&update).await? {
            0 => Err(missing(id)),
            _ => Ok(()),
        }
    }

    /// The experiment with this id.
    pub async fn experiment(&self, id: ExperimentId) -> Result<Experiment, StoreError> {
        let select = select().and_where(Expr::col(Experiments::Id).eq(id.to_string())).to_owned();
        let row: Option<ExperimentRow> = self.db.fetch_optional(&select).await?;
        row.ok_or_else(|| missing(id))?.read()
    }

    /// The newest experiments, newest first; those of one spec only, if one is named.
    pub async fn experiments(&self, most: u64, spec_id: Option<&str>) -> Result<Vec<Experiment>, StoreError> {
        let mut select = select();
        select
            .and_where_option(spec_id.map(|spec_id| Expr::col(Experiments::SpecId).eq(spec_id)))
            .order_by(Experiments::CreatedAt, Order::Desc)
            .order_by(Experiments::Id, Order::Desc)
            .limit(number::limit(most));
        let rows: Vec<ExperimentRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(ExperimentRow::read).collect()
    }

    /// Experiments in parts, newest first; of one owner and of one spec only, if they are named.
    pub async fn experiments_page(
        &self,
        owner: Option<&str>,
        spec_id: Option<&str>,
        page: Page<'_>,
    ) -> Result<Listed<Experiment>, StoreError> {
        let after = page.key::<(i64, String)>()?.map(|(created_at, id)| {
            Expr::tuple([Expr::col(Experiments::CreatedAt), Expr::col(Experiments::Id)])
                .lt(Expr::tuple([created_at.into(), id.into()]))
        });
        let mut select = select();
        select
            .and_where_option(owner.map(|owner| Expr::col(Experiments::Owner).eq(owner)))
            .and_where_option(spec_id.map(|spec_id| Expr::col(Experiments::SpecId).eq(spec_id)))
            .and_where_option(after)
            .order_by(Experiments::CreatedAt, Order::Desc)
            .order_by(Experiments::Id, Order::Desc)
            .limit(page.limit());
        let rows: Vec<ExperimentRow> = self.db.fetch_all(&select).await?;
        let experiments = rows.into_iter().map(ExperimentRow::read).collect::<Result<_, _>>()?;
        page.listed(experiments, |one: &Experiment| (millis(one.created_at), one.id))
    }

    /// The experiment that a person means: by its id, by the beginning or end of its id, by `latest`, or by
    /// `latest~1` for the one before it.
    pub async fn find_experiment(&self, name: &str) -> Result<Experiment, StoreError> {
        if let Some(newer) = newer_than(name) {
            return self.newest_but(newer).await;
        }
        let name = name.to_ascii_lowercase();
        let is_part = name.len() >= SHORTEST && name.chars().all(|character| "0123456789abcdef-".contains(character));
        if !is_part {
            return Err(StoreError::NotFound(format!(
                "`{name}` names no experiment: give its id, at least {SHORTEST} characters of the id's beginning or end, `latest`, or `latest~1` for the one before it; `touchstone list` shows all of them"
            )));
        }
        let like = |pattern: String| Expr::col(Experiments::Id).like(pattern);
        let select = select().and_where(like(format!("{name}%")).or(like(format!("%{name}")))).limit(2).to_owned();
        let mut rows: Vec<ExperimentRow> = self.db.fetch_all(&select).await?;
        match (rows.pop(), rows.pop()) {
            (Some(row), None) => row.read(),
            (Some(_), Some(_)) => Err(StoreError::Conflict(format!(
                "several experiments have an id with `{name}` at its beginning or end; give more of it"
            ))),
            (None, _) => Err(StoreError::NotFound(format!(
                "there is no experiment `{name}`; `touchstone list` shows those that there are"
            ))),
        }
    }
}

/// Writes an experiment, its first run and a job for each scenario.
pub(crate) async fn submit_in(
    tx: &mut Tx,
    experiment: &NewExperiment,
    run: &NewRun,
    now: Timestamp,
) -> Result<RunId, StoreError> {
    let id = RunId { experiment: experiment.id, number: 1 };
    insert_experiment(tx, experiment, now).await?;
    insert_run(tx, id, RunKind::Acted, &experiment.spec.digest, run, now).await?;
    Ok(id)
}

/// Writes an experiment and its secrets.
async fn insert_experiment(tx: &mut Tx, experiment: &NewExperiment, now: Timestamp) -> Result<(), StoreError> {
    let spec = &experiment.spec;
    require_spec(tx, &spec.digest).await?;
    let insert = Query::insert()
        .into_table(Experiments::Table)
        .columns(COLUMNS)
        .values_panic([
            experiment.id.to_string().into(),
            spec.spec_id.as_str().into(),
            number::kept(spec.version).into(),
            spec.digest.as_str().into(),
            experiment.source.as_str().into(),
            number::kept(experiment.seed.get()).into(),
            json::text(&experiment.settings)?.into(),
            millis(now).into(),
            experiment.owner.as_str().into(),
            experiment.name.as_str().into(),
            false.into(),
        ])
        .to_owned();
    tx.execute(&insert).await?;
    let Some(sealed) = &experiment.secrets else { return Ok(()) };
    let insert = Query::insert()
        .into_table(ExperimentSecrets::Table)
        .columns([ExperimentSecrets::Experiment, ExperimentSecrets::Sealed])
        .values_panic([experiment.id.to_string().into(), sealed.clone().into()])
        .to_owned();
    tx.execute(&insert).await?;
    Ok(())
}

/// Locks an experiment, so that nobody else begins a run of it before the end of the transaction; the digest of its spec.
pub(crate) async fn lock_experiment(tx: &mut Tx, id: ExperimentId) -> Result<String, StoreError> {
    let select = Query::select()
        .column(Experiments::Digest)
        .from(Experiments::Table)
        .and_where(Expr::col(Experiments::Id).eq(id.to_string()))
        .lock(LockType::NoKeyUpdate)
        .to_owned();
    Ok(tx.fetch_optional::<DigestRow>(&select).await?.ok_or_else(|| missing(id))?.digest)
}

/// Whose an experiment is.
pub(crate) async fn owner_of(tx: &mut Tx, id: ExperimentId) -> Result<String, StoreError> {
    let select = Query::select()
        .column(Experiments::Owner)
        .from(Experiments::Table)
        .and_where(Expr::col(Experiments::Id).eq(id.to_string()))
        .to_owned();
    Ok(tx.fetch_optional::<OwnerRow>(&select).await?.ok_or_else(|| missing(id))?.owner)
}

fn missing(id: ExperimentId) -> StoreError {
    StoreError::NotFound(format!("there is no experiment `{id}`"))
}

fn select() -> SelectStatement {
    Query::select().columns(COLUMNS).from(Experiments::Table).to_owned()
}
