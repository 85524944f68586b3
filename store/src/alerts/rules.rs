//! Rules that are looked at when a run ends, or that tell of events.

use jiff::Timestamp;
use sea_query::Expr;

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::json;
use crate::owned::Owned;
use crate::page::{Listed, Page};
use crate::tables::Alerts;
use crate::time::timestamp;

/// A rule that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAlert {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Its name, for people.
    pub name: String,
    /// The spec whose runs are looked at; `None` for all.
    pub eval_id: Option<String>,
    /// The condition under which it fires; empty for one that tells of events.
    pub condition: String,
    /// The names of the events that it tells of.
    pub events: Vec<String>,
    /// The time window it evaluates.
    pub window: Option<String>,
    /// The way people are notified.
    pub notify: String,
    /// Where to.
    pub webhook_url: Option<String>,
    /// Where to.
    pub slack_channel: Option<String>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// The stored content.
    pub new: NewAlert,
    /// When it was made.
    pub created_at: Timestamp,
}

row! {
    /// A rule.
    pub(crate) AlertRow {
        id: String,
        owner: String,
        name: String,
        eval_id: Option<String>,
        condition: String,
        timeframe: Option<String>,
        notify: String,
        webhook_url: Option<String>,
        slack_channel: Option<String>,
        events: String,
        created_at: i64,
    }
}

impl Owned for Alert {
    type New = NewAlert;
    type Row = AlertRow;
    type Column = Alerts;

    const TABLE: Alerts = Alerts::Table;
    const ID: Alerts = Alerts::Id;
    const OWNER: Alerts = Alerts::Owner;
    const CREATED_AT: Alerts = Alerts::CreatedAt;
    const COLUMNS: &'static [Alerts] = &[
        Alerts::Id,
        Alerts::Owner,
        Alerts::Name,
        Alerts::EvalId,
        Alerts::Condition,
        Alerts::Timeframe,
        Alerts::Notify,
        Alerts::WebhookUrl,
        Alerts::SlackChannel,
        Alerts::Events,
    ];

    fn values(new: &NewAlert) -> Result<Vec<Expr>, StoreError> {
        Ok(vec![
            new.id.as_str().into(),
            new.owner.as_str().into(),
            new.name.as_str().into(),
            new.eval_id.clone().into(),
            new.condition.as_str().into(),
            new.window.clone().into(),
            new.notify.as_str().into(),
            new.webhook_url.clone().into(),
            new.slack_channel.clone().into(),
            json::text(&new.events)?.into(),
        ])
    }

    fn made(new: &NewAlert, created_at: Timestamp) -> Self {
        Self { new: new.clone(), created_at }
    }

    fn read(row: AlertRow) -> Result<Self, StoreError> {
        let new = NewAlert {
            id: row.id,
            owner: row.owner,
            name: row.name,
            eval_id: row.eval_id,
            condition: row.condition,
            events: json::read(&row.events)?,
            window: row.timeframe,
            notify: row.notify,
            webhook_url: row.webhook_url,
            slack_channel: row.slack_channel,
        };
        Ok(Self { new, created_at: timestamp(row.created_at)? })
    }

    fn place(&self) -> (Timestamp, &str) {
        (self.created_at, &self.new.id)
    }
}

impl Store {
    /// Keeps a rule.
    pub async fn create_alert(&self, new: &NewAlert, now: Timestamp) -> Result<Alert, StoreError> {
        self.make_owned(new, now).await
    }

    /// The rule with this id.
    pub async fn alert(&self, id: &str) -> Result<Option<Alert>, StoreError> {
        self.owned(id).await
    }

    /// Rules, newest first; of one owner only, if one is named.
    pub async fn alerts(&self, owner: Option<&str>, page: Page<'_>) -> Result<Listed<Alert>, StoreError> {
        self.list_owned(owner, page).await
    }

    /// Removes a rule with its firings; whether there was one.
    pub async fn remove_alert(&self, id: &str) -> Result<bool, StoreError> {
        self.remove_owned::<Alert>(id).await
    }
}
