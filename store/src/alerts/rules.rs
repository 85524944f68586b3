//! Rules that are looked at when a run ends.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::page::{Listed, Page};
use crate::tables::Alerts;
use crate::time::{millis, timestamp};

const COLUMNS: [Alerts; 10] = [
    Alerts::Id,
    Alerts::Owner,
    Alerts::Name,
    Alerts::EvalId,
    Alerts::Condition,
    Alerts::Timeframe,
    Alerts::Notify,
    Alerts::WebhookUrl,
    Alerts::SlackChannel,
    Alerts::CreatedAt,
];

/// A rule that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAlert {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// What people call it.
    pub name: String,
    /// The spec whose runs are looked at; `None` for all.
    pub eval_id: Option<String>,
    /// When it fires.
    pub condition: String,
    /// How far back it looks.
    pub window: Option<String>,
    /// How people are told.
    pub notify: String,
    /// Where to.
    pub webhook_url: Option<String>,
    /// Where to.
    pub slack_channel: Option<String>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// What was kept.
    pub new: NewAlert,
    /// When it was made.
    pub created_at: Timestamp,
}

row! {
    /// A rule.
    AlertRow {
        id: String,
        owner: String,
        name: String,
        eval_id: Option<String>,
        condition: String,
        timeframe: Option<String>,
        notify: String,
        webhook_url: Option<String>,
        slack_channel: Option<String>,
        created_at: i64,
    }
}

impl AlertRow {
    fn read(self) -> Result<Alert, StoreError> {
        let new = NewAlert {
            id: self.id,
            owner: self.owner,
            name: self.name,
            eval_id: self.eval_id,
            condition: self.condition,
            window: self.timeframe,
            notify: self.notify,
            webhook_url: self.webhook_url,
            slack_channel: self.slack_channel,
        };
        Ok(Alert { new, created_at: timestamp(self.created_at)? })
    }
}

impl Store {
    /// Keeps a rule.
    pub async fn create_alert(&self, new: &NewAlert, now: Timestamp) -> Result<Alert, StoreError> {
        let insert = Query::insert()
            .into_table(Alerts::Table)
            .columns(COLUMNS)
            .values_panic([
                new.id.as_str().into(),
                new.owner.as_str().into(),
                new.name.as_str().into(),
                new.eval_id.clone().into(),
                new.condition.as_str().into(),
                new.window.clone().into(),
                new.notify.as_str().into(),
                new.webhook_url.clone().into(),
                new.slack_channel.clone().into(),
                millis(now).into(),
            ])
            .to_owned();
        self.db.execute(&insert).await?;
        Ok(Alert { new: new.clone(), created_at: timestamp(millis(now))? })
    }

    /// The rule with this id.
    pub async fn alert(&self, id: &str) -> Result<Option<Alert>, StoreError> {
        let select = select().and_where(Expr::col(Alerts::Id).eq(id)).to_owned();
        self.db.fetch_optional::<AlertRow>(&select).await?.map(AlertRow::read).transpose()
    }

    /// Rules, newest first; of one owner only, if one is named.
    pub async fn alerts(&self, owner: Option<&str>, page: Page<'_>) -> Result<Listed<Alert>, StoreError> {
        let after = page.key::<(i64, String)>()?.map(|(created_at, id)| {
            Expr::tuple([Expr::col(Alerts::CreatedAt), Expr::col(Alerts::Id)])
                .lt(Expr::tuple([created_at.into(), id.into()]))
        });
        let select = select()
            .and_where_option(owner.map(|owner| Expr::col(Alerts::Owner).eq(owner)))
            .and_where_option(after)
            .order_by(Alerts::CreatedAt, Order::Desc)
            .order_by(Alerts::Id, Order::Desc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<AlertRow> = self.db.fetch_all(&select).await?;
        let alerts = rows.into_iter().map(AlertRow::read).collect::<Result<_, _>>()?;
        page.listed(alerts, |one: &Alert| (millis(one.created_at), one.new.id.clone()))
    }

    /// Removes a rule with its firings; whether there was one.
    pub async fn remove_alert(&self, id: &str) -> Result<bool, StoreError> {
        let delete = Query::delete().from_table(Alerts::Table).and_where(Expr::col(Alerts::Id).eq(id)).to_owned();
        Ok(self.db.execute(&delete).await? > 0)
    }
}

fn select() -> SelectStatement {
    Query::select().columns(COLUMNS).from(Alerts::Table).to_owned()
}
