//! The end of approvals: decided on, expired, withdrawn, used. Each is one statement with its conditions, so that of two who
//! decide at once one does.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Query, UpdateStatement};

use super::{ApprovalStatus, Decided, Decision};
use crate::Store;
use crate::db::Tx;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::number;
use crate::tables::Approvals;
use crate::time::millis;

impl Store {
    /// Writes a decision down, if the approval is still pending, in time, and for the arguments that were looked at.
    pub async fn decide_approval(&self, id: &str, decision: &Decision, now: Timestamp) -> Result<Decided, StoreError> {
        let update = end(id, decision.kind.status(), now)
            .value(Approvals::DecidedBy, decision.made.by.as_str())
            .value(Approvals::DecidedKey, decision.made.key.as_str())
            .value(Approvals::Note, decision.made.note.as_str())
            .and_where(Expr::col(Approvals::ArgumentsHash).eq(decision.arguments_hash.as_str()))
            .and_where(Expr::col(Approvals::Deadline).gt(millis(now)))
            .to_owned();
        let is_decided = self.db.execute(&update).await? > 0;
        let Some(approval) = self.approval(id).await? else { return Ok(Decided::Unknown) };
        let status = approval.status_at(now);
        let approval = Box::new(approval);
        Ok(match status {
            _ if is_decided => Decided::Decided(approval),
            ApprovalStatus::Expired => Decided::Expired(approval),
            ApprovalStatus::Pending => Decided::OtherArguments(approval),
            _ => Decided::NotPending(approval),
        })
    }

    /// Writes down that nobody decided in time; whether nobody had.
    pub async fn expire_approval(&self, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        let update =
            end(id, ApprovalStatus::Expired, now).and_where(Expr::col(Approvals::Deadline).lte(millis(now))).to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }

    /// Takes a request back; whether nobody had decided.
    pub async fn withdraw_approval(&self, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.db.execute(&end(id, ApprovalStatus::Withdrawn, now)).await? > 0)
    }

    /// Uses an approval up for the call of an attempt; whether it may go on. The same call of a later attempt may use it again,
    /// because what the earlier one did is gone with its sandbox.
    pub async fn use_approval(&self, id: &str, attempt: u32) -> Result<bool, StoreError> {
        let statuses = [ApprovalStatus::Approved.word(), ApprovalStatus::Used.word()];
        let attempt = number::kept(attempt);
        let update = Query::update()
            .table(Approvals::Table)
            .value(Approvals::Status, ApprovalStatus::Used.word())
            .value(Approvals::UsedIn, attempt)
            .and_where(Expr::col(Approvals::Id).eq(id))
            .and_where(Expr::col(Approvals::Status).is_in(statuses))
            .and_where(Expr::col(Approvals::UsedIn).is_null().or(Expr::col(Approvals::UsedIn).lte(attempt)))
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }
}

/// Takes back what a run that ended still waits for: its workers were killed, and nobody runs its scenarios again.
pub(crate) async fn withdraw_approvals(tx: &mut Tx, run: RunId, now: Timestamp) -> Result<(), StoreError> {
    let update = Query::update()
        .table(Approvals::Table)
        .value(Approvals::Status, ApprovalStatus::Withdrawn.word())
        .value(Approvals::DecidedAt, millis(now))
        .value(Approvals::DueAt, millis(now))
        .and_where(Expr::col(Approvals::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Approvals::Run).eq(number::kept(run.number)))
        .and_where(Expr::col(Approvals::Status).eq(ApprovalStatus::Pending.word()))
        .to_owned();
    tx.execute(&update).await?;
    Ok(())
}

/// Ends a pending approval. Who is to be told of it will be.
fn end(id: &str, status: ApprovalStatus, now: Timestamp) -> UpdateStatement {
    Query::update()
        .table(Approvals::Table)
        .value(Approvals::Status, status.word())
        .value(Approvals::DecidedAt, millis(now))
        .value(Approvals::DueAt, millis(now))
        .and_where(Expr::col(Approvals::Id).eq(id))
        .and_where(Expr::col(Approvals::Status).eq(ApprovalStatus::Pending.word()))
        .to_owned()
}
