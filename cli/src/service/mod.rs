//! The parts of `serve` and `worker`: a server, a worker, or both in one process.

mod admission;
mod connection_options;
mod kept_secrets;
mod listening;
mod logging;
mod options;
mod place;
mod running;
mod secret_key;
mod worker_service;
mod workers;

use std::future::Future;

use tokio::runtime::Runtime;

use crate::exit_code::Exit;
use crate::output::CommandError;
use crate::session::LAST;
pub(crate) use connection_options::ConnectionOptions;
pub(crate) use listening::{address, listen, require_loopback};
pub(crate) use options::WorkerOptions;
pub(crate) use place::{database, is_shared};
pub(crate) use running::Running;
pub(crate) use secret_key::SecretKeyOption;
pub(crate) use worker_service::{Reached, Station, Terms, host};
pub(crate) use workers::ToWorkers;

/// Runs a service to its end. Whatever is left in the background then has no say any more.
pub(crate) fn run(service: impl Future<Output = Result<Exit, CommandError>>) -> Result<Exit, CommandError> {
    let runtime = Runtime::new()?;
    let exit = runtime.block_on(service);
    runtime.shutdown_timeout(LAST);
    exit
}
