//! Rules that fired, each once for a run.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, OnConflict, Order, Query};

use super::deliveries::{NewDelivery, insert_delivery};
use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::RunId;
use crate::number;
use crate::page::{Listed, Page};
use crate::tables::{AlertFirings, Alerts};
use crate::time::{millis, timestamp};

/// A rule that fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFiring {
    /// The rule.
    pub alert: String,
    /// The run that made it fire.
    pub run: RunId,
    /// Why.
    pub reason: String,
}

/// A rule that fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// Its number: later ones have higher numbers.
    pub number: u64,
    /// The rule's name.
    pub name: String,
    /// The rule that fired, and the reason.
    pub new: NewFiring,
    /// When.
    pub fired_at: Timestamp,
}

row! {
    /// A firing.
    FiringRow { number: i64, alert: String, name: String, experiment: String, run: i64, reason: String, fired_at: i64 }
}

impl FiringRow {
    fn read(self) -> Result<Firing, StoreError> {
        let experiment = self.experiment.parse().map_err(StoreError::damaged)?;
        let run = RunId { experiment, number: number::read(self.run)? };
        Ok(Firing {
            number: number::read(self.number)?,
            name: self.name,
            new: NewFiring { alert: self.alert, run, reason: self.reason },
            fired_at: timestamp(self.fired_at)?,
        })
    }
}

impl Store {
    /// Writes down that a rule fired, together with the message that says so; whether it had not fired for this run before.
    pub async fn fire_alert(
        &self,
        new: &NewFiring,
        delivery: Option<&NewDelivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let once = [AlertFirings::Alert, AlertFirings::Experiment, AlertFirings::Run];
        let insert = Query::insert()
            .into_table(AlertFirings::Table)
            .columns([
                AlertFirings::Alert,
                AlertFirings::Experiment,
                AlertFirings::Run,
                AlertFirings::Reason,
                AlertFirings::FiredAt,
            ])
            .values_panic([
                new.alert.as_str().into(),
                new.run.experiment.to_string().into(),
                number::kept(new.run.number).into(),
                new.reason.as_str().into(),
                millis(now).into(),
            ])
            .on_conflict(OnConflict::columns(once).do_nothing().to_owned())
            .to_owned();
        let mut tx = self.db.begin().await?;
        if tx.execute(&insert).await? == 0 {
            return Ok(false);
        }
        if let Some(delivery) = delivery {
            insert_delivery(&mut tx, &new.alert, delivery, now).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Rules that fired, newest first; of one owner and one rule only, if they are named.
    pub async fn firings(
        &self,
        owner: Option<&str>,
        alert: Option<&str>,
        page: Page<'_>,
    ) -> Result<Listed<Firing>, StoreError> {
        let of_firing = [
            AlertFirings::Number,
            AlertFirings::Alert,
            AlertFirings::Experiment,
            AlertFirings::Run,
            AlertFirings::Reason,
            AlertFirings::FiredAt,
        ];
        let number = (AlertFirings::Table, AlertFirings::Number);
        let select = Query::select()
            .columns(of_firing.map(|column| (AlertFirings::Table, column)))
            .column((Alerts::Table, Alerts::Name))
            .from(AlertFirings::Table)
            .inner_join(
                Alerts::Table,
                Expr::col((Alerts::Table, Alerts::Id)).equals((AlertFirings::Table, AlertFirings::Alert)),
            )
            .and_where_option(owner.map(|owner| Expr::col((Alerts::Table, Alerts::Owner)).eq(owner)))
            .and_where_option(alert.map(|alert| Expr::col((AlertFirings::Table, AlertFirings::Alert)).eq(alert)))
            .and_where_option(page.key::<i64>()?.map(|after| Expr::col(number).lt(after)))
            .order_by(number, Order::Desc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<FiringRow> = self.db.fetch_all(&select).await?;
        let firings = rows.into_iter().map(FiringRow::read).collect::<Result<_, _>>()?;
        page.listed(firings, |one: &Firing| one.number)
    }
}
