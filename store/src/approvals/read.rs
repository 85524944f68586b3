//! Finding approvals.

use jiff::Timestamp;
use sea_query::{Cond, Expr, ExprTrait as _, Order, Query, SelectStatement};

use super::{Approval, ApprovalFilter, ApprovalStatus, MadeDecision, NewApproval};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::page::{Listed, Page};
use crate::tables::{Approvals, Experiments};
use crate::time::{millis, timestamp};
use crate::{json, number};

/// The columns of an approval that are read, besides those of its experiment.
const COLUMNS: [Approvals; 23] = [
    Approvals::Id,
    Approvals::Experiment,
    Approvals::Run,
    Approvals::Scenario,
    Approvals::Session,
    Approvals::Tool,
    Approvals::ArgumentsHash,
    Approvals::Contract,
    Approvals::Repetition,
    Approvals::Call,
    Approvals::StateVersion,
    Approvals::Context,
    Approvals::Checkpoints,
    Approvals::Reason,
    Approvals::RequestedAt,
    Approvals::Deadline,
    Approvals::AllowsOnTimeout,
    Approvals::Status,
    Approvals::DecidedBy,
    Approvals::DecidedKey,
    Approvals::Note,
    Approvals::DecidedAt,
    Approvals::UsedIn,
];

row! {
    /// An approval.
    pub(super) ApprovalRow {
        id: String,
        experiment: String,
        run: i64,
        scenario: String,
        session: String,
        tool: String,
        arguments_hash: String,
        contract: String,
        repetition: i64,
        call: String,
        state_version: i64,
        context: String,
        checkpoints: String,
        reason: String,
        requested_at: i64,
        deadline: i64,
        allows_on_timeout: bool,
        status: String,
        decided_by: Option<String>,
        decided_key: Option<String>,
        note: Option<String>,
        decided_at: Option<i64>,
        used_in: Option<i64>,
        owner: String,
        spec_id: String,
    }
}

row! {
    /// A number of approvals.
    CountRow { approvals: i64 }
}

impl ApprovalRow {
    pub(super) fn read(self) -> Result<Approval, StoreError> {
        let experiment = self.experiment.parse().map_err(StoreError::damaged)?;
        let decision = self.decided_by.map(|by| MadeDecision {
            by,
            key: self.decided_key.unwrap_or_default(),
            note: self.note.unwrap_or_default(),
        });
        let new = NewApproval {
            id: self.id,
            run: RunId { experiment, number: number::read(self.run)? },
            scenario: self.scenario,
            session: self.session,
            tool: self.tool,
            arguments_hash: self.arguments_hash,
            contract: self.contract,
            repetition: number::read(self.repetition)?,
            call: self.call,
            state_version: number::read(self.state_version)?,
            context: json::read(&self.context)?,
            checkpoints: json::read(&self.checkpoints)?,
            reason: self.reason,
            deadline: timestamp(self.deadline)?,
            allows_on_timeout: self.allows_on_timeout,
        };
        Ok(Approval {
            new,
            owner: self.owner,
            spec_id: self.spec_id,
            requested_at: timestamp(self.requested_at)?,
            status: self.status.parse().map_err(StoreError::damaged)?,
            decision,
            decided_at: self.decided_at.map(timestamp).transpose()?,
            used_in: self.used_in.map(number::read).transpose()?,
        })
    }
}

impl Store {
    /// The approval with this id.
    pub async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let select = select().and_where(column(Approvals::Id).eq(id)).to_owned();
        self.db.fetch_optional::<ApprovalRow>(&select).await?.map(ApprovalRow::read).transpose()
    }

    /// Approvals, newest first.
    pub async fn approvals(&self, filter: ApprovalFilter<'_>, page: Page<'_>) -> Result<Listed<Approval>, StoreError> {
        let after = page.key::<(i64, String)>()?.map(|(requested_at, id)| {
            Expr::tuple([column(Approvals::RequestedAt), column(Approvals::Id)])
                .lt(Expr::tuple([requested_at.into(), id.into()]))
        });
        let select = select()
            .cond_where(wanted(filter))
            .and_where_option(after)
            .order_by((Approvals::Table, Approvals::RequestedAt), Order::Desc)
            .order_by((Approvals::Table, Approvals::Id), Order::Desc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<ApprovalRow> = self.db.fetch_all(&select).await?;
        let approvals = rows.into_iter().map(ApprovalRow::read).collect::<Result<_, _>>()?;
        page.listed(approvals, |one: &Approval| (millis(one.requested_at), one.new.id.clone()))
    }

    /// The number of approvals.
    pub async fn count_approvals(&self, filter: ApprovalFilter<'_>) -> Result<u64, StoreError> {
        let select = Query::select()
            .expr_as(column(Approvals::Id).count(), "approvals")
            .from(Approvals::Table)
            .inner_join(Experiments::Table, of_experiment())
            .cond_where(wanted(filter))
            .to_owned();
        self.db.fetch_optional::<CountRow>(&select).await?.map_or(Ok(0), |row| number::read(row.approvals))
    }
}

/// All approvals, with what their experiments say.
pub(super) fn select() -> SelectStatement {
    Query::select()
        .columns(COLUMNS.map(|column| (Approvals::Table, column)))
        .columns([Experiments::Owner, Experiments::SpecId].map(|column| (Experiments::Table, column)))
        .from(Approvals::Table)
        .inner_join(Experiments::Table, of_experiment())
        .to_owned()
}

pub(super) fn column(column: Approvals) -> Expr {
    Expr::col((Approvals::Table, column))
}

fn of_experiment() -> Expr {
    column(Approvals::Experiment).equals((Experiments::Table, Experiments::Id))
}

fn wanted(filter: ApprovalFilter<'_>) -> Cond {
    let run = |run: RunId| {
        let experiment = column(Approvals::Experiment).eq(run.experiment.to_string());
        experiment.and(column(Approvals::Run).eq(number::kept(run.number)))
    };
    Cond::all()
        .add_option(filter.owner.map(|owner| Expr::col((Experiments::Table, Experiments::Owner)).eq(owner)))
        .add_option(filter.run.map(run))
        .add_option(filter.scenario.map(|scenario| column(Approvals::Scenario).eq(scenario)))
        .add_option(filter.status.map(|status| standing(status, filter.now)))
}

/// The approvals that stand so now: those whose deadline has passed are expired, also when nobody wrote it down.
fn standing(status: ApprovalStatus, now: Timestamp) -> Expr {
    let pending = || column(Approvals::Status).eq(ApprovalStatus::Pending.word());
    let deadline = || column(Approvals::Deadline);
    match status {
        ApprovalStatus::Pending => pending().and(deadline().gt(millis(now))),
        ApprovalStatus::Expired => {
            column(Approvals::Status).eq(status.word()).or(pending().and(deadline().lte(millis(now))))
        }
        status => column(Approvals::Status).eq(status.word()),
    }
}
