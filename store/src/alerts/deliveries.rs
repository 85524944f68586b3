//! Messages to the outside, each tried until it arrives or is given up.

use std::str::FromStr;

use jiff::Timestamp;
use sea_query::{Cond, Expr, ExprTrait as _, LockBehavior, LockType, Order, Query};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::number;
use crate::tables::Deliveries;
use crate::time::millis;

/// A message that is to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Its id, by which the receiver knows a message that arrives twice.
    pub id: String,
    /// Where to.
    pub url: String,
    /// The text of the message.
    pub body: String,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The message to deliver.
    pub new: NewDelivery,
    /// The rule that fired.
    pub alert: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// The number of tries, including this one.
    pub attempts: u32,
    /// Why it did not arrive the last time.
    pub last_error: Option<String>,
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is to be tried, or is being tried.
    Waiting,
    /// It arrived.
    Arrived,
    /// It was given up.
    GivenUp,
}

impl DeliveryState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Arrived => "arrived",
            Self::GivenUp => "given_up",
        }
    }
}

impl FromStr for DeliveryState {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        [Self::Waiting, Self::Arrived, Self::GivenUp]
            .into_iter()
            .find(|state| state.word() == text)
            .ok_or_else(|| StoreError::Damaged(format!("`{text}` is no state of a delivery")))
    }
}

row! {
    /// A message.
    DeliveryRow {
        id: String,
        alert: String,
        url: String,
        body: String,
        state: String,
        attempts: i64,
        last_error: Option<String>,
    }
}

impl DeliveryRow {
    fn read(self) -> Result<Delivery, StoreError> {
        Ok(Delivery {
            new: NewDelivery { id: self.id, url: self.url, body: self.body },
            alert: self.alert,
            state: self.state.parse()?,
            attempts: number::read(self.attempts)?,
            last_error: self.last_error,
        })
    }
}

const COLUMNS: [Deliveries; 7] = [
    Deliveries::Id,
    Deliveries::Alert,
    Deliveries::Url,
    Deliveries::Body,
    Deliveries::State,
    Deliveries::Attempts,
    Deliveries::LastError,
];

impl Store {
    /// The first message that is due. Nobody else gets it before `until`.
    pub async fn claim_delivery(&self, now: Timestamp, until: Timestamp) -> Result<Option<Delivery>, StoreError> {
        let first = Query::select()
            .column(Deliveries::Id)
            .from(Deliveries::Table)
            .and_where(Expr::col(Deliveries::State).eq(DeliveryState::Waiting.word()))
            .and_where(Expr::col(Deliveries::DueAt).lte(millis(now)))
            .order_by(Deliveries::DueAt, Order::Asc)
            .order_by(Deliveries::Id, Order::Asc)
            .limit(1)
            .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
            .to_owned();
        let update = Query::update()
            .table(Deliveries::Table)
            .value(Deliveries::Attempts, Expr::col(Deliveries::Attempts).add(1))
            .value(Deliveries::DueAt, millis(until))
            .and_where(Expr::col(Deliveries::Id).eq(Expr::SubQuery(None, Box::new(first.into()))))
            .returning(Query::returning().columns(COLUMNS))
            .to_owned();
        let mut tx = self.db.begin().await?;
        let row: Option<DeliveryRow> = tx.fetch_optional(&update).await?;
        tx.commit().await?;
        row.map(DeliveryRow::read).transpose()
    }

    /// Writes down that a message arrived; whether nobody else has tried it since it was claimed.
    pub async fn delivery_arrived(&self, delivery: &Delivery, now: Timestamp) -> Result<bool, StoreError> {
        self.end_delivery(delivery, DeliveryState::Arrived, None, now).await
    }

    /// Gives a message up; whether nobody else has tried it since it was claimed.
    pub async fn give_up_delivery(&self, delivery: &Delivery, error: &str, now: Timestamp) -> Result<bool, StoreError> {
        self.end_delivery(delivery, DeliveryState::GivenUp, Some(error), now).await
    }

    /// Writes down that a message did not arrive, and is tried again at a time; whether nobody else has tried it since it
    /// was claimed.
    pub async fn retry_delivery(
        &self,
        delivery: &Delivery,
        error: &str,
        due_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let update = Query::update()
            .table(Deliveries::Table)
            .value(Deliveries::DueAt, millis(due_at))
            .value(Deliveries::LastError, error)
            .cond_where(holds(delivery))
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }

    /// A message.
    pub async fn delivery(&self, id: &str) -> Result<Option<Delivery>, StoreError> {
        let select = Query::select()
            .columns(COLUMNS)
            .from(Deliveries::Table)
            .and_where(Expr::col(Deliveries::Id).eq(id))
            .to_owned();
        self.db.fetch_optional::<DeliveryRow>(&select).await?.map(DeliveryRow::read).transpose()
    }

    async fn end_delivery(
        &self,
        delivery: &Delivery,
        state: DeliveryState,
        error: Option<&str>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let update = Query::update()
            .table(Deliveries::Table)
            .value(Deliveries::State, state.word())
            .value(Deliveries::LastError, error.map(ToOwned::to_owned))
            .value(Deliveries::EndedAt, millis(now))
            .cond_where(holds(delivery))
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }
}

/// True while nobody has retried the message since it was claimed.
fn holds(delivery: &Delivery) -> Cond {
    Cond::all()
        .add(Expr::col(Deliveries::Id).eq(delivery.new.id.as_str()))
        .add(Expr::col(Deliveries::State).eq(DeliveryState::Waiting.word()))
        .add(Expr::col(Deliveries::Attempts).eq(i64::from(delivery.attempts)))
}

/// Writes a message that is due at once.
pub(crate) async fn insert_delivery(
    tx: &mut Tx,
    alert: &str,
    new: &NewDelivery,
    now: Timestamp,
) -> Result<(), StoreError> {
    let insert = Query::insert()
        .into_table(Deliveries::Table)
        .columns([
            Deliveries::Id,
            Deliveries::Alert,
            Deliveries::Url,
            Deliveries::Body,
            Deliveries::State,
            Deliveries::Attempts,
            Deliveries::DueAt,
            Deliveries::CreatedAt,
        ])
        .values_panic([
            new.id.as_str().into(),
            alert.into(),
            new.url.as_str().into(),
            new.body.as_str().into(),
            DeliveryState::Waiting.word().into(),
            0_i64.into(),
            millis(now).into(),
            millis(now).into(),
        ])
        .to_owned();
    tx.execute(&insert).await?;
    Ok(())
}
