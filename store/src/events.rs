//! Events of runs, in the order in which they were written.

use std::collections::BTreeSet;

use jiff::Timestamp;
use scenario::event::Event;
use scenario::trace::TimedEvent;
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::ids::RunId;
use crate::tables::Events;
use crate::time::{millis, timestamp};
use crate::wakeups::Wakeup;
use crate::{json, number};

/// The number of rows written with one statement.
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
    /// The event.
    pub happened: Event,
}

/// Something that happened, and its place among all that did.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Its number: later ones have higher numbers.
    pub number: u64,
    /// The event.
    pub event: NewEvent,
}

impl<'a> From<&'a NewEvent> for TimedEvent<'a> {
    fn from(event: &'a NewEvent) -> Self {
        Self { at: event.at, attempt: event.attempt, event: &event.happened }
    }
}

row! {
    /// An event.
    EventRow { number: i64, scenario: String, attempt: i64, at: i64, kind: String, body: String }
}

row! {
    /// The place of an event.
    NumberRow { number: i64 }
}

impl Store {
    /// Writes down what happened, all of it or nothing. In a run, what has a lower number is visible earlier, so a reader
    /// who goes on after the last number that it saw misses nothing.
    pub async fn note(&self, events: &[NewEvent]) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        note_in(&mut tx, events).await?;
        tx.commit().await
    }

    /// Reads at most `most` events of a run after the event with this number.
    pub async fn events(&self, run: RunId, after: u64, most: u64) -> Result<Vec<StoredEvent>, StoreError> {
        let select = select(run, most).and_where(Expr::col(Events::Number).gt(number::kept(after))).to_owned();
        read(run, self.db.fetch_all(&select).await?)
    }

    /// The number of what happened last in a run, or in one scenario of it; 0 when nothing did.
    pub async fn last_event(&self, run: RunId, scenario: Option<&str>) -> Result<u64, StoreError> {
        let last: Option<NumberRow> = self.db.fetch_optional(&last(run, scenario)).await?;
        last.map_or(Ok(0), |row| number::read(row.number))
    }

    /// Reads at most `most` events of one scenario of a run, from its beginning.
    pub async fn scenario_events(&self, run: RunId, scenario: &str, most: u64) -> Result<Vec<StoredEvent>, StoreError> {
        let select = select(run, most).and_where(Expr::col(Events::Scenario).eq(scenario)).to_owned();
        read(run, self.db.fetch_all(&select).await?)
    }
}

fn select(run: RunId, most: u64) -> SelectStatement {
    Query::select()
        .columns([Events::Number, Events::Scenario, Events::Attempt, Events::At, Events::Kind, Events::Body])
        .from(Events::Table)
        .and_where(Expr::col(Events::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Events::Run).eq(number::kept(run.number)))
        .order_by(Events::Number, Order::Asc)
        .limit(number::limit(most))
        .to_owned()
}

/// Selects the last event, at the end of an index.
fn last(run: RunId, scenario: Option<&str>) -> SelectStatement {
    Query::select()
        .column(Events::Number)
        .from(Events::Table)
        .and_where(Expr::col(Events::Experiment).eq(run.experiment.to_string()))
        .and_where(Expr::col(Events::Run).eq(number::kept(run.number)))
        .and_where_option(scenario.map(|scenario| Expr::col(Events::Scenario).eq(scenario)))
        .order_by(Events::Number, Order::Desc)
        .limit(1)
        .to_owned()
}

fn read(run: RunId, rows: Vec<EventRow>) -> Result<Vec<StoredEvent>, StoreError> {
    rows.into_iter()
        .map(|row| {
            let event = NewEvent {
                run,
                scenario: row.scenario,
                attempt: number::read(row.attempt)?,
                at: timestamp(row.at)?,
                happened: Event::read(row.kind, json::read(&row.body)?),
            };
            Ok(StoredEvent { number: number::read(row.number)?, event })
        })
        .collect()
}

async fn note_in(tx: &mut Tx, events: &[NewEvent]) -> Result<(), StoreError> {
    // A server gives numbers when rows are written, but shows rows when their transactions end, in any order. So one
    // after the other writes down what happened in a run. All take several locks in the same order.
    let runs: BTreeSet<RunId> = events.iter().map(|event| event.run).collect();
    for run in runs {
        tx.lock(&format!("events {run}")).await?;
        tx.tell(Wakeup::Experiment(run.experiment)).await?;
    }
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
                event.happened.kind().into(),
                json::text(&event.happened.body())?.into(),
            ]);
        }
        tx.execute(&insert).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use scenario::event::Event;
    use scenario::plan::{CellId, CellKey, Purpose, Scenario, ScenarioId, Seed};
    use sea_query::SqliteQueryBuilder;
    use tokio::time::timeout;
    use uuid::Uuid;

    use super::{NewEvent, last, note_in};
    use crate::db::{Db, plan};
    use crate::testing::TestDatabase;
    use crate::{ExperimentId, JobId, Lane, NewExperiment, NewJob, NewRun, RunId, Settings, SpecContent, Store};

    const PATIENCE: Duration = Duration::from_secs(30);

    async fn submitted(store: &Store) -> RunId {
        let (now, cell) = (Timestamp::UNIX_EPOCH, CellId::of(&CellKey::default()));
        let content = SpecContent { text: String::new(), files: Vec::new() };
        let experiment = NewExperiment {
            id: ExperimentId(Uuid::nil()),
            spec: store.keep_spec("", "ledger", &content, now).await.expect("a spec"),
            source: String::new(),
            seed: Seed::new(1),
            settings: Settings::default(),
            owner: String::new(),
            name: String::new(),
            secrets: None,
        };
        let id = ScenarioId::of(&cell, 0);
        let scenario = Scenario {
            id,
            cell,
            replica: 0,
            seed: Seed::new(1),
            parameters: Default::default(),
            chaos: String::new(),
            purpose: Purpose::default(),
            prompt: None,
            variants: Vec::new(),
            snapshot: None,
            breakage: None,
        };
        let job = NewJob { id: JobId(Uuid::nil()), scenario, demand: Default::default(), at_once: None };
        let run = NewRun { lane: Lane::Shared, priority: 0, jobs: vec![job] };
        store.submit(&experiment, &run, now).await.expect("submitted")
    }

    fn event(run: RunId, kind: &str) -> NewEvent {
        let (scenario, at) = ("s".to_owned(), Timestamp::UNIX_EPOCH);
        NewEvent { run, scenario, attempt: 1, at, happened: Event::read(kind, serde_json::Value::Null) }
    }

    async fn kinds(store: &Store, run: RunId) -> Vec<String> {
        let events = store.events(run, 0, 10).await.expect("events");
        events.into_iter().map(|stored| stored.event.happened.kind().to_owned()).collect()
    }

    /// Counts connections that wait for a lock.
    async fn waiting(store: &Store) -> i64 {
        let Db::Postgres { pool, .. } = &store.db else { panic!("this is about Postgres") };
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        sqlx::query_scalar(waiting).fetch_one(pool).await.expect("a count")
    }

    #[tokio::test]
    async fn the_last_event_is_at_the_end_of_an_index() {
        let run = RunId { experiment: ExperimentId(Uuid::nil()), number: 1 };
        for (scenario, index) in [(None, "events_run"), (Some("s"), "events_scenario")] {
            let plan = plan(last(run, scenario).to_string(SqliteQueryBuilder)).await;
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
        }
    }

    #[tokio::test]
    async fn what_has_a_lower_number_is_visible_earlier() {
        let Some(database) = TestDatabase::new().await else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::connect(&database.url(), folder.path()).await.expect("a store");
        let run = submitted(&store).await;
        let mut first = store.db.begin().await.expect("begun");
        note_in(&mut first, &[event(run, "first")]).await.expect("noted");
        let (other, later) = (store.clone(), event(run, "second"));
        let second = tokio::spawn(async move { other.note(&[later]).await });
        // Without a lock, it would end before the first one does.
        let waits = async { while waiting(&store).await == 0 && !second.is_finished() {} };
        timeout(PATIENCE, waits).await.expect("in time");
        assert!(!second.is_finished(), "it waits for the first one");
        assert_eq!(kinds(&store, run).await, Vec::<String>::new());
        first.commit().await.expect("committed");
        timeout(PATIENCE, second).await.expect("in time").expect("no panic").expect("noted");
        assert_eq!(kinds(&store, run).await, ["first", "second"]);
    }
}
