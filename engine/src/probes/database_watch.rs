//! Databases between two questions: what changes there then is nobody's but the agent's.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::EngineError;
use crate::run::activity::{self, ActivityError, EndedOfServices};
use crate::world::World;

/// Databases in which everything was ended, until a check runs something that may use them.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// State of each database after its activity was ended.
    still: EndedOfServices,
    /// Databases that a command of a check may have used since.
    stirred: BTreeSet<String>,
    offences: Vec<String>,
}

impl Watched {
    /// Watches what was just ended.
    pub(crate) fn new(still: EndedOfServices) -> Self {
        Self(Mutex::new(State { still, ..State::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the offences that were found.
    pub(crate) fn offences(&self) -> Vec<String> {
        std::mem::take(&mut self.state().offences)
    }

    /// Checks that nothing was active since the last look, and keeps an offence for each database that was.
    pub(crate) async fn look(&self, world: &World) -> Result<(), EngineError> {
        let still = self.state().still.clone();
        let offences = activity::disturbed(world, &still).await?;
        self.state().offences.extend(offences);
        Ok(())
    }

    /// Announces that a command of a check is about to run, which may write to any database and leave sessions there.
    pub(super) async fn stir(&self, world: &World) -> Result<(), EngineError> {
        self.look(world).await?;
        let mut state = self.state();
        let still = std::mem::take(&mut state.still);
        state.stirred.extend(still.into_keys());
        Ok(())
    }

    /// Ends the activity in a database before it is asked; returns the reason when it cannot be asked.
    pub(super) async fn settle(&self, world: &World, service: &str) -> Result<Result<(), ActivityError>, EngineError> {
        if !self.state().stirred.remove(service) {
            return Ok(Ok(()));
        }
        Ok(activity::end(world, service).await?.map(|ended| {
            self.state().still.extend(ended.map(|ended| (service.to_owned(), ended)));
        }))
    }
}
