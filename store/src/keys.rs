//! Keys of the API: who may ask for what. The text of a key is known to its holder only; its hash is kept.

use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::number;
use crate::tables::ApiKeys;
use crate::time::{millis, timestamp};

/// The shortest interval between two recorded uses.
const SELDOM: Duration = Duration::from_secs(60);

/// The permissions of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everything, of all owners.
    Admin,
    /// Reading and changing what its owner has.
    Submit,
    /// Reading what its owner has.
    Read,
    /// One sandbox only.
    Sandbox,
}

impl Scope {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Submit => "submit",
            Self::Read => "read",
            Self::Sandbox => "sandbox",
        }
    }
}

impl FromStr for Scope {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        [Self::Admin, Self::Submit, Self::Read, Self::Sandbox]
            .into_iter()
            .find(|scope| scope.word() == text)
            .ok_or_else(|| StoreError::Invalid(format!("`{text}` is no scope: admin, submit, read or sandbox")))
    }
}

/// A key that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Its id, by which people name it.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Its name, for people.
    pub name: String,
    /// Its permissions.
    pub scope: Scope,
    /// The hash of its text.
    pub hash: String,
    /// The one sandbox that it is for.
    pub sandbox: Option<String>,
}

/// A key that is kept, without its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Its name, for people.
    pub name: String,
    /// Its permissions.
    pub scope: Scope,
    /// The one sandbox that it is for.
    pub sandbox: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was used last, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// Since when it allows nothing any more.
    pub revoked_at: Option<Timestamp>,
}

row! {
    /// A key.
    KeyRow {
        id: String,
        owner: String,
        name: String,
        scope: String,
        sandbox: Option<String>,
        created_at: i64,
        last_used_at: Option<i64>,
        revoked_at: Option<i64>,
    }
}

row! {
    /// A count of keys.
    CountRow { keys: i64 }
}

impl KeyRow {
    fn read(self) -> Result<ApiKey, StoreError> {
        Ok(ApiKey {
            id: self.id,
            owner: self.owner,
            name: self.name,
            scope: self.scope.parse().map_err(StoreError::damaged)?,
            sandbox: self.sandbox,
            created_at: timestamp(self.created_at)?,
            last_used_at: self.last_used_at.map(timestamp).transpose()?,
            revoked_at: self.revoked_at.map(timestamp).transpose()?,
        })
    }
}

impl Store {
    /// Keeps a key.
    pub async fn create_key(&self, key: &NewKey, now: Timestamp) -> Result<(), StoreError> {
        let insert = Query::insert()
            .into_table(ApiKeys::Table)
            .columns([
                ApiKeys::Id,
                ApiKeys::Owner,
                ApiKeys::Name,
                ApiKeys::Scope,
                ApiKeys::Hash,
                ApiKeys::Sandbox,
                ApiKeys::CreatedAt,
            ])
            .values_panic([
                key.id.as_str().into(),
                key.owner.as_str().into(),
                key.name.as_str().into(),
                key.scope.word().into(),
                key.hash.as_str().into(),
                key.sandbox.clone().into(),
                millis(now).into(),
            ])
            .to_owned();
        self.db.execute(&insert).await?;
        Ok(())
    }

    /// The key whose text has this hash, unless it was revoked.
    pub async fn key_by_hash(&self, hash: &str) -> Result<Option<ApiKey>, StoreError> {
        let select = select()
            .and_where(Expr::col(ApiKeys::Hash).eq(hash))
            .and_where(Expr::col(ApiKeys::RevokedAt).is_null())
            .to_owned();
        self.db.fetch_optional::<KeyRow>(&select).await?.map(KeyRow::read).transpose()
    }

    /// All keys of people, oldest first, those that were revoked too; of one owner only, if one is named.
    pub async fn keys(&self, owner: Option<&str>) -> Result<Vec<ApiKey>, StoreError> {
        let select = select()
            .and_where(Expr::col(ApiKeys::Sandbox).is_null())
            .and_where_option(owner.map(|owner| Expr::col(ApiKeys::Owner).eq(owner)))
            .order_by(ApiKeys::CreatedAt, Order::Asc)
            .order_by(ApiKeys::Id, Order::Asc)
            .to_owned();
        let rows: Vec<KeyRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(KeyRow::read).collect()
    }

    /// Revokes a key; whether it allowed anything until now.
    pub async fn revoke_key(&self, id: &str, now: Timestamp) -> Result<bool, StoreError> {
        let update = Query::update()
            .table(ApiKeys::Table)
            .value(ApiKeys::RevokedAt, millis(now))
            .and_where(Expr::col(ApiKeys::Id).eq(id))
            .and_where(Expr::col(ApiKeys::RevokedAt).is_null())
            .to_owned();
        Ok(self.db.execute(&update).await? > 0)
    }

    /// Writes down that a key was used, at most once a minute.
    pub async fn touch_key(&self, key: &ApiKey, now: Timestamp) -> Result<(), StoreError> {
        let before = millis(now).saturating_sub(number::kept(SELDOM.as_millis()));
        if key.last_used_at.is_some_and(|last| millis(last) > before) {
            return Ok(());
        }
        let used = Expr::col(ApiKeys::LastUsedAt);
        let update = Query::update()
            .table(ApiKeys::Table)
            .value(ApiKeys::LastUsedAt, millis(now))
            .and_where(Expr::col(ApiKeys::Id).eq(key.id.as_str()))
            .and_where(used.clone().is_null().or(used.lte(before)))
            .to_owned();
        self.db.execute(&update).await?;
        Ok(())
    }

    /// Counts the keys of people that were not revoked.
    pub async fn count_keys(&self) -> Result<u64, StoreError> {
        let select = Query::select()
            .expr_as(Expr::col(ApiKeys::Id).count(), "keys")
            .from(ApiKeys::Table)
            .and_where(Expr::col(ApiKeys::Sandbox).is_null())
            .and_where(Expr::col(ApiKeys::RevokedAt).is_null())
            .to_owned();
        number::read(self.db.fetch_optional::<CountRow>(&select).await?.map_or(0, |row| row.keys))
    }
}

fn select() -> SelectStatement {
    Query::select()
        .columns([
            ApiKeys::Id,
            ApiKeys::Owner,
            ApiKeys::Name,
            ApiKeys::Scope,
            ApiKeys::Sandbox,
            ApiKeys::CreatedAt,
            ApiKeys::LastUsedAt,
            ApiKeys::RevokedAt,
        ])
        .from(ApiKeys::Table)
        .to_owned()
}
