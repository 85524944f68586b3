//! Finding sandboxes.

use std::time::Duration;

use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};

use super::{NewSandbox, Sandbox, SandboxFilter, SandboxState};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::page::{Listed, Page};
use crate::tables::Sandboxes;
use crate::time::{millis, timestamp};
use crate::{json, number};
use scenario::Demand;

/// The columns that are read of a sandbox.
pub(super) const COLUMNS: [Sandboxes; 16] = [
    Sandboxes::Id,
    Sandboxes::Owner,
    Sandboxes::SpecId,
    Sandboxes::Digest,
    Sandboxes::State,
    Sandboxes::Wanted,
    Sandboxes::Worker,
    Sandboxes::Metadata,
    Sandboxes::Services,
    Sandboxes::Error,
    Sandboxes::TimeoutMs,
    Sandboxes::CpuMilli,
    Sandboxes::Memory,
    Sandboxes::CreatedAt,
    Sandboxes::ExpiresAt,
    Sandboxes::EndedAt,
];

row! {
    /// A sandbox.
    SandboxRow {
        id: String,
        owner: String,
        spec_id: String,
        digest: String,
        state: String,
        wanted: bool,
        worker: Option<String>,
        metadata: String,
        services: String,
        error: Option<String>,
        timeout_ms: i64,
        cpu_milli: i64,
        memory: i64,
        created_at: i64,
        expires_at: i64,
        ended_at: Option<i64>,
    }
}

row! {
    /// The sealed secrets of a sandbox.
    SecretsRow { secrets: Option<Vec<u8>> }
}

row! {
    /// The number of sandboxes in a state.
    CountRow { state: String, sandboxes: i64 }
}

impl SandboxRow {
    fn read(self) -> Result<Sandbox, StoreError> {
        Ok(Sandbox {
            new: NewSandbox {
                id: self.id,
                owner: self.owner,
                spec_id: self.spec_id,
                digest: self.digest,
                metadata: json::read(&self.metadata)?,
                secrets: None,
                timeout: Duration::from_millis(number::read(self.timeout_ms)?),
                demand: Demand { cpu_milli: number::read(self.cpu_milli)?, memory: number::read(self.memory)? },
            },
            state: self.state.parse()?,
            wanted: self.wanted,
            worker: self.worker.map(|worker| worker.parse()).transpose()?,
            services: json::read(&self.services)?,
            error: self.error,
            created_at: timestamp(self.created_at)?,
            expires_at: timestamp(self.expires_at)?,
            ended_at: self.ended_at.map(timestamp).transpose()?,
        })
    }
}

impl Store {
    /// A sandbox.
    pub async fn sandbox(&self, id: &str) -> Result<Option<Sandbox>, StoreError> {
        let select = select().and_where(Expr::col(Sandboxes::Id).eq(id)).to_owned();
        self.db.fetch_optional::<SandboxRow>(&select).await?.map(SandboxRow::read).transpose()
    }

    /// The sealed secrets that were given for a sandbox, as long as it has not ended.
    pub async fn sandbox_secrets(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let select = Query::select()
            .column(Sandboxes::Secrets)
            .from(Sandboxes::Table)
            .and_where(Expr::col(Sandboxes::Id).eq(id))
            .to_owned();
        Ok(self.db.fetch_optional::<SecretsRow>(&select).await?.and_then(|row| row.secrets))
    }

    /// Sandboxes, newest first.
    pub async fn sandboxes(&self, filter: SandboxFilter<'_>, page: Page<'_>) -> Result<Listed<Sandbox>, StoreError> {
        let after = page.key::<(i64, String)>()?.map(|(created_at, id)| {
            Expr::tuple([Expr::col(Sandboxes::CreatedAt), Expr::col(Sandboxes::Id)])
                .lt(Expr::tuple([created_at.into(), id.into()]))
        });
        let worker = filter.worker.map(|worker| Expr::col(Sandboxes::Worker).eq(worker.to_string()));
        let select = select()
            .and_where_option(filter.owner.map(|owner| Expr::col(Sandboxes::Owner).eq(owner)))
            .and_where_option(worker)
            .and_where_option(filter.active.then(is_active))
            .and_where_option(after)
            .order_by(Sandboxes::CreatedAt, Order::Desc)
            .order_by(Sandboxes::Id, Order::Desc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<SandboxRow> = self.db.fetch_all(&select).await?;
        let sandboxes = rows.into_iter().map(SandboxRow::read).collect::<Result<_, _>>()?;
        page.listed(sandboxes, |one: &Sandbox| (millis(one.created_at), one.new.id.clone()))
    }

    /// Counts sandboxes by state; of one owner only, if one is named.
    pub async fn count_sandboxes(&self, owner: Option<&str>) -> Result<Vec<(SandboxState, u64)>, StoreError> {
        let select = Query::select()
            .column(Sandboxes::State)
            .expr_as(Expr::col(Sandboxes::Id).count(), "sandboxes")
            .from(Sandboxes::Table)
            .and_where_option(owner.map(|owner| Expr::col(Sandboxes::Owner).eq(owner)))
            .group_by_col(Sandboxes::State)
            .order_by(Sandboxes::State, Order::Asc)
            .to_owned();
        let rows: Vec<CountRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(|row| Ok((row.state.parse()?, number::read(row.sandboxes)?))).collect()
    }
}

/// True for sandboxes that have not ended.
pub(super) fn is_active() -> Expr {
    Expr::col(Sandboxes::State).is_in([SandboxState::Creating.word(), SandboxState::Ready.word()])
}

fn select() -> SelectStatement {
    Query::select().columns(COLUMNS).from(Sandboxes::Table).to_owned()
}
