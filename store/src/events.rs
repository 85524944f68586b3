//! What happened while runs were worked on, in the order in which it was written down.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query};
use serde_json::Value as Json;

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::Events;
use crate::time::{millis, timestamp};
use crate::{json, number};

/// How many rows are written with one statement.
const AT_ONCE: usize = 500;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The run.
    pub run: RunId,
    /// The scenario.
    pub scenario: String,
    /// The attempt.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// What: one word.
    pub kind: String,
    /// More about it.
    pub body: Json,
}

/// Something that happened, and its place among all that did.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Its number: later ones have higher numbers.
    pub number: u64,
    /// What happened.
    pub event: NewEvent,
}

row! {
    /// An event.
    EventRow { number: i64, scenario: String, attempt: i64, at: i64, kind: String, body: String }
}

impl Store {
    /// Writes down what happened, all of it or nothing.
    pub async fn note(&self, events: &[NewEvent]) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        for chunk in events.chunks(AT_ONCE) {
            let mut insert = Query::insert()
                .into_table(Events::Table)
                .columns([
                    Events::Experiment,
                    Events::Run,
                    Events::Scenario,
                    Events::Attempt,
                    Events::At,
                    Events::Kind,
                    Events::Body,
                ])
                .to_owned();
            for event in chunk {
                insert.values_panic([
                    event.run.experiment.to_string().into(),
                    number::kept(event.run.number).into(),
                    event.scenario.as_str().into(),
                    number::kept(event.attempt).into(),
                    millis(event.at).into(),
                    event.kind.as_str().into(),
                    json::text(&event.body)?.into(),
                ]);
            }
            tx.execute(&insert).await?;
        }
        tx.commit().await
    }

    /// What happened in a run after the event with this number, at most so many.
    pub async fn events(&self, run: RunId, after: u64, most: u64) -> Result<Vec<StoredEvent>, StoreError> {
        let select = Query::select()
            .columns([Events::Number, Events::Scenario, Events::Attempt, Events::At, Events::Kind, Events::Body])
            .from(Events::Table)
            .and_where(Expr::col(Events::Experiment).eq(run.experiment.to_string()))
            .and_where(Expr::col(Events::Run).eq(number::kept(run.number)))
            .and_where(Expr::col(Events::Number).gt(number::kept(after)))
            .order_by(Events::Number, Order::Asc)
            .limit(number::limit(most))
            .to_owned();
        let rows: Vec<EventRow> = self.db.fetch_all(&select).await?;
        rows.into_iter()
            .map(|row| {
                let event = NewEvent {
                    run,
                    scenario: row.scenario,
                    attempt: number::read(row.attempt)?,
                    at: timestamp(row.at)?,
                    kind: row.kind,
                    body: json::read(&row.body)?,
                };
                Ok(StoredEvent { number: number::read(row.number)?, event })
            })
            .collect()
    }
}
