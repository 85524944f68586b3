//! Things that people make and own: alert rules, score rules, datasets. Each kind has a table of its own, with an id, an owner
//! and the time when it was made; how they are kept, found, listed and removed is the same.
//!
//! To add a kind: implement [`Owned`] for it, and give [`Store`] its four verbs.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Iden, Order, Query, SelectStatement};

use crate::Store;
use crate::db::Row;
use crate::error::StoreError;
use crate::page::{Listed, Page};
use crate::time::{millis, timestamp};

/// A kind of thing that people own, and its table.
pub(crate) trait Owned: Sized {
    /// A thing that is to be kept.
    type New;
    /// A row of its table.
    type Row: Row;
    /// The names of its table and columns.
    type Column: Iden + Copy + 'static;

    /// Its table.
    const TABLE: Self::Column;
    /// The column with its id.
    const ID: Self::Column;
    /// The column with its owner.
    const OWNER: Self::Column;
    /// The column with the time when it was made.
    const CREATED_AT: Self::Column;
    /// The columns that are read and written, besides [`Owned::CREATED_AT`].
    const COLUMNS: &'static [Self::Column];

    /// The values of [`Owned::COLUMNS`].
    fn values(new: &Self::New) -> Result<Vec<Expr>, StoreError>;

    /// A thing that was made at this time.
    fn made(new: &Self::New, created_at: Timestamp) -> Self;

    /// The thing in a row.
    fn read(row: Self::Row) -> Result<Self, StoreError>;

    /// When it was made, and its id: lists are in this order, newest first.
    fn place(&self) -> (Timestamp, &str);
}

impl Store {
    /// Keeps a thing.
    pub(crate) async fn make_owned<T: Owned>(&self, new: &T::New, now: Timestamp) -> Result<T, StoreError> {
        let mut values = T::values(new)?;
        values.push(millis(now).into());
        let insert = Query::insert().into_table(T::TABLE).columns(columns::<T>()).values_panic(values).to_owned();
        self.db.execute(&insert).await?;
        Ok(T::made(new, timestamp(millis(now))?))
    }

    /// The thing with this id.
    pub(crate) async fn owned<T: Owned>(&self, id: &str) -> Result<Option<T>, StoreError> {
        let select = select::<T>().and_where(Expr::col(T::ID).eq(id)).to_owned();
        self.db.fetch_optional::<T::Row>(&select).await?.map(T::read).transpose()
    }

    /// Things, newest first; of one owner only, if one is named.
    pub(crate) async fn list_owned<T: Owned>(
        &self,
        owner: Option<&str>,
        page: Page<'_>,
    ) -> Result<Listed<T>, StoreError> {
        let after = page.key::<(i64, String)>()?.map(|(created_at, id)| {
            Expr::tuple([Expr::col(T::CREATED_AT), Expr::col(T::ID)]).lt(Expr::tuple([created_at.into(), id.into()]))
        });
        let select = select::<T>()
            .and_where_option(owner.map(|owner| Expr::col(T::OWNER).eq(owner)))
            .and_where_option(after)
            .order_by(T::CREATED_AT, Order::Desc)
            .order_by(T::ID, Order::Desc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<T::Row> = self.db.fetch_all(&select).await?;
        let things = rows.into_iter().map(T::read).collect::<Result<_, _>>()?;
        page.listed(things, |one: &T| {
            let (created_at, id) = one.place();
            (millis(created_at), id.to_owned())
        })
    }

    /// Removes a thing with all that belongs to it; whether there was one.
    pub(crate) async fn remove_owned<T: Owned>(&self, id: &str) -> Result<bool, StoreError> {
        let delete = Query::delete().from_table(T::TABLE).and_where(Expr::col(T::ID).eq(id)).to_owned();
        Ok(self.db.execute(&delete).await? > 0)
    }
}

fn columns<T: Owned>() -> impl Iterator<Item = T::Column> {
    T::COLUMNS.iter().copied().chain([T::CREATED_AT])
}

fn select<T: Owned>() -> SelectStatement {
    Query::select().columns(columns::<T>()).from(T::TABLE).to_owned()
}
