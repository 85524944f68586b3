//! Limits of connections and streams of a server, and the timeout of idle connections.

use std::time::Duration;

use clap::Args;
use rustix::process::{Resource, getrlimit};
use server::Limits;

use crate::times::length;
use crate::whole_number::whole_number;

/// How many connections and streams a server takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConnectionOptions {
    /// How many connections may be open at once, as far as half of the process's open files allow. A quarter is for callers
    /// that have not shown a key, of which newcomers push out the one that waits longest.
    #[arg(long, env = "TOUCHSTONE_MAX_CONNECTIONS", value_name = "N", default_value_t = 1000, value_parser = whole_number::<usize>)]
    max_connections: usize,
    /// How many connections one key may have open at once; 0 for any number.
    #[arg(long, env = "TOUCHSTONE_MAX_CONNECTIONS_PER_KEY", value_name = "N", default_value_t = 400, value_parser = whole_number::<usize>)]
    max_connections_per_key: usize,
    /// How many connections without a key one address may have open at once; 0 for any number. Behind a reverse proxy, all
    /// callers have its address.
    #[arg(long, env = "TOUCHSTONE_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N", default_value_t = 100, value_parser = whole_number::<usize>)]
    max_connections_per_address: usize,
    /// How long a connection may be idle between two requests; more than a reverse proxy keeps its own.
    #[arg(long, env = "TOUCHSTONE_IDLE_TIMEOUT", value_name = "TIME", default_value = "75s", value_parser = length)]
    idle_timeout: Duration,
    /// How many streams of events may be open at once; an eighth is for keys that have none.
    #[arg(long, env = "TOUCHSTONE_MAX_STREAMS", value_name = "N", default_value_t = 200, value_parser = whole_number::<usize>)]
    pub(crate) max_streams: usize,
    /// How many streams of events one key may have open at once; 0 for any number.
    #[arg(long, env = "TOUCHSTONE_MAX_STREAMS_PER_KEY", value_name = "N", default_value_t = 50, value_parser = whole_number::<usize>)]
    max_streams_per_key: usize,
}

impl ConnectionOptions {
    /// Returns the maximum number of streams per key.
    pub(crate) fn streams_per_key(&self) -> usize {
        any_if_zero(self.max_streams_per_key)
    }

    /// Returns the connection limits.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            connections: self.max_connections.min(most_connections()).max(1),
            per_key: any_if_zero(self.max_connections_per_key),
            per_peer: any_if_zero(self.max_connections_per_address),
            idle: self.idle_timeout,
            ..Limits::default()
        }
    }
}

fn any_if_zero(most: usize) -> usize {
    if most == 0 { usize::MAX } else { most }
}

/// Half of the files that this process may have open: each connection is one, and the rest is for everything else.
fn most_connections() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files / 2).unwrap_or(usize::MAX)
}
