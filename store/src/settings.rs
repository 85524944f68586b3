//! Single values that belong to the whole database.

use sea_query::{Expr, ExprTrait as _, InsertStatement, OnConflict, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::tables::Settings;

row! {
    /// A value.
    ValueRow { value: String }
}

row! {
    /// The name of a value.
    NameRow { name: String }
}

/// The setting with the machine that uses a file.
const MACHINE: &str = "machine";

impl Store {
    /// Refuses a SQLite file that another machine uses: only the processes of one machine can share it. The first machine that
    /// opens the file becomes its own. A machine's name stays the same when it is started again.
    pub async fn require_same_machine(&self, machine: &str) -> Result<(), StoreError> {
        if !self.db.is_file() {
            return Ok(());
        }
        // Read first: a full or read-only disk must not keep anybody from looking.
        let owner = match self.setting(MACHINE).await? {
            Some(owner) => owner,
            // Who cannot write the mark cannot harm the file either.
            None => self.set_setting_once(MACHINE, machine).await.unwrap_or_else(|_| machine.to_owned()),
        };
        if owner == machine {
            return Ok(());
        }
        Err(StoreError::OtherMachine { path: self.db.instance().await?, owner, own: machine.to_owned() })
    }

    /// Makes a SQLite file this machine's own, and returns the machine that used it. Only for a file that was moved or copied
    /// here, and that no other machine uses.
    pub async fn move_to_machine(&self, machine: &str) -> Result<Option<String>, StoreError> {
        if !self.db.is_file() {
            return Err(StoreError::Conflict(
                "a Postgres database is for all machines: there is nothing to adopt".to_owned(),
            ));
        }
        let before = self.setting(MACHINE).await?;
        self.set_setting(MACHINE, machine).await?;
        Ok(before)
    }

    /// The value with this name.
    pub async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let select = Query::select()
            .column(Settings::Value)
            .from(Settings::Table)
            .and_where(Expr::col(Settings::Name).eq(name))
            .to_owned();
        Ok(self.db.fetch_optional::<ValueRow>(&select).await?.map(|row| row.value))
    }

    /// Keeps a value, instead of the one that is there.
    pub async fn set_setting(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.db.execute(&insert_setting(name, value)).await?;
        Ok(())
    }

    /// The names of values that begin like this.
    pub(crate) async fn settings_like(&self, beginning: &str) -> Result<Vec<String>, StoreError> {
        let select = Query::select()
            .column(Settings::Name)
            .from(Settings::Table)
            .order_by(Settings::Name, Order::Asc)
            .to_owned();
        let rows: Vec<NameRow> = self.db.fetch_all(&select).await?;
        Ok(rows.into_iter().map(|row| row.name).filter(|name| name.starts_with(beginning)).collect())
    }

    /// Forgets a value.
    pub(crate) async fn forget_setting(&self, name: &str) -> Result<(), StoreError> {
        let delete =
            Query::delete().from_table(Settings::Table).and_where(Expr::col(Settings::Name).eq(name)).to_owned();
        self.db.execute(&delete).await?;
        Ok(())
    }

    /// Keeps a value unless there is one; the one that is kept.
    pub async fn set_setting_once(&self, name: &str, value: &str) -> Result<String, StoreError> {
        let insert = Query::insert()
            .into_table(Settings::Table)
            .columns([Settings::Name, Settings::Value])
            .values_panic([name.into(), value.into()])
            .on_conflict(OnConflict::column(Settings::Name).do_nothing().to_owned())
            .to_owned();
        self.db.execute(&insert).await?;
        let missing = || StoreError::Damaged(format!("the setting `{name}` was removed"));
        self.setting(name).await?.ok_or_else(missing)
    }
}

/// Keeps a value, instead of the one that is there.
pub(crate) fn insert_setting(name: &str, value: &str) -> InsertStatement {
    Query::insert()
        .into_table(Settings::Table)
        .columns([Settings::Name, Settings::Value])
        .values_panic([name.into(), value.into()])
        .on_conflict(OnConflict::column(Settings::Name).update_column(Settings::Value).to_owned())
        .to_owned()
}
