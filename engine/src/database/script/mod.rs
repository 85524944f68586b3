//! Running a script of SQL, statement by statement, so that an error can name its line.

mod split;

use std::time::Duration;

pub use split::ClientInstruction;
use split::{Statement, line_at, split};

use super::column::ColumnError;
use super::{Client, Database, DatabaseError, Refusal, within};

/// Length of a failed statement in an error.
const SHOWN_CHARACTERS: usize = 80;

/// A script that stopped.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ScriptError {
    /// The line of the script, from 1.
    pub line: usize,
    /// Beginning of the statement; empty when it was not reached.
    pub statement: String,
    /// The error there.
    #[source]
    pub fault: ScriptFault,
}

impl ScriptError {
    /// Returns true if the script itself is wrong, and not the way to the database.
    #[must_use]
    pub fn is_of_script(&self) -> bool {
        matches!(self.fault, ScriptFault::Unsupported(_) | ScriptFault::Refused { .. })
    }
}

/// Error in a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptFault {
    /// The script holds something that is not SQL, but an instruction to a client program.
    #[error(transparent)]
    Unsupported(ClientInstruction),
    /// The server refused a statement.
    #[error("{refusal}{hint}")]
    Refused {
        /// The server's refusal.
        refusal: Refusal,
        /// A hint; empty or starting with a semicolon.
        hint: &'static str,
    },
    /// The database could not be asked.
    #[error("{0}")]
    Database(DatabaseError),
}

/// Runs a script. Nothing of it runs when any part of it is not understood.
pub(super) async fn execute(client: &mut Client, script: &str, limit: Duration) -> Result<(), ScriptError> {
    let statements = split(client.database, script)
        .map_err(|error| error_at(script, error.offset, "", ScriptFault::Unsupported(error.instruction)))?;
    let mut current = None;
    let run = within(limit, async {
        let mut connection = client.take().await?;
        for statement in &statements {
            current = Some(statement);
            connection.execute(statement.text).await?;
        }
        Ok(())
    });
    let result = run.await;
    result.map_err(|error| explain(script, current, error))
}

/// The statement of a script that has exactly one.
pub(super) fn only_statement(database: Database, script: &str) -> Result<&str, ColumnError> {
    match split(database, script).map_err(|error| error.instruction)?.as_slice() {
        [statement] => Ok(statement.text),
        statements => Err(ColumnError::NotOneStatement(statements.len())),
    }
}

fn explain(script: &str, statement: Option<&Statement<'_>>, error: DatabaseError) -> ScriptError {
    let (offset, text) = statement.map_or((0, ""), |statement| (statement.offset, statement.text));
    match error {
        // A script cannot log in: with these codes the server refuses access to a table.
        DatabaseError::Refused(refusal) | DatabaseError::LoginRefused(refusal) if statement.is_some() => {
            let lines = refusal.line.unwrap_or(1).saturating_sub(1);
            let hint = hint(text, &refusal);
            let mut error = error_at(script, offset, text, ScriptFault::Refused { refusal, hint });
            error.line += lines;
            error
        }
        other => error_at(script, offset, text, ScriptFault::Database(other)),
    }
}

fn error_at(script: &str, offset: usize, statement: &str, fault: ScriptFault) -> ScriptError {
    ScriptError { line: line_at(script, offset), statement: beginning(statement), fault }
}

/// Returns a hint on the most frequent cause of a syntax error of MySQL.
fn hint(statement: &str, refusal: &Refusal) -> &'static str {
    let mut words = statement.split_whitespace().map(str::to_ascii_lowercase);
    let program = words.next().is_some_and(|word| word == "create")
        && words.take(8).any(|word| matches!(&*word, "procedure" | "function" | "trigger" | "event"));
    match program && refusal.code == "1064" {
        true => "; write DELIMITER around a body that contains semicolons",
        false => "",
    }
}

/// The first line of a statement, cut to what can be shown.
fn beginning(statement: &str) -> String {
    let line = statement.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
