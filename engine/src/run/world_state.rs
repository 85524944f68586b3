//! Answers what rules of tool contracts ask about the world before a call: its databases, its files, its mocks.
//!
//! Questions change nothing, and are no doing of the agent: databases are asked over connections of our own, around the
//! recorder of the agent's writes, and files are read by the doorkeeper.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use gateways::contract_session::WorldReader;
use gateways::http_mock::HttpMocks;
use rustix::io::Errno;
use scenario::evidence::Datum;
use serde_json::Value as Json;
use tool_contracts::{Question, StateAnswer};

use crate::backend::WORKSPACE;
use crate::database::activity::Target;
use crate::database::{Client, ColumnError, SessionSettings};
use crate::door::{Door, DoorError};
use crate::services::LiveService;
use crate::world::World;

/// The longest time for one answer. Other calls wait meanwhile.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The largest file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads the state of a sandbox and its services. It is made before they are, and opened when all of them are there.
#[derive(Debug, Default)]
pub(crate) struct SandboxReader {
    parts: OnceLock<Parts>,
}

#[derive(Debug)]
struct Parts {
    door: Door,
    databases: BTreeMap<String, ReadDatabase>,
    /// The mocks know the session that asks, so that they are not kept alive from here.
    mocks: Weak<HttpMocks>,
}

/// A database that is asked.
#[derive(Debug)]
struct ReadDatabase {
    target: Target,
    /// The settings of its sessions before the agent started.
    settings: Option<SessionSettings>,
}

impl SandboxReader {
    /// Begins to answer, now that the world was built and looked at.
    pub(crate) fn open(&self, world: &World, mocks: &Arc<HttpMocks>) {
        let database = |(name, live): (&String, &LiveService)| {
            let settings = world.before.activity.get(name).map(|known| known.settings.clone());
            Some((name.clone(), ReadDatabase { target: live.target()?, settings }))
        };
        let databases = world.services.iter().filter_map(database).collect();
        let parts = Parts { door: world.sandbox.door().clone(), databases, mocks: Arc::downgrade(mocks) };
        // A world is built once.
        let _ = self.parts.set(parts);
    }
}

#[async_trait]
impl WorldReader for SandboxReader {
    async fn read(&self, question: &Question) -> StateAnswer {
        let Some(parts) = self.parts.get() else { return unavailable("the sandbox is not ready") };
        match tokio::time::timeout(ANSWER_LIMIT, parts.read(question)).await {
            Ok(answer) => answer,
            Err(_) => unavailable(format!("there was no answer within {} s", ANSWER_LIMIT.as_secs())),
        }
    }
}

impl Parts {
    async fn read(&self, question: &Question) -> StateAnswer {
        match question {
            Question::Sql { service, statement } => self.read_rows(service, statement).await,
            Question::File { path } => self.read_file(path).await,
            Question::Mock { service, path } => self.count_requests(service, path.as_deref()),
        }
    }

    async fn read_rows(&self, service: &str, statement: &str) -> StateAnswer {
        let Some(database) = self.databases.get(service) else {
            return unavailable(format!("`{service}` is no database whose user and password are known"));
        };
        match database.first_column(statement).await {
            Ok(column) => StateAnswer::Rows(column.iter().map(to_json).collect()),
            Err(error) => unavailable(error.to_string()),
        }
    }

    async fn read_file(&self, path: &str) -> StateAnswer {
        match self.door.read(WORKSPACE, path.as_bytes(), MAX_FILE_BYTES + 1).await {
            Ok(content) if content.len() as u64 > MAX_FILE_BYTES => {
                unavailable(format!("the file `{path}` is larger than {MAX_FILE_BYTES} bytes"))
            }
            Ok(content) => StateAnswer::File(Some(String::from_utf8_lossy(&content).into_owned())),
            Err(error) if is_absent(&error) => StateAnswer::File(None),
            Err(error) => unavailable(error.to_string()),
        }
    }

    fn count_requests(&self, service: &str, path: Option<&str>) -> StateAnswer {
        let Some(mocks) = self.mocks.upgrade() else { return unavailable("the mocks have ended") };
        mocks.request_count(service, path).map_or_else(|error| unavailable(error.to_string()), StateAnswer::Count)
    }
}

impl ReadDatabase {
    async fn first_column(&self, statement: &str) -> Result<Vec<Datum>, ColumnError> {
        let Target { database, credentials, dial } = self.target.clone();
        let mut client = Client::connect_with(database, credentials, self.settings.clone(), dial, ANSWER_LIMIT).await?;
        client.first_column(statement, ANSWER_LIMIT).await
    }
}

fn unavailable(reason: impl Into<String>) -> StateAnswer {
    StateAnswer::Unavailable(reason.into())
}

/// Returns true if nothing is there: a step of the path is missing or is no folder. A path that leads out of the
/// workspace is not absent: nobody can tell what is there.
fn is_absent(error: &DoorError) -> bool {
    let absent = [Errno::NOENT, Errno::NOTDIR, Errno::NAMETOOLONG];
    error.errno().is_some_and(|errno| absent.contains(&errno))
}

/// A value as JSON. A number that JSON would round stays the server's text.
fn to_json(datum: &Datum) -> Json {
    match datum {
        Datum::Null => Json::Null,
        Datum::Bool(value) => (*value).into(),
        Datum::Number(number) => {
            let json = number.to_json();
            if Datum::from_json(&json) == *datum { json } else { number.text().into() }
        }
        Datum::Text(text) => text.as_str().into(),
        Datum::Json(json) => json.clone(),
    }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::Datum;
    use scenario::number::Number;
    use serde_json::{Value as Json, json};

    use super::to_json;

    #[test]
    fn numbers_keep_every_digit() {
        let check = |text: &str, expected: Json| {
            assert_eq!(to_json(&Datum::Number(Number::parse(text).expect("a number"))), expected);
        };
        check("25", json!(25));
        check("25.00", json!(25));
        check("0.5", json!(0.5));
        check("12345678901234567890123", json!("12345678901234567890123"));
        check("0.12345678901234567890123", json!("0.12345678901234567890123"));
    }
}
