//! Telling the outside of approvals: each request and each decision once.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, LockBehavior, LockType, Order, Query, UpdateStatement};

use super::read::{ApprovalRow, select};
use super::{Approval, ApprovalStatus};
use crate::Store;
use crate::alerts::{NewDelivery, insert_delivery};
use crate::db::row;
use crate::error::StoreError;
use crate::tables::Approvals;
use crate::time::millis;

/// Something about an approval that the outside was not told yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalNews {
    /// The kind of news.
    pub kind: NewsKind,
    /// The approval.
    pub approval: Approval,
}

/// A kind of news of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewsKind {
    /// Somebody is to decide.
    Requested,
    /// It is decided, or nobody has to any more.
    Decided,
}

impl NewsKind {
    /// The number of news of an approval that come before it.
    const fn before(self) -> i64 {
        match self {
            Self::Requested => 0,
            Self::Decided => 1,
        }
    }
}

row! {
    /// An approval that there is news of.
    NewsRow { id: String, told: i64 }
}

impl Store {
    /// The first approval that the outside is to be told of. Nobody else gets it before `until`.
    pub async fn claim_approval_news(
        &self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<ApprovalNews>, StoreError> {
        let first = Query::select()
            .column(Approvals::Id)
            .from(Approvals::Table)
            .and_where(Expr::col(Approvals::DueAt).lte(millis(now)))
            .order_by(Approvals::DueAt, Order::Asc)
            .order_by(Approvals::Id, Order::Asc)
            .limit(1)
            .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
            .to_owned();
        let update = Query::update()
            .table(Approvals::Table)
            .value(Approvals::DueAt, millis(until))
            .and_where(Expr::col(Approvals::Id).eq(Expr::SubQuery(None, Box::new(first.into()))))
            .returning(Query::returning().columns([Approvals::Id, Approvals::Told]))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let Some(NewsRow { id, told }) = tx.fetch_optional(&update).await? else { return Ok(None) };
        let select = select().and_where(Expr::col((Approvals::Table, Approvals::Id)).eq(id)).to_owned();
        let row: Option<ApprovalRow> = tx.fetch_optional(&select).await?;
        tx.commit().await?;
        let Some(row) = row else { return Ok(None) };
        let kind = if told == 0 { NewsKind::Requested } else { NewsKind::Decided };
        Ok(Some(ApprovalNews { kind, approval: row.read()? }))
    }

    /// Writes down that news were told, together with the messages that do it, each with its alert; whether nobody else has told
    /// them since they were claimed.
    pub async fn approval_told(
        &self,
        news: &ApprovalNews,
        messages: &[(String, NewDelivery)],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let settled = told(news).value(Approvals::DueAt, Option::<i64>::None).to_owned();
        // A decision that came meanwhile is the next news.
        let is_settled = match news.kind {
            NewsKind::Requested => {
                let pending = Expr::col(Approvals::Status).eq(ApprovalStatus::Pending.word());
                tx.execute(&settled.clone().and_where(pending).to_owned()).await? > 0
            }
            NewsKind::Decided => tx.execute(&settled).await? > 0,
        };
        let goes_on = told(news).value(Approvals::DueAt, millis(now)).to_owned();
        if !is_settled && (news.kind == NewsKind::Decided || tx.execute(&goes_on).await? == 0) {
            return Ok(false);
        }
        for (alert, delivery) in messages {
            insert_delivery(&mut tx, alert, delivery, now).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}

/// Counts news as told, if nobody else did.
fn told(news: &ApprovalNews) -> UpdateStatement {
    Query::update()
        .table(Approvals::Table)
        .value(Approvals::Told, news.kind.before() + 1)
        .and_where(Expr::col(Approvals::Id).eq(news.approval.new.id.as_str()))
        .and_where(Expr::col(Approvals::Told).eq(news.kind.before()))
        .to_owned()
}
