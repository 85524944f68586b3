//! Breaks what the agent left, where a run is to show whether anybody notices: after the agent has ended, and before anything is
//! looked at.

use std::time::Duration;

use scenario::certificate::{Breakage, BrokenFile, BrokenRow, FileBreakage};
use scenario::evidence::{DatabaseChanges, Evidence, Exit};

use super::databases::take_tables;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::database::tables::{break_row, compare, describe};
use crate::database::{CONNECT_LIMIT, Connection, DatabaseError};
use crate::error::EngineError;
use crate::probes::{self, Line};
use crate::services::LiveService;
use crate::world::World;

/// How long breaking a file may take.
const LIMIT: Duration = Duration::from_secs(30);

/// True for a run that looks at all tables, recorded or not.
pub(super) fn looks_at_tables(attempt: &Attempt<'_>) -> bool {
    attempt.scenario.breakage.as_deref() == Some(&Breakage::Look)
}

/// Breaks what the run is to break.
pub(super) async fn apply(world: &World, attempt: &Attempt<'_>, evidence: &mut Evidence) -> Result<(), EngineError> {
    match attempt.scenario.breakage.as_deref() {
        None | Some(Breakage::Look) => Ok(()),
        Some(Breakage::File(broken)) => break_file(world, broken).await,
        Some(Breakage::Row(broken)) => {
            row(world, broken).await.map_err(|error| not_broken(&broken.name, &error.to_string()))
        }
        Some(breakage @ (Breakage::Request(_) | Breakage::Output)) => {
            breakage.break_records(evidence);
            Ok(())
        }
    }
}

/// Why something could not be broken: the certificate says so, and no agent is to blame.
fn not_broken(what: &str, reason: &str) -> EngineError {
    EngineError::WrongSpec { place: format!("certify: {what}"), reason: format!("it cannot be broken: {reason}") }
}

/// Adds what changed in tables that nobody records, and what all tables that changed are made of.
pub(super) async fn look(world: &World, evidence: &mut Evidence) -> Result<(), EngineError> {
    for (service, live) in &world.services {
        let unreadable = |error: DatabaseError| not_broken(service, &error.to_string());
        if let Some(before) = world.before.tables.get(service).filter(|_| !evidence.databases.contains_key(service)) {
            let after = take_tables(world, service, &world.before.activity).await.map_err(unreadable)?;
            evidence.databases.insert(service.clone(), compare(before, &after));
        }
        let Some(changes) = evidence.databases.get_mut(service) else { continue };
        if !changes.tables.is_empty() {
            describe_all(world, service, live, changes).await.map_err(unreadable)?;
        }
    }
    Ok(())
}

async fn describe_all(
    world: &World,
    service: &str,
    live: &LiveService,
    changes: &mut DatabaseChanges,
) -> Result<(), DatabaseError> {
    let mut connection = connect(world, service, live).await?;
    for (table, change) in &mut changes.tables {
        describe(&mut connection, table, change).await?;
    }
    Ok(())
}

async fn row(world: &World, broken: &BrokenRow) -> Result<(), DatabaseError> {
    let missing = || DatabaseError::Unreachable { reason: "it is not there".to_owned() };
    let live = world.services.get(&broken.service).ok_or_else(missing)?;
    let mut connection = connect(world, &broken.service, live).await?;
    break_row(&mut connection, broken).await
}

async fn connect(world: &World, service: &str, live: &LiveService) -> Result<Connection, DatabaseError> {
    let unknown = || DatabaseError::Unreachable { reason: "it has no known user".to_owned() };
    let (database, credentials) = live.database.as_ref().ok_or_else(unknown)?;
    let settings = world.before.activity.get(service).map(|known| &known.settings);
    Connection::open(*database, credentials, settings, &*live.dial(), CONNECT_LIMIT).await
}

/// Breaks a file, as the agent's user.
async fn break_file(world: &World, broken: &BrokenFile) -> Result<(), EngineError> {
    let script = match broken.how {
        FileBreakage::Delete => "rm -f -- \"$1\"",
        FileBreakage::Empty => ": > \"$1\"",
        FileBreakage::Truncate => {
            "size=$(wc -c < \"$1\"); half=$(head -c $(((size - 1) / 2)) -- \"$1\"; echo .); printf %s \"${half%.}\" > \"$1\""
        }
        FileBreakage::PutBack => "mkdir -p -- \"$(dirname -- \"$1\")\" && : > \"$1\"",
    };
    let script = format!("test ! -d \"$1\" && {{ {script}; }}");
    let words = ["sh", "-c", &script, "sh", &broken.path].map(ToOwned::to_owned);
    let line =
        Line { words: &words, directory: WORKSPACE, environment: &world.environment, user: &world.user, stdin: b"" };
    let ran = probes::run_on(world.sandbox.door(), &line, LIMIT, &world.redactor).await;
    let answer = ran.map_err(EngineError::door("break a file"))?;
    match answer.exit {
        Some(Exit::Code(0)) => Ok(()),
        _ => Err(not_broken(&broken.path, answer.stderr.text().trim())),
    }
}
