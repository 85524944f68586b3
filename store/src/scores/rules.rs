//! Rules by which scenarios are scored afterwards.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};
use serde_json::Value as Json;

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::json;
use crate::page::{Listed, Page};
use crate::tables::ScoreRules;
use crate::time::{millis, timestamp};

const COLUMNS: [ScoreRules; 6] =
    [ScoreRules::Id, ScoreRules::Owner, ScoreRules::Name, ScoreRules::Kind, ScoreRules::Config, ScoreRules::CreatedAt];

/// A rule that is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewScoreRule {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// What people call it.
    pub name: String,
    /// What kind of rule.
    pub kind: String,
    /// What it needs to know.
    pub config: Json,
}

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRule {
    /// What was kept.
    pub new: NewScoreRule,
    /// When it was made.
    pub created_at: Timestamp,
}

row! {
    /// A rule.
    RuleRow { id: String, owner: String, name: String, kind: String, config: String, created_at: i64 }
}

impl RuleRow {
    fn read(self) -> Result<ScoreRule, StoreError> {
        let config = json::read(&self.config)?;
        let new = NewScoreRule { id: self.id, owner: self.owner, name: self.name, kind: self.kind, config };
        Ok(ScoreRule { new, created_at: timestamp(self.created_at)? })
    }
}

impl Store {
    /// Keeps a rule.
    pub async fn create_score_rule(&self, new: &NewScoreRule, now: Timestamp) -> Result<ScoreRule, StoreError> {
        let insert = Query::insert()
            .into_table(ScoreRules::Table)
            .columns(COLUMNS)
            .values_panic([
                new.id.as_str().into(),
                new.owner.as_str().into(),
                new.name.as_str().into(),
                new.kind.as_str().into(),
                json::text(&new.config)?.into(),
                millis(now).into(),
            ])
            .to_owned();
        self.db.execute(&insert).await?;
        Ok(ScoreRule { new: new.clone(), created_at: timestamp(millis(now))? })
    }

    /// The rule with this id.
    pub async fn score_rule(&self, id: &str) -> Result<Option<ScoreRule>, StoreError> {
        let select = select().and_where(Expr::col(ScoreRules::Id).eq(id)).to_owned();
        self.db.fetch_optional::<RuleRow>(&select).await?.map(RuleRow::read).transpose()
    }

    /// Rules, newest first; of one owner only, if one is named.
    pub async fn score_rules(&self, owner: Option<&str>, page: Page<'_>) -> Result<Listed<ScoreRule>, StoreError> {
        let after = page.key::<(i64, String)>()?.map(|(created_at, id)| {
            Expr::tuple([Expr::col(ScoreRules::CreatedAt), Expr::col(ScoreRules::Id)])
                .lt(Expr::tuple([created_at.into(), id.into()]))
        });
        let select = select()
            .and_where_option(owner.map(|owner| Expr::col(ScoreRules::Owner).eq(owner)))
            .and_where_option(after)
            .order_by(ScoreRules::CreatedAt, Order::Desc)
            .order_by(ScoreRules::Id, Order::Desc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<RuleRow> = self.db.fetch_all(&select).await?;
        let rules = rows.into_iter().map(RuleRow::read).collect::<Result<_, _>>()?;
        page.listed(rules, |one: &ScoreRule| (millis(one.created_at), one.new.id.clone()))
    }

    /// Removes a rule with all that it said; whether there was one.
    pub async fn remove_score_rule(&self, id: &str) -> Result<bool, StoreError> {
        let delete =
            Query::delete().from_table(ScoreRules::Table).and_where(Expr::col(ScoreRules::Id).eq(id)).to_owned();
        Ok(self.db.execute(&delete).await? > 0)
    }
}

fn select() -> SelectStatement {
    Query::select().columns(COLUMNS).from(ScoreRules::Table).to_owned()
}
