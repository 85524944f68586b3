//! The addresses of gateways on a sandbox's loopback, and the domain of their names.

use std::net::Ipv4Addr;

/// Where the model gateway listens.
pub const MODEL: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 1);
/// Where the API gateway listens.
pub const TOUCHSTONE: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 2);
/// Where the egress gateway listens.
pub const EGRESS: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 3);
/// Where the tool gateway listens.
pub const TOOLS: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 4);
/// Where names are looked up.
pub const DNS: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 53);

/// The domain of services and gateways.
pub const DOMAIN: &str = ".services.internal";
