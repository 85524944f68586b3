//! `touchstone serve`: the API, and a worker beside it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use scenario::count_noun;
use server::{Access, Config, Parts};
use tokio_util::sync::CancellationToken;

use crate::clock::SystemClock;
use crate::data_dir::{Home, StoreOption};
use crate::exit_code::Exit;
use crate::keys;
use crate::output::{CommandError, Output};
use crate::service::{
    self, ConnectionOptions, Reached, Running, SecretKeyOption, Station, Terms, ToWorkers, WorkerOptions, address,
    database, listen, require_loopback,
};
use crate::signals::Signals;
use crate::times::{bytes_of, length};
use crate::whole_number::whole_number;

/// Serve the API, with a worker in the same process.
///
/// Without any option, everything is kept in the data directory, and only this machine is served. The first start prints a
/// key that allows everything, once, as `TOUCHSTONE_API_KEY=ts_live_…`; `touchstone key create` makes others.
///
/// Ctrl-C, or SIGTERM, ends it in good order: what is being answered is answered, and scenarios that run may end. A second
/// one ends it at once; what was not finished is done by another worker, or after the next start.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes any that is free.
    #[arg(long, env = "TOUCHSTONE_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8012", value_parser = address)]
    listen: SocketAddr,
    /// Only serve; `touchstone worker` works.
    #[arg(long, env = "TOUCHSTONE_NO_WORKER", value_parser = BoolishValueParser::new())]
    no_worker: bool,
    /// Let everybody who reaches the server do everything; only on loopback.
    #[arg(long, env = "TOUCHSTONE_NO_AUTH", value_parser = BoolishValueParser::new())]
    no_auth: bool,
    /// Requests a second of one key that only read; 0 for any number.
    #[arg(long, env = "TOUCHSTONE_READS_PER_SECOND", value_name = "N", default_value_t = 500, value_parser = whole_number::<u32>)]
    reads_per_second: u32,
    /// Requests a second of one key that change something; 0 for any number.
    #[arg(long, env = "TOUCHSTONE_WRITES_PER_SECOND", value_name = "N", default_value_t = 100, value_parser = whole_number::<u32>)]
    writes_per_second: u32,
    /// The largest spec with its files, or snapshot of an agent, that is taken.
    #[arg(long, env = "TOUCHSTONE_MAX_UPLOAD", value_name = "SIZE", default_value = "64Mi", value_parser = bytes_of)]
    max_upload: u64,
    /// The largest body of any other request that is taken.
    #[arg(long, env = "TOUCHSTONE_MAX_BODY", value_name = "SIZE", default_value = "2Mi", value_parser = bytes_of)]
    max_body: u64,
    #[command(flatten)]
    connections: ConnectionOptions,
    /// Remove experiments that are older than this, such as 90d, unless they are pinned; none without it.
    #[arg(long, env = "TOUCHSTONE_KEEP_FOR", value_name = "TIME", value_parser = length)]
    keep_for: Option<Duration>,
    /// Remove the oldest experiments, unless they are pinned, while evidence has more bytes than this; none without it.
    #[arg(long, env = "TOUCHSTONE_KEEP_BYTES", value_name = "SIZE", value_parser = bytes_of)]
    keep_bytes: Option<u64>,
    /// Let webhooks of alerts lead to this machine and to private networks.
    #[arg(long, env = "TOUCHSTONE_ALLOW_PRIVATE_WEBHOOKS", value_parser = BoolishValueParser::new())]
    allow_private_webhooks: bool,
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

impl Serve {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        if self.no_auth {
            require_loopback(self.listen)?;
        }
        service::run(self.serve(output))
    }

    async fn serve(self, output: &mut Output) -> Result<Exit, CommandError> {
        let home = self.store.open_shared().await?;
        let key = self.secret_key.resolve(&home.data_dir)?;
        home.store.require_master_key(&key).await?;
        home.require_own_artifacts().await?;
        let (listener, place) = listen(self.listen).await?;
        let signals = Signals::listen()?;
        let station = match self.no_worker {
            true => None,
            false => {
                let terms = Terms { drain_for: self.drain_for, reached: Reached::Here };
                Some(Station::set_up(&home, key.clone(), &self.worker, terms).await?)
            }
        };
        if !self.no_auth {
            show_first_key(&home, output).await?;
        }
        let works = station.as_ref().map_or_else(
            || "no worker".to_owned(),
            |station| format!("worker with {}", count_noun(station.slots, "slot")),
        );
        let parts = Parts {
            config: self.config(),
            store: home.store.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(worker::RandomIds),
            admission: Arc::new(self.worker.admission(station.as_ref())?),
            workers: Arc::new(ToWorkers::new(key.clone(), station.as_ref())?),
            master_key: key,
        };
        let ending = CancellationToken::new();
        let server = tokio::spawn(server::serve(listener, parts, ending.clone().cancelled_owned()));
        let worker = station.map(Station::start);
        let database = database(self.store.shared_url().as_deref(), &home.data_dir);
        output.line(format!("touchstone: serving on http://{place} ({database}, {works})"))?;
        let running = Running { server: Some(server), ending, worker, drain_for: self.drain_for };
        let exit = running.until_ended(signals, output).await;
        home.store.close().await;
        exit
    }

    fn config(&self) -> Config {
        let size = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        Config {
            access: if self.no_auth { Access::Open } else { Access::Keys },
            reads_a_second: NonZeroU32::new(self.reads_per_second),
            writes_a_second: NonZeroU32::new(self.writes_per_second),
            upload_bytes: size(self.max_upload),
            body_bytes: size(self.max_body),
            streams: self.connections.max_streams,
            streams_per_key: self.connections.streams_per_key(),
            connections: self.connections.limits(),
            private_webhooks: self.allow_private_webhooks,
            keep_for: self.keep_for,
            keep_bytes: self.keep_bytes,
            ..Config::default()
        }
    }
}

/// Creates a key when there is none yet, and shows it.
async fn show_first_key(home: &Home, output: &mut Output) -> Result<(), CommandError> {
    if let Some(made) = keys::first(&home.store).await? {
        output.line(format!("TOUCHSTONE_API_KEY={}", made.text))?;
        output.note("this key allows everything, and will not be shown again; `touchstone key create` makes others");
    }
    Ok(())
}
