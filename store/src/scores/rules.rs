//! Rules by which scenarios are scored afterwards.

use jiff::Timestamp;
use sea_query::Expr;
use serde_json::Value as Json;

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::json;
use crate::owned::Owned;
use crate::page::{Listed, Page};
use crate::tables::ScoreRules;
use crate::time::timestamp;

/// A rule that is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewScoreRule {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Its name, for people.
    pub name: String,
    /// The kind of rule.
    pub kind: String,
    /// Its configuration.
    pub config: Json,
}

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRule {
    /// The stored content.
    pub new: NewScoreRule,
    /// When it was made.
    pub created_at: Timestamp,
}

row! {
    /// A rule.
    pub(crate) RuleRow { id: String, owner: String, name: String, kind: String, config: String, created_at: i64 }
}

impl Owned for ScoreRule {
    type New = NewScoreRule;
    type Row = RuleRow;
    type Column = ScoreRules;

    const TABLE: ScoreRules = ScoreRules::Table;
    const ID: ScoreRules = ScoreRules::Id;
    const OWNER: ScoreRules = ScoreRules::Owner;
    const CREATED_AT: ScoreRules = ScoreRules::CreatedAt;
    const COLUMNS: &'static [ScoreRules] =
        &[ScoreRules::Id, ScoreRules::Owner, ScoreRules::Name, ScoreRules::Kind, ScoreRules::Config];

    fn values(new: &NewScoreRule) -> Result<Vec<Expr>, StoreError> {
        Ok(vec![
            new.id.as_str().into(),
            new.owner.as_str().into(),
            new.name.as_str().into(),
            new.kind.as_str().into(),
            json::text(&new.config)?.into(),
        ])
    }

    fn made(new: &NewScoreRule, created_at: Timestamp) -> Self {
        Self { new: new.clone(), created_at }
    }

    fn read(row: RuleRow) -> Result<Self, StoreError> {
        let config = json::read(&row.config)?;
        let new = NewScoreRule { id: row.id, owner: row.owner, name: row.name, kind: row.kind, config };
        Ok(Self { new, created_at: timestamp(row.created_at)? })
    }

    fn place(&self) -> (Timestamp, &str) {
        (self.created_at, &self.new.id)
    }
}

impl Store {
    /// Keeps a rule.
    pub async fn create_score_rule(&self, new: &NewScoreRule, now: Timestamp) -> Result<ScoreRule, StoreError> {
        self.make_owned(new, now).await
    }

    /// The rule with this id.
    pub async fn score_rule(&self, id: &str) -> Result<Option<ScoreRule>, StoreError> {
        self.owned(id).await
    }

    /// Rules, newest first; of one owner only, if one is named.
    pub async fn score_rules(&self, owner: Option<&str>, page: Page<'_>) -> Result<Listed<ScoreRule>, StoreError> {
        self.list_owned(owner, page).await
    }

    /// Removes a rule with all that it said; whether there was one.
    pub async fn remove_score_rule(&self, id: &str) -> Result<bool, StoreError> {
        self.remove_owned::<ScoreRule>(id).await
    }
}
