//! The identity of a database: an id of its own, and the instance that holds it.

use sea_query::{Expr, Query};

use super::{Db, row};
use crate::error::StoreError;

/// The server of a Postgres database, and the database's number there.
const SERVER: &str = "(SELECT system_identifier FROM pg_control_system())::text || '/' || \
                      (SELECT oid FROM pg_database WHERE datname = current_database())::text";
/// The same where the server does not tell who it is.
const UNNAMED_SERVER: &str = "'server/' || (SELECT oid FROM pg_database WHERE datname = current_database())::text";
/// The codes with which Postgres says that a function may not be used, or that there is none.
const REFUSED: [&str; 2] = ["42501", "42883"];

row! {
    /// A text.
    TextRow { value: String }
}

impl Db {
    /// A text that no other database has.
    pub(crate) async fn random_id(&self) -> Result<String, StoreError> {
        match self {
            Self::Sqlite { .. } => self.ask("lower(hex(randomblob(16)))").await,
            Self::Postgres { .. } => self.ask("gen_random_uuid()::text").await,
        }
    }

    /// The instance that holds the database: its file, or its server and its number there. A copy has another one.
    pub(crate) async fn instance(&self) -> Result<String, StoreError> {
        match self {
            Self::Sqlite { .. } => self.ask("(SELECT file FROM pragma_database_list WHERE name = 'main')").await,
            Self::Postgres { .. } => match self.ask(SERVER).await {
                Err(StoreError::Database(error)) if is_refused(&error) => self.ask(UNNAMED_SERVER).await,
                said => said,
            },
        }
    }

    async fn ask(&self, question: &'static str) -> Result<String, StoreError> {
        let select = Query::select().expr_as(Expr::cust(question), "value").to_owned();
        let silent = || StoreError::Damaged("the database says nothing about itself".to_owned());
        Ok(self.fetch_optional::<TextRow>(&select).await?.ok_or_else(silent)?.value)
    }
}

fn is_refused(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| REFUSED.contains(&code.as_ref()))
}
