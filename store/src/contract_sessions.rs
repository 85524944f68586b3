//! Sessions under tool contracts whose agents run somewhere else: their terms, and every request that they took.
//!
//! What is kept of a request is sealed by who keeps it. Requests have consecutive numbers, so that of two that come at once one is
//! refused, and the other is the next one.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::number;
use crate::owned::Owned;
use crate::page::{Listed, Page};
use crate::tables::{ApiKeys, ContractSessionRequests, ContractSessions};
use crate::time::timestamp;

/// A session that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContractSession {
    /// Its id.
    pub id: String,
    /// The owner.
    pub owner: String,
    /// The agent, as the contracts call it.
    pub agent: String,
    /// The hash of the contracts.
    pub contract: String,
    /// The way in which decisions take effect.
    pub mode: String,
    /// Its terms, sealed.
    pub terms: Vec<u8>,
    /// The status and the last hash of its log after it was opened.
    pub progress: ContractSessionProgress,
}

/// The standing of a session after a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContractSessionProgress {
    /// The status.
    pub status: String,
    /// The last hash of its log.
    pub last_hash: String,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractSession {
    /// What was kept, with the standing of now.
    pub new: NewContractSession,
    /// The number of requests that it took.
    pub requests: u64,
    /// The bytes that they have together.
    pub bytes: u64,
    /// The time when it was opened, to the millisecond.
    pub created_at: Timestamp,
}

/// The bounds of what is kept of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// The most requests.
    pub requests: u64,
    /// The most bytes of them.
    pub bytes: u64,
}

row! {
    /// A session.
    pub(crate) SessionRow {
        id: String,
        owner: String,
        agent: String,
        contract: String,
        mode: String,
        terms: Vec<u8>,
        status: String,
        requests: i64,
        bytes: i64,
        last_hash: String,
        created_at: i64,
    }
}

row! {
    /// A request.
    RequestRow { sealed: Vec<u8> }
}

row! {
    /// A number of sessions.
    CountRow { sessions: i64 }
}

impl Owned for ContractSession {
    type New = NewContractSession;
    type Row = SessionRow;
    type Column = ContractSessions;

    const TABLE: ContractSessions = ContractSessions::Table;
    const ID: ContractSessions = ContractSessions::Id;
    const OWNER: ContractSessions = ContractSessions::Owner;
    const CREATED_AT: ContractSessions = ContractSessions::CreatedAt;
    const COLUMNS: &'static [ContractSessions] = &[
        ContractSessions::Id,
        ContractSessions::Owner,
        ContractSessions::Agent,
        ContractSessions::Contract,
        ContractSessions::Mode,
        ContractSessions::Terms,
        ContractSessions::Status,
        ContractSessions::LastHash,
        ContractSessions::Requests,
        ContractSessions::Bytes,
    ];

    fn values(new: &NewContractSession) -> Result<Vec<Expr>, StoreError> {
        Ok(vec![
            new.id.as_str().into(),
            new.owner.as_str().into(),
            new.agent.as_str().into(),
            new.contract.as_str().into(),
            new.mode.as_str().into(),
            new.terms.clone().into(),
            new.progress.status.as_str().into(),
            new.progress.last_hash.as_str().into(),
            0_i64.into(),
            0_i64.into(),
        ])
    }

    fn made(new: &NewContractSession, created_at: Timestamp) -> Self {
        Self { new: new.clone(), requests: 0, bytes: 0, created_at }
    }

    fn read(row: SessionRow) -> Result<Self, StoreError> {
        let progress = ContractSessionProgress { status: row.status, last_hash: row.last_hash };
        let SessionRow { id, owner, agent, contract, mode, terms, .. } = row;
        Ok(Self {
            new: NewContractSession { id, owner, agent, contract, mode, terms, progress },
            requests: number::read(row.requests)?,
            bytes: number::read(row.bytes)?,
            created_at: timestamp(row.created_at)?,
        })
    }

    fn place(&self) -> (Timestamp, &str) {
        (self.created_at, &self.new.id)
    }
}

impl Store {
    /// Keeps a session.
    pub async fn create_contract_session(
        &self,
        new: &NewContractSession,
        now: Timestamp,
    ) -> Result<ContractSession, StoreError> {
        self.make_owned(new, now).await
    }

    /// The session with this id.
    pub async fn contract_session(&self, id: &str) -> Result<Option<ContractSession>, StoreError> {
        self.owned(id).await
    }

    /// Sessions, newest first; of one owner only, if one is named.
    pub async fn contract_sessions(
        &self,
        owner: Option<&str>,
        page: Page<'_>,
    ) -> Result<Listed<ContractSession>, StoreError> {
        self.list_owned(owner, page).await
    }

    /// The number of sessions of an owner.
    pub async fn count_contract_sessions(&self, owner: &str) -> Result<u64, StoreError> {
        let select = Query::select()
            .expr_as(Expr::col(ContractSessions::Id).count(), "sessions")
            .from(ContractSessions::Table)
            .and_where(Expr::col(ContractSessions::Owner).eq(owner))
            .to_owned();
        self.db.fetch_optional::<CountRow>(&select).await?.map_or(Ok(0), |row| number::read(row.sessions))
    }

    /// Removes a session with its requests and its token; whether there was one.
    pub async fn remove_contract_session(&self, id: &str) -> Result<bool, StoreError> {
        let keys = Query::delete().from_table(ApiKeys::Table).and_where(Expr::col(ApiKeys::Sandbox).eq(id)).to_owned();
        let session = Query::delete()
            .from_table(ContractSessions::Table)
            .and_where(Expr::col(ContractSessions::Id).eq(id))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let is_removed = tx.execute(&session).await? > 0;
        if is_removed {
            tx.execute(&keys).await?;
        }
        tx.commit().await?;
        Ok(is_removed)
    }

    /// The requests of a session, in their order.
    pub async fn contract_session_requests(&self, session: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        let select = Query::select()
            .column(ContractSessionRequests::Sealed)
            .from(ContractSessionRequests::Table)
            .and_where(Expr::col(ContractSessionRequests::Session).eq(session))
            .order_by(ContractSessionRequests::Number, Order::Asc)
            .to_owned();
        let rows: Vec<RequestRow> = self.db.fetch_all(&select).await?;
        Ok(rows.into_iter().map(|row| row.sealed).collect())
    }

    /// Keeps a request with the number `number`, and the standing after it; whether nobody else kept one with that number and
    /// there is room for it.
    pub async fn keep_contract_session_request(
        &self,
        session: &str,
        number: u64,
        sealed: &[u8],
        progress: &ContractSessionProgress,
        limits: SessionLimits,
    ) -> Result<bool, StoreError> {
        let length = number::kept(sealed.len());
        let update = Query::update()
            .table(ContractSessions::Table)
            .value(ContractSessions::Requests, Expr::col(ContractSessions::Requests).add(1))
            .value(ContractSessions::Bytes, Expr::col(ContractSessions::Bytes).add(length))
            .value(ContractSessions::Status, progress.status.as_str())
            .value(ContractSessions::LastHash, progress.last_hash.as_str())
            .and_where(Expr::col(ContractSessions::Id).eq(session))
            .and_where(Expr::col(ContractSessions::Requests).eq(number::kept(number)))
            .and_where(Expr::col(ContractSessions::Requests).lt(number::kept(limits.requests)))
            .and_where(Expr::col(ContractSessions::Bytes).add(length).lte(number::kept(limits.bytes)))
            .to_owned();
        let insert = Query::insert()
            .into_table(ContractSessionRequests::Table)
            .columns([
                ContractSessionRequests::Session,
                ContractSessionRequests::Number,
                ContractSessionRequests::Sealed,
            ])
            .values_panic([session.into(), number::kept(number).into(), sealed.to_vec().into()])
            .to_owned();
        let mut tx = self.db.begin().await?;
        if tx.execute(&update).await? == 0 {
            return Ok(false);
        }
        tx.execute(&insert).await?;
        tx.commit().await?;
        Ok(true)
    }
}
