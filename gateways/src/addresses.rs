//! The addresses of gateways on a sandbox's loopback, and the domain of their names.

use std::net::Ipv4Addr;

/// Address of the model gateway.
pub const MODEL: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 1);
/// Address of the API gateway.
pub const TOUCHSTONE: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 2);
/// Address of the egress gateway.
pub const EGRESS: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 3);
/// Address of the tool gateway.
pub const TOOLS: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 4);
/// Address of the DNS gateway.
pub const DNS: Ipv4Addr = Ipv4Addr::new(127, 20, 0, 53);

/// The domain of services and gateways.
pub const DOMAIN: &str = ".services.internal";
