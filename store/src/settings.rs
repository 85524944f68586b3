//! Single values that belong to the whole database.

use sea_query::{Expr, ExprTrait as _, OnConflict, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::tables::Settings;

row! {
    /// A value.
    ValueRow { value: String }
}

/// The setting with the machine that uses a file.
const MACHINE: &str = "machine";

impl Store {
    /// Refuses a file that another machine uses: it can be shared by the processes of one machine only. A machine has a name
    /// that stays the same when it is started again.
    pub async fn require_same_machine(&self, machine: &str) -> Result<(), StoreError> {
        if !self.db.is_file() || self.set_setting_once(MACHINE, machine).await? == machine {
            return Ok(());
        }
        Err(StoreError::Conflict(
            "this database is a file of another machine, and a file can be used by one machine only: more machines need Postgres (`--database-url postgres://…`)"
                .to_owned(),
        ))
    }

    /// Makes a file this machine's own. Only for one that was moved or copied here, and that no other machine uses.
    pub async fn move_to_machine(&self, machine: &str) -> Result<(), StoreError> {
        self.set_setting(MACHINE, machine).await
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
        let insert = Query::insert()
            .into_table(Settings::Table)
            .columns([Settings::Name, Settings::Value])
            .values_panic([name.into(), value.into()])
            .on_conflict(OnConflict::column(Settings::Name).update_column(Settings::Value).to_owned())
            .to_owned();
        self.db.execute(&insert).await?;
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
