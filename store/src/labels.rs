//! Labels that people give to judged outputs.
//!
//! A label is known by its output and its person: saying something else about the same output replaces it. The output is that of the
//! run that acted; a run that judged its evidence again has the same labels.

use jiff::Timestamp;
use sea_query::{Cond, Expr, ExprTrait as _, OnConflict, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::{ExperimentId, RunId};
use crate::number;
use crate::page::{Listed, Page};
use crate::tables::{Experiments, Labels};
use crate::time::{millis, timestamp};

/// A person's label for an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLabel {
    /// The id to give to it, unless the person labelled this output before.
    pub id: String,
    /// The run that acted.
    pub run: RunId,
    /// The scenario.
    pub scenario: String,
    /// The invariant.
    pub invariant: String,
    /// `pass`, `fail` or a score.
    pub label: String,
    /// The name of the person.
    pub person: String,
    /// The note of the person.
    pub note: String,
}

/// A label that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLabel {
    /// The label.
    pub new: NewLabel,
    /// The owner of the experiment.
    pub owner: String,
    /// The time of the label.
    pub created_at: Timestamp,
}

/// A choice of labels; `None` means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LabelFilter<'a> {
    /// Of whose experiments.
    pub owner: Option<&'a str>,
    /// Of which experiment.
    pub experiment: Option<ExperimentId>,
    /// Of which run, which acted.
    pub run: Option<u32>,
}

const COLUMNS: [Labels; 9] = [
    Labels::Id,
    Labels::Experiment,
    Labels::Run,
    Labels::Scenario,
    Labels::Invariant,
    Labels::Label,
    Labels::Person,
    Labels::Note,
    Labels::CreatedAt,
];

/// The columns that a label is known by.
const IDENTITY: [Labels; 5] = [Labels::Experiment, Labels::Run, Labels::Scenario, Labels::Invariant, Labels::Person];

row! {
    /// A label.
    LabelRow {
        id: String,
        experiment: String,
        run: i64,
        scenario: String,
        invariant: String,
        label: String,
        person: String,
        note: String,
        created_at: i64,
        owner: String,
    }
}

impl LabelRow {
    fn read(self) -> Result<StoredLabel, StoreError> {
        let experiment = self.experiment.parse().map_err(StoreError::damaged)?;
        let new = NewLabel {
            id: self.id,
            run: RunId { experiment, number: number::read(self.run)? },
            scenario: self.scenario,
            invariant: self.invariant,
            label: self.label,
            person: self.person,
            note: self.note,
        };
        Ok(StoredLabel { new, owner: self.owner, created_at: timestamp(self.created_at)? })
    }
}

impl Store {
    /// Keeps labels, all or none, and returns how many there were. A label of the same person about the same output is replaced.
    pub async fn keep_labels(&self, labels: &[NewLabel], now: Timestamp) -> Result<usize, StoreError> {
        let mut tx = self.db.begin().await?;
        for label in labels {
            let insert = Query::insert()
                .into_table(Labels::Table)
                .columns(COLUMNS)
                .values_panic(values(label, now))
                .on_conflict(
                    OnConflict::columns(IDENTITY)
                        .update_columns([Labels::Label, Labels::Note, Labels::CreatedAt])
                        .to_owned(),
                )
                .to_owned();
            tx.execute(&insert).await?;
        }
        tx.commit().await?;
        Ok(labels.len())
    }

    /// The label of a person about an output.
    pub async fn label_of(&self, new: &NewLabel) -> Result<Option<StoredLabel>, StoreError> {
        let is = Expr::tuple(IDENTITY.map(column)).eq(Expr::tuple(identity(new)));
        self.one_label(is).await
    }

    /// The label with this id.
    pub async fn label(&self, id: &str) -> Result<Option<StoredLabel>, StoreError> {
        self.one_label(column(Labels::Id).eq(id)).await
    }

    async fn one_label(&self, is: Expr) -> Result<Option<StoredLabel>, StoreError> {
        let select = select().and_where(is).to_owned();
        self.db.fetch_optional::<LabelRow>(&select).await?.map(LabelRow::read).transpose()
    }

    /// Labels, newest first.
    pub async fn labels(&self, filter: LabelFilter<'_>, page: Page<'_>) -> Result<Listed<StoredLabel>, StoreError> {
        let after = page.key::<(i64, String)>()?.map(|(created_at, id)| {
            Expr::tuple([column(Labels::CreatedAt), column(Labels::Id)]).lt(Expr::tuple([created_at.into(), id.into()]))
        });
        let select = select()
            .cond_where(wanted(filter))
            .and_where_option(after)
            .order_by((Labels::Table, Labels::CreatedAt), Order::Desc)
            .order_by((Labels::Table, Labels::Id), Order::Desc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<LabelRow> = self.db.fetch_all(&select).await?;
        let labels = rows.into_iter().map(LabelRow::read).collect::<Result<_, _>>()?;
        page.listed(labels, |one: &StoredLabel| (millis(one.created_at), one.new.id.clone()))
    }

    /// Removes the label with this id; whether there was one.
    pub async fn remove_label(&self, id: &str) -> Result<bool, StoreError> {
        let delete = Query::delete().from_table(Labels::Table).and_where(Expr::col(Labels::Id).eq(id)).to_owned();
        Ok(self.db.execute(&delete).await? > 0)
    }
}

fn select() -> SelectStatement {
    Query::select()
        .columns(COLUMNS.map(|column| (Labels::Table, column)))
        .column((Experiments::Table, Experiments::Owner))
        .from(Labels::Table)
        .inner_join(Experiments::Table, column(Labels::Experiment).equals((Experiments::Table, Experiments::Id)))
        .to_owned()
}

fn column(column: Labels) -> Expr {
    Expr::col((Labels::Table, column))
}

fn wanted(filter: LabelFilter<'_>) -> Cond {
    let of = |experiment: ExperimentId| column(Labels::Experiment).eq(experiment.to_string());
    Cond::all()
        .add_option(filter.owner.map(|owner| Expr::col((Experiments::Table, Experiments::Owner)).eq(owner)))
        .add_option(filter.experiment.map(of))
        .add_option(filter.run.map(|run| column(Labels::Run).eq(number::kept(run))))
}

fn identity(label: &NewLabel) -> Vec<Expr> {
    vec![
        label.run.experiment.to_string().into(),
        number::kept(label.run.number).into(),
        label.scenario.as_str().into(),
        label.invariant.as_str().into(),
        label.person.as_str().into(),
    ]
}

fn values(label: &NewLabel, now: Timestamp) -> Vec<Expr> {
    vec![
        label.id.as_str().into(),
        label.run.experiment.to_string().into(),
        number::kept(label.run.number).into(),
        label.scenario.as_str().into(),
        label.invariant.as_str().into(),
        label.label.as_str().into(),
        label.person.as_str().into(),
        label.note.as_str().into(),
        millis(now).into(),
    ]
}
