//! The names of things that are kept, and where new ones come from.

use std::fmt;
use std::str::FromStr;

use scenario::hex;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Makes ids and tokens, which are passed in so that a run can be reproduced.
pub trait Ids: fmt::Debug + Send + Sync {
    /// A new id, later than those before it.
    fn id(&self) -> Uuid;

    /// Fills these bytes so that nobody can guess them.
    fn random(&self, bytes: &mut [u8]);

    /// This many hex digits that nobody can guess.
    fn hex(&self, digits: usize) -> String {
        let mut bytes = vec![0; digits.div_ceil(2)];
        self.random(&mut bytes);
        let mut text = hex(bytes);
        text.truncate(digits);
        text
    }

    /// A token that nobody can guess.
    fn token(&self) -> String {
        self.hex(TOKEN_DIGITS)
    }
}

/// The length of a token in hex digits.
const TOKEN_DIGITS: usize = 32;

macro_rules! id {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

id! {
    /// An experiment.
    ExperimentId
}

id! {
    /// A job.
    JobId
}

/// One run of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// The experiment.
    pub experiment: ExperimentId,
    /// Which run of it, from 1.
    pub number: u32,
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            1 => self.experiment.fmt(formatter),
            number => write!(formatter, "{}#{number}", self.experiment),
        }
    }
}

/// The workers that may take a run's jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Any worker.
    Shared,
    /// Only the process that this is the owner's id of: a `touchstone run` that works for itself.
    Own(Uuid),
}

impl fmt::Display for Lane {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => formatter.write_str("shared"),
            Self::Own(owner) => owner.fmt(formatter),
        }
    }
}

impl FromStr for Lane {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "shared" { Ok(Self::Shared) } else { text.parse().map(Self::Own) }
    }
}
