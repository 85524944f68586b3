//! Credentials for a service's database, from the service's own environment.

use std::collections::BTreeMap;
use std::fmt;

use super::Database;

/// Credentials of a connection: the most privileged user that is known, in the service's database.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user.
    pub user: String,
    /// The user's password; `None` when none is needed.
    pub password: Option<String>,
    /// The database that is asked; `None` when the server has no default one.
    pub database: Option<String>,
    /// The port inside the sandbox.
    pub port: u16,
}

/// Reason why no user is known.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CredentialsError {
    /// The password is made up by the image or read from a file inside it.
    #[error("the password of `{user}` is not known: set {expected} in the service's `env`")]
    UnknownPassword {
        /// The user.
        user: String,
        /// The variables that would tell.
        expected: &'static str,
    },
}

/// A service's environment, as its container sees it.
pub type Environment = BTreeMap<String, String>;

impl Credentials {
    /// Reads the variables that the official images of Postgres, MySQL and MariaDB understand.
    ///
    /// # Errors
    /// When the environment names no user whose password can be known.
    pub fn from_environment(
        database: Database,
        environment: &Environment,
        port: u16,
    ) -> Result<Self, CredentialsError> {
        match database {
            Database::Postgres => postgres(environment, port),
            Database::MySql => mysql(environment, port),
        }
    }

    /// The user that the images of MySQL and MariaDB make beside the administrator.
    pub(crate) fn of_declared_user(environment: &Environment, port: u16) -> Option<Self> {
        let database = filled(environment, &["MARIADB_DATABASE", "MYSQL_DATABASE"]).map(str::to_owned);
        let (user, password) = declared_user(environment)?;
        Some(Self { user, password, database, port })
    }
}

fn postgres(environment: &Environment, port: u16) -> Result<Credentials, CredentialsError> {
    let user = filled(environment, &["POSTGRES_USER"]).unwrap_or("postgres").to_owned();
    let database = filled(environment, &["POSTGRES_DB"]).unwrap_or(&user).to_owned();
    let password = filled(environment, &["POSTGRES_PASSWORD"]).map(str::to_owned);
    let trusted = environment.get("POSTGRES_HOST_AUTH_METHOD").is_some_and(|method| method == "trust");
    if password.is_none() && !trusted {
        return Err(CredentialsError::UnknownPassword { user, expected: "POSTGRES_PASSWORD" });
    }
    Ok(Credentials { user, password, database: Some(database), port })
}

fn mysql(environment: &Environment, port: u16) -> Result<Credentials, CredentialsError> {
    let database = filled(environment, &["MARIADB_DATABASE", "MYSQL_DATABASE"]).map(str::to_owned);
    let (user, password) = root(environment)
        .or_else(|| declared_user(environment))
        .ok_or(CredentialsError::UnknownPassword { user: "root".to_owned(), expected: "MYSQL_ROOT_PASSWORD" })?;
    Ok(Credentials { user, password, database, port })
}

/// The administrator, unless the image makes its password up.
fn root(environment: &Environment) -> Option<(String, Option<String>)> {
    if filled(environment, &["MARIADB_RANDOM_ROOT_PASSWORD", "MYSQL_RANDOM_ROOT_PASSWORD"]).is_some() {
        return None;
    }
    let empty = ["MARIADB_ALLOW_EMPTY_ROOT_PASSWORD", "MARIADB_ALLOW_EMPTY_PASSWORD", "MYSQL_ALLOW_EMPTY_PASSWORD"];
    match filled(environment, &["MARIADB_ROOT_PASSWORD", "MYSQL_ROOT_PASSWORD"]) {
        Some(password) => Some(("root".to_owned(), Some(password.to_owned()))),
        None => filled(environment, &empty).map(|_| ("root".to_owned(), None)),
    }
}

/// The user that the image makes beside the administrator.
fn declared_user(environment: &Environment) -> Option<(String, Option<String>)> {
    let user = filled(environment, &["MARIADB_USER", "MYSQL_USER"])?;
    let password = filled(environment, &["MARIADB_PASSWORD", "MYSQL_PASSWORD"])?;
    Some((user.to_owned(), Some(password.to_owned())))
}

/// The first of these variables that has a value; to the images an empty one is as good as none.
fn filled<'a>(environment: &'a Environment, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| environment.get(*name).map(String::as_str).filter(|value| !value.is_empty()))
}

impl fmt::Debug for Credentials {
    /// Formats everything but the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "…");
        formatter
            .debug_struct("Credentials")
            .field("user", &self.user)
            .field("password", &password)
            .field("database", &self.database)
            .field("port", &self.port)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads credentials from `variables` (`NAME=value`, separated by blanks) as `user:password@database`.
    fn read(database: Database, variables: &str) -> String {
        let environment = variables
            .split_whitespace()
            .map(|pair| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap())
            .collect();
        match Credentials::from_environment(database, &environment, 1) {
            Ok(found) => format!(
                "{}:{}@{}",
                found.user,
                found.password.unwrap_or("-".to_owned()),
                found.database.unwrap_or("-".to_owned())
            ),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn postgres_defaults_follow_the_official_image() {
        let check = |variables, expected: &str| assert_eq!(read(Database::Postgres, variables), expected);
        check("POSTGRES_PASSWORD=x", "postgres:x@postgres");
        check("POSTGRES_PASSWORD=x POSTGRES_USER=app", "app:x@app");
        check("POSTGRES_PASSWORD=x POSTGRES_USER=app POSTGRES_DB=shop", "app:x@shop");
        check("POSTGRES_HOST_AUTH_METHOD=trust POSTGRES_USER=", "postgres:-@postgres");
        check("", "the password of `postgres` is not known: set POSTGRES_PASSWORD in the service's `env`");
    }

    #[test]
    fn mysql_takes_root_where_its_password_is_known() {
        let check = |variables, expected: &str| assert_eq!(read(Database::MySql, variables), expected);
        check("MYSQL_ROOT_PASSWORD=r MYSQL_USER=app MYSQL_PASSWORD=x MYSQL_DATABASE=shop", "root:r@shop");
        check("MARIADB_ROOT_PASSWORD=r MARIADB_DATABASE=shop", "root:r@shop");
        check("MYSQL_ALLOW_EMPTY_PASSWORD=1", "root:-@-");
        check("MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=yes", "root:-@-");
        check(
            "MYSQL_RANDOM_ROOT_PASSWORD=1 MYSQL_ROOT_PASSWORD=r MYSQL_USER=app MYSQL_PASSWORD=x MYSQL_DATABASE=d",
            "app:x@d",
        );
        check("MYSQL_USER=app MYSQL_PASSWORD=x", "app:x@-");
        check(
            "MYSQL_RANDOM_ROOT_PASSWORD=1",
            "the password of `root` is not known: set MYSQL_ROOT_PASSWORD in the service's `env`",
        );
    }

    #[test]
    fn a_password_is_not_in_debug_output() {
        let credentials =
            Credentials { user: "app".to_owned(), password: Some("geheim".to_owned()), database: None, port: 1 };
        assert!(!format!("{credentials:?}").contains("geheim"));
    }
}
