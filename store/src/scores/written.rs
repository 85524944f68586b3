//! Scores that rules gave to scenarios.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, OnConflict, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::{ExperimentId, RunId};
use crate::number;
use crate::page::{Listed, Page};
use crate::tables::{Experiments, Scores};
use crate::time::{millis, timestamp};

/// The number of rows written with one statement.
const AT_ONCE: usize = 500;

/// A score that a rule gives to a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct NewScore {
    /// The rule.
    pub rule: String,
    /// The run.
    pub run: RunId,
    /// The scenario.
    pub scenario: String,
    /// The trace that it is about, if it is about one.
    pub trace: Option<u64>,
    /// The score, from 0 to 1.
    pub score: f64,
    /// True when the score is good enough.
    pub passed: bool,
    /// Why.
    pub message: String,
}

/// A stored score of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Its number: later ones have higher numbers.
    pub number: u64,
    /// The score.
    pub new: NewScore,
    /// When.
    pub created_at: Timestamp,
}

/// Which scores are wanted; `None` means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScoreFilter<'a> {
    /// Of whose experiments.
    pub owner: Option<&'a str>,
    /// Of which experiment.
    pub experiment: Option<ExperimentId>,
    /// Of which rule.
    pub rule: Option<&'a str>,
}

row! {
    /// A score.
    ScoreRow {
        number: i64,
        rule: String,
        experiment: String,
        run: i64,
        scenario: String,
        trace: Option<i64>,
        score: f64,
        passed: bool,
        message: String,
        created_at: i64,
    }
}

impl ScoreRow {
    fn read(self) -> Result<Score, StoreError> {
        let experiment = self.experiment.parse().map_err(StoreError::damaged)?;
        Ok(Score {
            number: number::read(self.number)?,
            new: NewScore {
                rule: self.rule,
                run: RunId { experiment, number: number::read(self.run)? },
                scenario: self.scenario,
                trace: self.trace.map(number::read).transpose()?,
                score: self.score,
                passed: self.passed,
                message: self.message,
            },
            created_at: timestamp(self.created_at)?,
        })
    }
}

impl Store {
    /// Keeps what rules say, all of it or nothing, instead of what they said about the same scenarios before.
    pub async fn keep_scores(&self, scores: &[NewScore], now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        for chunk in scores.chunks(AT_ONCE) {
            let mut insert = Query::insert()
                .into_table(Scores::Table)
                .columns([
                    Scores::Rule,
                    Scores::Experiment,
                    Scores::Run,
                    Scores::Scenario,
                    Scores::Trace,
                    Scores::Score,
                    Scores::Passed,
                    Scores::Message,
                    Scores::CreatedAt,
                ])
                .on_conflict(
                    OnConflict::columns([Scores::Rule, Scores::Experiment, Scores::Run, Scores::Scenario])
                        .update_columns([
                            Scores::Trace,
                            Scores::Score,
                            Scores::Passed,
                            Scores::Message,
                            Scores::CreatedAt,
                        ])
                        .to_owned(),
                )
                .to_owned();
            for score in chunk {
                insert.values_panic([
                    score.rule.as_str().into(),
                    score.run.experiment.to_string().into(),
                    number::kept(score.run.number).into(),
                    score.scenario.as_str().into(),
                    score.trace.map(number::kept).into(),
                    number::fraction(score.score).into(),
                    score.passed.into(),
                    score.message.as_str().into(),
                    millis(now).into(),
                ]);
            }
            tx.execute(&insert).await?;
        }
        tx.commit().await
    }

    /// Reads scores of rules, in the order of their numbers.
    pub async fn scores(&self, filter: ScoreFilter<'_>, page: Page<'_>) -> Result<Listed<Score>, StoreError> {
        let column = |column: Scores| (Scores::Table, column);
        let own = filter.owner.map(|owner| {
            let own = Query::select()
                .column(Experiments::Id)
                .from(Experiments::Table)
                .and_where(Expr::col(Experiments::Owner).eq(owner))
                .to_owned();
            Expr::col(column(Scores::Experiment)).in_subquery(own)
        });
        let select = Query::select()
            .columns([
                Scores::Number,
                Scores::Rule,
                Scores::Experiment,
                Scores::Run,
                Scores::Scenario,
                Scores::Trace,
                Scores::Score,
                Scores::Passed,
                Scores::Message,
                Scores::CreatedAt,
            ])
            .from(Scores::Table)
            .and_where_option(own)
            .and_where_option(filter.experiment.map(|id| Expr::col(Scores::Experiment).eq(id.to_string())))
            .and_where_option(filter.rule.map(|rule| Expr::col(Scores::Rule).eq(rule)))
            .and_where_option(page.key::<i64>()?.map(|after| Expr::col(Scores::Number).gt(after)))
            .order_by(Scores::Number, Order::Asc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<ScoreRow> = self.db.fetch_all(&select).await?;
        let scores = rows.into_iter().map(ScoreRow::read).collect::<Result<_, _>>()?;
        page.listed(scores, |one: &Score| one.number)
    }
}
