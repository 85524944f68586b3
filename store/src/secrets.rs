//! Values that nobody may see. What is kept is sealed: see [`crate::MasterKey`].

use sea_query::{Expr, ExprTrait as _, OnConflict, Order, Query};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::ExperimentId;
use crate::tables::{ExperimentSecrets, Secrets};

row! {
    /// A sealed value.
    SealedRow { sealed: Vec<u8> }
}

row! {
    /// The name of a secret.
    NameRow { name: String }
}

impl Store {
    /// Keeps a sealed value, instead of the one of that name.
    pub async fn put_secret(&self, owner: &str, name: &str, sealed: &[u8]) -> Result<(), StoreError> {
        let insert = Query::insert()
            .into_table(Secrets::Table)
            .columns([Secrets::Owner, Secrets::Name, Secrets::Sealed])
            .values_panic([owner.into(), name.into(), sealed.to_vec().into()])
            .on_conflict(OnConflict::columns([Secrets::Owner, Secrets::Name]).update_column(Secrets::Sealed).to_owned())
            .to_owned();
        self.db.execute(&insert).await?;
        Ok(())
    }

    /// An owner's sealed value.
    pub async fn secret(&self, owner: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let select = Query::select()
            .column(Secrets::Sealed)
            .from(Secrets::Table)
            .and_where(Expr::col(Secrets::Owner).eq(owner))
            .and_where(Expr::col(Secrets::Name).eq(name))
            .to_owned();
        Ok(self.db.fetch_optional::<SealedRow>(&select).await?.map(|row| row.sealed))
    }

    /// The names of an owner's secrets, sorted.
    pub async fn secret_names(&self, owner: &str) -> Result<Vec<String>, StoreError> {
        let select = Query::select()
            .column(Secrets::Name)
            .from(Secrets::Table)
            .and_where(Expr::col(Secrets::Owner).eq(owner))
            .order_by(Secrets::Name, Order::Asc)
            .to_owned();
        let rows: Vec<NameRow> = self.db.fetch_all(&select).await?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }

    /// Removes a secret; whether there was one.
    pub async fn remove_secret(&self, owner: &str, name: &str) -> Result<bool, StoreError> {
        let delete = Query::delete()
            .from_table(Secrets::Table)
            .and_where(Expr::col(Secrets::Owner).eq(owner))
            .and_where(Expr::col(Secrets::Name).eq(name))
            .to_owned();
        Ok(self.db.execute(&delete).await? > 0)
    }

    /// The sealed secrets with which an experiment was submitted.
    pub async fn experiment_secrets(&self, experiment: ExperimentId) -> Result<Option<Vec<u8>>, StoreError> {
        let select = Query::select()
            .column(ExperimentSecrets::Sealed)
            .from(ExperimentSecrets::Table)
            .and_where(Expr::col(ExperimentSecrets::Experiment).eq(experiment.to_string()))
            .to_owned();
        Ok(self.db.fetch_optional::<SealedRow>(&select).await?.map(|row| row.sealed))
    }
}
