//! Versions of agents. What they consist of is a bundle, which is an artifact with the name of its digest.

use jiff::Timestamp;
use scenario::plan::SnapshotAgent;
use sea_query::{Expr, ExprTrait as _, Func, Order, Query, SelectStatement};
use serde_json::Value as Json;

use crate::Store;
use crate::counters::count;
use crate::db::row;
use crate::error::StoreError;
use crate::page::{Listed, Page};
use crate::tables::Snapshots;
use crate::time::{millis, timestamp};
use crate::{json, number};

const COLUMNS: [Snapshots; 11] = [
    Snapshots::Id,
    Snapshots::Owner,
    Snapshots::Name,
    Snapshots::Version,
    Snapshots::Tag,
    Snapshots::Digest,
    Snapshots::Size,
    Snapshots::Runtime,
    Snapshots::Entrypoint,
    Snapshots::Auth,
    Snapshots::CreatedAt,
];

/// A version of an agent that is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSnapshot {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// The agent's name.
    pub name: String,
    /// A word for it; '' when it has none.
    pub tag: String,
    /// The digest of its bundle: `sha256:` and hex.
    pub digest: String,
    /// The size of its bundle in bytes.
    pub size: u64,
    /// Its runtime; '' when it names none.
    pub runtime: String,
    /// The command that is started.
    pub entrypoint: Vec<String>,
    /// Its credentials for other services.
    pub auth: Json,
}

/// A version of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The stored content.
    pub new: NewSnapshot,
    /// Which version of its name, from 1.
    pub version: u32,
    /// When it was kept.
    pub created_at: Timestamp,
}

/// Which version of an agent is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// The newest.
    Latest,
    /// The one with this number.
    Version(u32),
    /// The newest with this tag.
    Tag(&'a str),
}

row! {
    /// A snapshot.
    SnapshotRow {
        id: String,
        owner: String,
        name: String,
        version: i64,
        tag: String,
        digest: String,
        size: i64,
        runtime: String,
        entrypoint: String,
        auth: String,
        created_at: i64,
    }
}

impl SnapshotRow {
    fn read(self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot {
            version: number::read(self.version)?,
            created_at: timestamp(self.created_at)?,
            new: NewSnapshot {
                id: self.id,
                owner: self.owner,
                name: self.name,
                tag: self.tag,
                digest: self.digest,
                size: number::read(self.size)?,
                runtime: self.runtime,
                entrypoint: json::read(&self.entrypoint)?,
                auth: json::read(&self.auth)?,
            },
        })
    }
}

/// Where the bundles are; and the lock of who removes them, which is shared by who relies on one.
pub(crate) const BUNDLES: &str = "snapshots";

/// The name of the artifact with a bundle, by the digest of the bundle.
#[must_use]
pub fn bundle_key(digest: &str) -> String {
    format!("{BUNDLES}/{}", digest.trim_start_matches("sha256:"))
}

impl Store {
    /// Keeps a version of an agent, the next one of its name. Its bundle is kept before, as the artifact [`bundle_key`].
    pub async fn add_snapshot(&self, new: &NewSnapshot, now: Timestamp) -> Result<Snapshot, StoreError> {
        let mut tx = self.db.begin().await?;
        tx.share(BUNDLES).await?;
        if self.artifacts.size(&bundle_key(&new.digest)).await?.is_none() {
            return Err(StoreError::NotFound(format!("the bundle `{}` is not kept; send it again", new.digest)));
        }
        let version = count(&mut tx, "snapshot", &new.owner, &new.name, 1).await?;
        let insert = Query::insert()
            .into_table(Snapshots::Table)
            .columns(COLUMNS)
            .values_panic([
                new.id.as_str().into(),
                new.owner.as_str().into(),
                new.name.as_str().into(),
                version.into(),
                new.tag.as_str().into(),
                new.digest.as_str().into(),
                number::kept(new.size).into(),
                new.runtime.as_str().into(),
                json::text(&new.entrypoint)?.into(),
                json::text(&new.auth)?.into(),
                millis(now).into(),
            ])
            .to_owned();
        tx.execute(&insert).await?;
        tx.commit().await?;
        Ok(Snapshot { new: new.clone(), version: number::read(version)?, created_at: timestamp(millis(now))? })
    }

    /// The snapshot with this id.
    pub async fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StoreError> {
        let select = select().and_where(Expr::col(Snapshots::Id).eq(id)).to_owned();
        self.db.fetch_optional::<SnapshotRow>(&select).await?.map(SnapshotRow::read).transpose()
    }

    /// A version of an owner's agent.
    pub async fn find_snapshot(
        &self,
        owner: &str,
        name: &str,
        which: Which<'_>,
    ) -> Result<Option<Snapshot>, StoreError> {
        let only = match which {
            Which::Latest => None,
            Which::Version(version) => Some(Expr::col(Snapshots::Version).eq(i64::from(version))),
            Which::Tag(tag) => Some(Expr::col(Snapshots::Tag).eq(tag)),
        };
        let select = of(owner, name).and_where_option(only).limit(1).to_owned();
        self.db.fetch_optional::<SnapshotRow>(&select).await?.map(SnapshotRow::read).transpose()
    }

    /// Finds the agent that a spec of this owner names: an id, or a name with a version, a tag or neither.
    pub async fn named_snapshot(&self, owner: &str, agent: &SnapshotAgent) -> Result<Option<Snapshot>, StoreError> {
        if let Some(found) = self.snapshot(&agent.snapshot).await? {
            // An id of somebody else's is no id.
            return Ok(Some(found).filter(|found| found.new.owner == owner));
        }
        let which = match (&agent.tag, agent.version.map(u32::try_from)) {
            (Some(tag), _) => Which::Tag(tag),
            (None, Some(Ok(version))) => Which::Version(version),
            (None, Some(Err(_))) => return Ok(None),
            (None, None) => Which::Latest,
        };
        self.find_snapshot(owner, &agent.snapshot, which).await
    }

    /// The newest version of each agent, by owner and name; of one owner only, if one is named.
    pub async fn snapshots(&self, owner: Option<&str>, page: Page<'_>) -> Result<Listed<Snapshot>, StoreError> {
        const NEWER: &str = "newer";
        let newest = Query::select()
            .expr(Func::max(Expr::col((NEWER, Snapshots::Version))))
            .from_as(Snapshots::Table, NEWER)
            .and_where(Expr::col((NEWER, Snapshots::Owner)).equals((Snapshots::Table, Snapshots::Owner)))
            .and_where(Expr::col((NEWER, Snapshots::Name)).equals((Snapshots::Table, Snapshots::Name)))
            .to_owned();
        let after = page.key::<(String, String)>()?.map(|(owner, name)| {
            Expr::tuple([Expr::col(Snapshots::Owner), Expr::col(Snapshots::Name)])
                .gt(Expr::tuple([owner.into(), name.into()]))
        });
        let select = select()
            .and_where_option(owner.map(|owner| Expr::col(Snapshots::Owner).eq(owner)))
            .and_where_option(after)
            .and_where(Expr::col(Snapshots::Version).eq(Expr::SubQuery(None, Box::new(newest.into()))))
            .order_by(Snapshots::Owner, Order::Asc)
            .order_by(Snapshots::Name, Order::Asc)
            .limit(page.limit())
            .to_owned();
        page.listed(self.read_snapshots(&select).await?, |one| (one.new.owner.clone(), one.new.name.clone()))
    }

    /// All versions of an owner's agent, newest first.
    pub async fn snapshot_versions(
        &self,
        owner: &str,
        name: &str,
        page: Page<'_>,
    ) -> Result<Listed<Snapshot>, StoreError> {
        let after = page.key::<i64>()?.map(|version| Expr::col(Snapshots::Version).lt(version));
        let select = of(owner, name).and_where_option(after).limit(page.limit()).to_owned();
        page.listed(self.read_snapshots(&select).await?, |one| one.version)
    }

    /// Removes a version of an agent; whether there was one. Its bundle goes with the next [`Store::prune`], unless another
    /// version uses it.
    pub async fn remove_snapshot(&self, id: &str) -> Result<bool, StoreError> {
        let delete = Query::delete().from_table(Snapshots::Table).and_where(Expr::col(Snapshots::Id).eq(id)).to_owned();
        Ok(self.db.execute(&delete).await? > 0)
    }

    async fn read_snapshots(&self, select: &SelectStatement) -> Result<Vec<Snapshot>, StoreError> {
        let rows: Vec<SnapshotRow> = self.db.fetch_all(select).await?;
        rows.into_iter().map(SnapshotRow::read).collect()
    }
}

/// The versions of an owner's agent, newest first.
fn of(owner: &str, name: &str) -> SelectStatement {
    select()
        .and_where(Expr::col(Snapshots::Owner).eq(owner))
        .and_where(Expr::col(Snapshots::Name).eq(name))
        .order_by(Snapshots::Version, Order::Desc)
        .to_owned()
}

fn select() -> SelectStatement {
    Query::select().columns(COLUMNS).from(Snapshots::Table).to_owned()
}
