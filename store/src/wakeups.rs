//! Telling other processes that there is something to look at, and being told. Postgres does that; who uses a file asks
//! again now and then, and everybody else does too, because a connection can be cut.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::Store;
use crate::db::Listener;
use crate::error::StoreError;
use crate::ids::{ExperimentId, Lane};

/// A reason to look at the store. It is sent when the change is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wakeup {
    /// Jobs of a lane that may be taken, now or later.
    Jobs(Lane),
    /// A run of this experiment is not wanted any more.
    Cancelled(ExperimentId),
    /// Something happened in this experiment, or came of it.
    Experiment(ExperimentId),
    /// Sandboxes that are wanted, or not any more.
    Sandboxes,
    /// Everything: something may have been missed.
    All,
}

impl fmt::Display for Wakeup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jobs(lane) => write!(formatter, "jobs {lane}"),
            Self::Cancelled(experiment) => write!(formatter, "cancelled {experiment}"),
            Self::Experiment(experiment) => write!(formatter, "experiment {experiment}"),
            Self::Sandboxes => formatter.write_str("sandboxes"),
            Self::All => formatter.write_str("all"),
        }
    }
}

impl FromStr for Wakeup {
    type Err = Infallible;

    /// A notification of a newer version that this one does not know may mean anything.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (word, about) = text.split_once(' ').unwrap_or((text, ""));
        let known = match word {
            "jobs" => about.parse().ok().map(Self::Jobs),
            "cancelled" => about.parse().ok().map(Self::Cancelled),
            "experiment" => about.parse().ok().map(Self::Experiment),
            "sandboxes" => Some(Self::Sandboxes),
            _ => None,
        };
        Ok(known.unwrap_or(Self::All))
    }
}

/// Notifications of other processes. It takes one connection.
#[derive(Debug)]
pub struct Wakeups(Listener);

impl Wakeups {
    /// Waits for the next one. A connection that was lost is made again, which is one itself; when that fails, it can be
    /// asked for again.
    pub async fn next(&mut self) -> Result<Wakeup, StoreError> {
        let told = self.0.next().await?;
        Ok(told.map_or(Wakeup::All, |text| text.parse().unwrap_or(Wakeup::All)))
    }
}

impl Store {
    /// Begins to listen to what all processes with the same database tell; `None` when it is a file, which tells nothing.
    pub async fn listen(&self) -> Result<Option<Wakeups>, StoreError> {
        Ok(self.db.listen().await?.map(Wakeups))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::Wakeup;
    use crate::ids::{ExperimentId, Lane};

    #[test]
    fn what_is_told_is_understood() {
        let (id, owner) = (ExperimentId(Uuid::from_u128(1)), Lane::Own(Uuid::from_u128(2)));
        let told = [
            Wakeup::Jobs(Lane::Shared),
            Wakeup::Jobs(owner),
            Wakeup::Cancelled(id),
            Wakeup::Experiment(id),
            Wakeup::Sandboxes,
            Wakeup::All,
        ];
        for wakeup in told {
            assert_eq!(wakeup.to_string().parse(), Ok(wakeup));
        }
        for unknown in ["", "jobs", "jobs of others", "cancelled it", "later than this"] {
            assert_eq!(unknown.parse(), Ok(Wakeup::All), "{unknown}");
        }
    }
}
