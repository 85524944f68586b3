//! `network_faults`: faults of the network between the agent and its services.

use serde::Serialize;

use super::trigger::Trigger;
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, choice, finish_tagged, section, tagged};
use crate::spec::shape::Shape;
use crate::spec::types::{Many, NameGlob, ServiceGlob, Whole};
use crate::spec::yaml::Node;

/// The delay of bytes in milliseconds: longer ones are timeouts, which `partition` is for.
type Delay = Whole<0, 10_000>;

/// A fault of the network: when and what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkFault {
    /// The connections or questions that are faulted.
    pub trigger: Trigger,
    /// The effect on the connections.
    pub mode: NetworkMode,
}

tagged! {
    /// A fault of the network. `mode` says what happens. The calls that a trigger counts are the connections that the agent opens
    /// to the services, and with `dns_failure` its questions for the address of a name.
    pub enum NetworkMode by "mode" {
        /// Nothing passes, either way.
        Partition(Partition) = "partition",
        /// All bytes come late. Rules after this one still apply.
        Latency(Latency) = "latency",
        /// Bytes pass slowly. Rules after this one still apply.
        Bandwidth(Bandwidth) = "bandwidth",
        /// A name cannot be looked up.
        DnsFailure(DnsFailure) = "dns_failure",
    }
}

section! {
    /// Nothing passes, either way. Connecting still works, because the sandbox's own address accepts; then nothing is answered, so
    /// that a client sees a timeout and not a refusal.
    ///
    /// With `between` or `for` the partition ends: bytes wait until then and are not lost, so that a request may take effect after
    /// its client gave up. `between` hits connections that are open already, too. Without either, a connection stays silent until
    /// the client gives up, and nothing of what it sent arrives.
    pub struct Partition {
        /// The services that cannot be reached, as names or globs; `model` is the model. Without it: all of them.
        services: Option<Many<ServiceGlob>>,
    }
}

section! {
    /// Every chunk of bytes is delayed, in each direction, and their order is kept: a question and its answer take twice the delay.
    pub struct Latency {
        /// The services that are slow to reach, as names or globs; `model` is the model. Without it: all of them.
        services: Option<Many<ServiceGlob>>,
        /// The delay in each direction.
        delay_ms: Delay = Whole::new(100),
        /// How much longer it may be: between nothing and this, chosen by the scenario's seed and the number of the connection.
        jitter_ms: Delay = Whole::new(0),
    }
}

section! {
    /// Bytes pass at a limited rate, in each direction. Where several rules fire, the first one counts.
    pub struct Bandwidth {
        /// The services with a slow connection, as names or globs; `model` is the model. Without it: all of them.
        services: Option<Many<ServiceGlob>>,
        /// How many bytes pass in a second, in each direction.
        bytes_per_second: Whole<1, 1_000_000_000> = Whole::new(10_000),
    }
}

section! {
    /// A name cannot be looked up. Connections that are open already are not hit, and neither is a program that remembers the
    /// address.
    pub struct DnsFailure {
        /// The names as they are asked for, or globs such as `*.example.com`. A service has two names: `shop` and
        /// `shop.services.internal`.
        names: Many<NameGlob>,
        /// The answer.
        answer: DnsAnswer = DnsAnswer::Nxdomain,
    }
}

choice! {
    /// The answer to a question for a name that cannot be looked up.
    pub enum DnsAnswer {
        /// There is no such name. A name that does not exist anyway is not faulted.
        Nxdomain = "nxdomain",
        /// The server failed.
        Servfail = "servfail",
        /// None.
        Timeout = "timeout",
    }
}

impl NetworkMode {
    /// The services that it names; `None` when it is about all of them, or about names.
    #[must_use]
    pub fn services(&self) -> Option<&[ServiceGlob]> {
        let services = match self {
            Self::Partition(partition) => &partition.services,
            Self::Latency(latency) => &latency.services,
            Self::Bandwidth(bandwidth) => &bandwidth.services,
            Self::DnsFailure(_) => &None,
        };
        services.as_ref().map(|services| services.as_slice())
    }
}

impl Readable for NetworkFault {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let trigger = Trigger::read_fields(&mut map, reader);
        let mode = NetworkMode::read_variant(&mut map, reader);
        finish_tagged(&map, reader, "mode", NetworkMode::variants());
        Some(Self { trigger: trigger?, mode: mode? })
    }

    fn shape() -> Shape {
        NetworkMode::tagged_shape(Trigger::section().fields)
    }
}
