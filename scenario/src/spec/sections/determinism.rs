//! `determinism`: what is the same in every run.

use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{choice, section};
use crate::spec::shape::{Choice, Shape};
use crate::spec::types::{Moment, Whole};
use crate::spec::yaml::Node;

section! {
    /// What is the same in every run. The scenario's own seed is in `TOUCHSTONE_SEED`, `KEYSTONE_SEED` and
    /// `PYTHONHASHSEED`.
    pub struct Determinism {
        /// The seed of the experiment, from which every scenario's seed derives. Without it, it derives from the spec's
        /// content, so that an unchanged spec is run with unchanged seeds.
        seed: Option<Whole<0, { i64::MAX }>>,
        /// What the agent's clock shows at the start: `real`, or a moment in UTC such as `2026-01-31T09:00:00Z`.
        clock: Clock = Clock::Real,
        /// How names are looked up.
        dns: Dns = Dns::Static,
    }
}

/// The time of the agent's clock at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clock {
    /// The real time.
    Real,
    /// This moment.
    At(Moment),
}

impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Real => serializer.serialize_str("real"),
            Self::At(moment) => moment.serialize(serializer),
        }
    }
}

impl Readable for Clock {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.scalar() {
            Some("real") => Some(Self::Real),
            _ => Moment::read(node, reader).map(Self::At),
        }
    }

    fn shape() -> Shape {
        let real = Choice { word: "real", doc: "The real time.".to_owned() };
        Shape::Either(vec![Shape::Choice(vec![real]), Moment::shape()])
    }
}

choice! {
    /// How names are looked up.
    pub enum Dns {
        /// Only names of services and overrides exist, besides those that egress allows.
        Static = "static",
        /// Every name is looked up by the machine; calls still go through the gateway.
        System = "system",
    }
}
