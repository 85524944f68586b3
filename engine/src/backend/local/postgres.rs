//! Starts Postgres without its script: the server is started on a template of its data, and gets over SQL what the
//! environment asks for. That is quicker, because nothing is copied and the server starts once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::programs::InstalledProgram;
use super::service::ProgramOutput;
use crate::backend::ServiceRequest;
use crate::database::{CONNECT_LIMIT, Client, Credentials, Database, DatabaseError, ThroughDoor};
use crate::door::Door;
use crate::error::EngineError;

/// Port of a server when nobody changed it.
const PORT: u16 = 5432;
/// First user of a new server.
const FIRST_USER: &str = "postgres";
/// Timeout until the server answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two tries to connect.
const PAUSE: Duration = Duration::from_millis(3);
/// Variables of the image's script that are understood here.
const UNDERSTOOD: [&str; 3] = ["POSTGRES_PASSWORD", "POSTGRES_USER", "POSTGRES_DB"];
/// Settings that change how the server is reached.
const CHANGES_ACCESS: [&str; 6] =
    ["port", "listen_addresses", "hba_file", "data_directory", "config_file", "password_encryption"];

/// Fast start of a server, without the script of its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quick {
    /// The server and its options.
    pub(super) words: Vec<String>,
    statements: Vec<String>,
}

impl Quick {
    /// Plans the fast start; `None` when something is asked for that only the script does.
    pub(super) fn of(found: &InstalledProgram, service: &ServiceRequest) -> Option<Self> {
        let words = service.command.clone().unwrap_or_else(|| vec![found.program.program.to_owned()]);
        let is_special = |name: &String| {
            (name.starts_with("POSTGRES_") || name.starts_with("PG")) && !UNDERSTOOD.contains(&name.as_str())
        };
        let fits = found.program.program == "postgres"
            && words.first().is_some_and(|word| word == "postgres")
            && options_are_plain(&words[1..])
            && !service.environment.keys().any(is_special);
        // Without a password, the script says what is wrong.
        fits.then(|| statements(&service.environment)).flatten().map(|statements| Self { words, statements })
    }

    /// Waits for the server, and makes it what the environment asks for. A server that ends is left for others to find.
    pub(super) async fn finish(
        &self,
        name: &str,
        network: &Door,
        password: String,
        said: &ProgramOutput,
    ) -> Result<(), EngineError> {
        let not_ready = |reason: String| EngineError::ServiceNotReady {
            service: name.to_owned(),
            reason: format!("it cannot be prepared: {reason}"),
            output: String::new(),
        };
        let Some(mut client) = connect(network, password, said).await.map_err(|error| not_ready(error.to_string()))?
        else {
            return Ok(());
        };
        let mut connection = client.take().await.map_err(|error| not_ready(error.to_string()))?;
        for statement in &self.statements {
            connection.execute(statement).await.map_err(|error| not_ready(error.to_string()))?;
        }
        Ok(())
    }
}

/// Connects as the first user; `None` when the server has ended.
async fn connect(network: &Door, password: String, said: &ProgramOutput) -> Result<Option<Client>, DatabaseError> {
    let credentials = Credentials {
        user: FIRST_USER.to_owned(),
        password: Some(password),
        database: Some(FIRST_USER.to_owned()),
        port: PORT,
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let dial = Arc::new(ThroughDoor(network.clone()));
        match Client::connect(Database::Postgres, credentials.clone(), dial, CONNECT_LIMIT).await {
            Ok(client) => return Ok(Some(client)),
            Err(_) if said.has_ended() => return Ok(None),
            Err(DatabaseError::Unreachable { .. }) if Instant::now() < deadline => sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

/// Returns true if options are settings that do not change how the server is reached.
fn options_are_plain(options: &[String]) -> bool {
    options.chunks(2).all(|pair| match pair {
        [flag, setting] if flag == "-c" => {
            setting.split_once('=').is_some_and(|(name, _)| !CHANGES_ACCESS.contains(&name.trim()))
        }
        _ => false,
    })
}

/// Returns the statements that the script of the image would run; `None` without a password.
fn statements(environment: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let given = |name: &str| environment.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let password = given("POSTGRES_PASSWORD")?;
    let user = given("POSTGRES_USER").unwrap_or(FIRST_USER);
    let database = given("POSTGRES_DB").unwrap_or(user);
    let mut statements = Vec::new();
    if database != FIRST_USER {
        statements.push(format!("CREATE DATABASE {}", identifier(database)));
    }
    if user != FIRST_USER {
        statements.push(format!("UPDATE pg_authid SET rolname = {} WHERE oid = 10", literal(user)));
    }
    statements.push(format!("ALTER ROLE {} PASSWORD {}", identifier(user), literal(password)));
    Some(statements)
}

fn literal(text: &str) -> String {
    // A backslash is one only where it is said to be.
    let quoted = text.replace('\\', "\\\\").replace('\'', "''");
    if text.contains('\\') { format!("E'{quoted}'") } else { format!("'{quoted}'") }
}

fn identifier(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{options_are_plain, statements};

    fn told(pairs: &[(&str, &str)]) -> Option<Vec<String>> {
        let environment: BTreeMap<_, _> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        statements(&environment)
    }

    #[test]
    fn the_server_is_told_what_the_environment_asks_for() {
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[("POSTGRES_PASSWORD", "")]), None);
        let only = told(&[("POSTGRES_PASSWORD", "a'b\\c")]).unwrap();
        assert_eq!(only, [r#"ALTER ROLE "postgres" PASSWORD E'a''b\\c'"#]);
        let all = told(&[("POSTGRES_PASSWORD", "x"), ("POSTGRES_USER", "o\"p"), ("POSTGRES_DB", "shop")]).unwrap();
        let expected = [
            r#"CREATE DATABASE "shop""#,
            r#"UPDATE pg_authid SET rolname = 'o"p' WHERE oid = 10"#,
            r#"ALTER ROLE "o""p" PASSWORD 'x'"#,
        ];
        assert_eq!(all, expected);
        let named = told(&[("POSTGRES_PASSWORD", "x"), ("POSTGRES_USER", "shop")]).unwrap();
        assert_eq!(named[0], r#"CREATE DATABASE "shop""#, "the database is named like the user");
    }

    #[test]
    fn options_that_change_how_it_is_reached_are_for_the_script() {
        let plain = |text: &str| options_are_plain(&text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>());
        assert!(plain("") && plain("-c max_connections=20 -c shared_buffers=8MB"));
        for special in ["-p 6000", "-c port=6000", "--port=6000", "-c", "-c hba_file=/x", "-N 20"] {
            assert!(!plain(special), "{special}");
        }
    }
}
