//! Asking for approvals.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, OnConflict, Query};

use super::read::{ApprovalRow, column, select};
use super::{Approval, ApprovalStatus, NewApproval};
use crate::Store;
use crate::error::StoreError;
use crate::tables::Approvals;
use crate::time::millis;
use crate::{json, number};

/// The columns that a request is known by.
const IDENTITY: [Approvals; 8] = [
    Approvals::Experiment,
    Approvals::Run,
    Approvals::Scenario,
    Approvals::Session,
    Approvals::Tool,
    Approvals::ArgumentsHash,
    Approvals::Contract,
    Approvals::Repetition,
];

/// The other columns of a request.
const OTHERS: [Approvals; 12] = [
    Approvals::Id,
    Approvals::Call,
    Approvals::StateVersion,
    Approvals::Context,
    Approvals::Checkpoints,
    Approvals::Reason,
    Approvals::RequestedAt,
    Approvals::Deadline,
    Approvals::AllowsOnTimeout,
    Approvals::Status,
    Approvals::Told,
    Approvals::DueAt,
];

impl Store {
    /// Makes a request known, unless it is there already, and returns the one that is there. One that was withdrawn is pending
    /// again, with the deadline that it had.
    pub async fn ask_for_approval(&self, new: &NewApproval, now: Timestamp) -> Result<Approval, StoreError> {
        let values = identity(new).into_iter().chain(others(new, now)?);
        let insert = Query::insert()
            .into_table(Approvals::Table)
            .columns(IDENTITY.into_iter().chain(OTHERS))
            .values_panic(values)
            .on_conflict(OnConflict::columns(IDENTITY).do_nothing().to_owned())
            .to_owned();
        let reopen = Query::update()
            .table(Approvals::Table)
            .value(Approvals::Status, ApprovalStatus::Pending.word())
            .value(Approvals::DecidedAt, Option::<i64>::None)
            .value(Approvals::Told, 0_i64)
            .value(Approvals::DueAt, millis(now))
            .and_where(is(new))
            .and_where(Expr::col(Approvals::Status).eq(ApprovalStatus::Withdrawn.word()))
            .to_owned();
        let mut tx = self.db.begin().await?;
        if tx.execute(&insert).await? == 0 {
            tx.execute(&reopen).await?;
        }
        let row: Option<ApprovalRow> = tx.fetch_optional(&select().and_where(is(new)).to_owned()).await?;
        tx.commit().await?;
        let missing = || StoreError::NotFound(format!("the experiment `{}` was removed", new.run.experiment));
        row.ok_or_else(missing)?.read()
    }
}

fn is(new: &NewApproval) -> Expr {
    let names = IDENTITY.map(column);
    Expr::tuple(names).eq(Expr::tuple(identity(new)))
}

fn identity(new: &NewApproval) -> Vec<Expr> {
    vec![
        new.run.experiment.to_string().into(),
        number::kept(new.run.number).into(),
        new.scenario.as_str().into(),
        new.session.as_str().into(),
        new.tool.as_str().into(),
        new.arguments_hash.as_str().into(),
        new.contract.as_str().into(),
        number::kept(new.repetition).into(),
    ]
}

fn others(new: &NewApproval, now: Timestamp) -> Result<Vec<Expr>, StoreError> {
    Ok(vec![
        new.id.as_str().into(),
        new.call.as_str().into(),
        number::kept(new.state_version).into(),
        json::text(&new.context)?.into(),
        json::text(&new.checkpoints)?.into(),
        new.reason.as_str().into(),
        millis(now).into(),
        millis(new.deadline).into(),
        new.allows_on_timeout.into(),
        ApprovalStatus::Pending.word().into(),
        0_i64.into(),
        millis(now).into(),
    ])
}
