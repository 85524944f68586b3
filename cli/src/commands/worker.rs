//! `touchstone worker`: works for a server in another process.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use scenario::count_noun;
use tokio_util::sync::CancellationToken;

use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::service::{
    self, Reached, Running, SecretKeyOption, Station, Terms, WorkerOptions, address, database, host, is_shared, listen,
};
use crate::signals::Signals;
use crate::times::length;

/// Work for a server: take what was submitted to it, and run it in sandboxes of this machine.
///
/// Any number of workers share a Postgres database (`--database-url`), from any machine. On the server's own machine, a
/// worker can also share the SQLite database of its data directory.
///
/// Ctrl-C, or SIGTERM, ends it in good order: scenarios that run may end. A second one ends it at once; what was not
/// finished is done by another worker.
#[derive(Debug, Args)]
pub(crate) struct Worker {
    /// Where the server reaches this worker's interactive sandboxes; without it, it makes none.
    #[arg(long, env = "TOUCHSTONE_CONTROL_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    control_listen: Option<SocketAddr>,
    /// Under which URL it is reached there; without it, the machine's name and the port, or the address when it is one.
    #[arg(long, env = "TOUCHSTONE_CONTROL_URL", value_name = "URL", requires = "control_listen")]
    control_url: Option<String>,
    /// How long scenarios may go on once the end was asked for; then they are given back.
    #[arg(long, env = "TOUCHSTONE_DRAIN_FOR", value_name = "TIME", default_value = "5m", value_parser = length)]
    drain_for: Duration,
    #[command(flatten)]
    secret_key: SecretKeyOption,
    #[command(flatten)]
    store: StoreOption,
    #[command(flatten)]
    worker: WorkerOptions,
}

impl Worker {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        self.require_database()?;
        service::run(self.work(output))
    }

    async fn work(self, output: &mut Output) -> Result<Exit, CommandError> {
        let home = self.store.open_shared().await?;
        let key = self.secret_key.resolve(&home.data_dir)?;
        home.store.require_master_key(&key).await?;
        home.require_own_artifacts().await?;
        let signals = Signals::listen()?;
        let terms = Terms { drain_for: self.drain_for, reached: self.reached().await? };
        let port = match terms.reached.url() {
            "" => "no control port".to_owned(),
            url => format!("control port {url}"),
        };
        let station = Station::set_up(&home, key, &self.worker, terms).await?;
        let slots = count_noun(station.slots, "slot");
        let ending = CancellationToken::new();
        let worker = Some(station.start());
        let database = database(self.store.shared_url().as_deref(), &home.data_dir);
        output.line(format!("touchstone: working with {slots} ({database}, {port})"))?;
        let running = Running { server: None, ending, worker, drain_for: self.drain_for };
        let exit = running.until_ended(signals, output).await;
        home.store.close().await;
        exit
    }

    /// Listens at the control port, and finds the URL under which servers reach it.
    async fn reached(&self) -> Result<Reached, CommandError> {
        let Some(address) = self.control_listen else { return Ok(Reached::Not) };
        let (listener, place) = listen(address).await?;
        let url = match &self.control_url {
            Some(url) => url.clone(),
            // An address that stands for all of the machine's is none that others can use.
            None if place.ip().is_unspecified() => format!("http://{}:{}", host(), place.port()),
            None => format!("http://{place}"),
        };
        Ok(Reached::At(listener, url))
    }

    /// Refuses to work for a database that does not exist: no server would ever put anything there.
    fn require_database(&self) -> Result<(), CommandError> {
        let url = self.store.shared_url();
        let data_dir = self.store.data_dir()?;
        if is_shared(url.as_deref()) || url.is_some() || data_dir.path().join("touchstone.db").exists() {
            return Ok(());
        }
        Err(CommandError::Usage(format!(
            "there is no database in `{}`: give the data directory of a `touchstone serve` on this machine, or `--database-url postgres://…`; a server and its workers on several machines need Postgres",
            data_dir.path().display()
        )))
    }
}
