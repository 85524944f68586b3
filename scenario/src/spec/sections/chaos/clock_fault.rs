//! `clock_faults`: faults of the clock that the agent sees.

use serde::Serialize;

use super::start::FaultStart;
use super::trigger::Trigger;
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, finish_tagged, section, tagged};
use crate::spec::shape::Shape;
use crate::spec::types::TimeShift;
use crate::spec::yaml::Node;

/// A fault of the clock: when and what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockFault {
    /// The beginning.
    pub start: FaultStart,
    /// The calls that begin it, where `calls_of` is given; and its duration.
    pub trigger: Trigger,
    /// The effect of the fault.
    pub mode: ClockFaultMode,
}

tagged! {
    /// A fault of the sandbox's clock. `mode` says what happens. Programs see it through libfaketime, which the image of the sandbox
    /// needs; services and gateways keep the time that they have.
    pub enum ClockFaultMode by "mode" {
        /// The clock is set to another time.
        Jump(ClockJump) = "jump",
        /// The clock is wrong from the start.
        Skew(ClockSkew) = "skew",
    }
}

section! {
    /// The clock of the sandbox is set forwards or backwards; with `for` or `between` it is set back again. Time limits do not notice:
    /// they go by another clock.
    pub struct ClockJump {
        /// How far: `1h`, or `-5m` for backwards.
        by: TimeShift,
    }
}

section! {
    /// The clock of the sandbox is wrong from the agent's start to its end, and those of its services are not: what a service says
    /// about times does not agree with what the agent sees.
    pub struct ClockSkew {
        /// How far the sandbox is ahead: `1h`, or `-5m` when it is behind.
        by: TimeShift,
    }
}

impl ClockFaultMode {
    /// The shift of the clock.
    #[must_use]
    pub const fn by(&self) -> TimeShift {
        match self {
            Self::Jump(jump) => jump.by,
            Self::Skew(skew) => skew.by,
        }
    }
}

impl Readable for ClockFault {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let start = FaultStart::read_fields(&mut map, reader);
        let trigger = Trigger::read_fields(&mut map, reader);
        let mode = ClockFaultMode::read_variant(&mut map, reader);
        finish_tagged(&map, reader, "mode", ClockFaultMode::variants());
        Some(Self { start: start?, trigger: trigger?, mode: mode? })
    }

    fn shape() -> Shape {
        let mut common = FaultStart::section().fields;
        common.extend(Trigger::section().fields);
        ClockFaultMode::tagged_shape(common)
    }
}
