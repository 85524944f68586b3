//! Stops all activity in databases while they are looked at.

use std::collections::BTreeMap;

use crate::database::DatabaseError;
use crate::database::activity::{Ended, Known, Target};
use crate::error::EngineError;
use crate::services::LiveService;
use crate::world::World;

/// Activity in each database before the agent started.
pub(crate) type KnownOfServices = BTreeMap<String, Known>;
/// State of each database after its activity was ended.
pub(crate) type EndedOfServices = BTreeMap<String, Ended>;

/// The reason why a database is not as still as it should be: the agent's doing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ActivityError {
    /// Activity in the database could not be ended.
    #[error("what the agent left running in the database `{database}` could not be ended: {}", left.join("; "))]
    LeftRunning { database: String, left: Vec<String> },
    /// The database was healthy, and cannot be asked any more.
    #[error("the database `{database}` was ready before the agent started, and now: {cause}")]
    Broken {
        database: String,
        #[source]
        cause: DatabaseError,
    },
}

/// Records the activity of all databases before the agent starts.
pub(super) async fn look(world: &World) -> Result<KnownOfServices, EngineError> {
    let mut all = KnownOfServices::new();
    for (name, live) in &world.services {
        let Some(target) = live.target() else { continue };
        let known = target.known().await.map_err(|error| unready(name, error))?;
        all.insert(name.clone(), known);
    }
    Ok(all)
}

/// Ends whatever goes on in all databases. What cannot be ended is told, and counts against the agent.
pub(super) async fn end_all(world: &World) -> Result<(EndedOfServices, Vec<String>), EngineError> {
    let (mut all, mut offences) = (EndedOfServices::new(), Vec::new());
    for name in world.services.keys() {
        match end(world, name).await? {
            Ok(ended) => all.extend(ended.map(|ended| (name.clone(), ended))),
            Err(offence) => offences.push(offence.to_string()),
        }
    }
    Ok((all, offences))
}

/// Ends whatever goes on in one database, if it is one and runs.
pub(crate) async fn end(world: &World, name: &str) -> Result<Result<Option<Ended>, ActivityError>, EngineError> {
    let Some((live, target, known)) = known(world, name) else { return Ok(Ok(None)) };
    // In one that has ended nothing goes on; the checks that need it say so.
    if !live.running.is_running().await? {
        return Ok(Ok(None));
    }
    match target.end(known).await {
        Ok(ended) if ended.left.is_empty() => Ok(Ok(Some(ended))),
        Ok(ended) => Ok(Err(ActivityError::LeftRunning { database: name.to_owned(), left: ended.left })),
        Err(error) => Ok(broken(world, name, error).await?.map_or(Ok(None), Err)),
    }
}

/// Checks that databases are as they were when everything in them had been ended; returns an offence for each that is
/// not.
pub(crate) async fn disturbed(world: &World, all: &EndedOfServices) -> Result<Vec<String>, EngineError> {
    let mut offences = Vec::new();
    for (name, ended) in all {
        let Some((_, target, known)) = known(world, name) else { continue };
        match target.is_still(known, ended).await {
            Ok(true) => {}
            Ok(false) => {
                offences.push(format!(
                    "something wrote to the database `{name}`, or came back in it, after the agent had ended"
                ));
            }
            Err(error) => offences.extend(broken(world, name, error).await?.map(|error| error.to_string())),
        }
    }
    Ok(offences)
}

fn known<'a>(world: &'a World, name: &str) -> Option<(&'a LiveService, Target, &'a Known)> {
    let live = world.services.get(name)?;
    Some((live, live.target()?, world.before.activity.get(name)?))
}

/// Makes the error for a database that cannot be used before the agent starts: a matter of the spec.
pub(super) fn unready(service: &str, error: DatabaseError) -> EngineError {
    match error {
        DatabaseError::Relay(cause) => {
            EngineError::Files { operation: format!("reach the service `{service}`"), cause }
        }
        other => EngineError::Setup {
            place: format!("services.{service}"),
            reason: format!("it cannot be looked at before the agent starts: {other}"),
        },
    }
}

/// The database was healthy before, so what is wrong with it now is the agent's doing, unless somebody removed it or it
/// cannot be reached any more; `None` when it has ended.
pub(super) async fn broken(
    world: &World,
    service: &str,
    error: DatabaseError,
) -> Result<Option<ActivityError>, EngineError> {
    if let DatabaseError::Relay(_) = error {
        return Err(unready(service, error));
    }
    if let Some(live) = world.services.get(service)
        && !live.running.is_running().await?
    {
        return Ok(None);
    }
    Ok(Some(ActivityError::Broken { database: service.to_owned(), cause: error }))
}
