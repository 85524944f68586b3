//! A worker of a service, with all that it is given.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use engine::providers::Providers;
use store::{Lane, MasterKey, StoreError, WorkerId};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use worker::{Config, Control, Interactive, OnBackend, OwnersOf, Parts, RandomIds, Service, StoredSnapshots, Worker};

use super::kept_secrets::KeptSecrets;
use super::logging;
use super::options::WorkerOptions;
use crate::backend::Connected;
use crate::clock::SystemClock;
use crate::data_dir::Home;
use crate::output::CommandError;
use crate::session::Available;

/// A worker that has not begun.
#[derive(Debug)]
pub(crate) struct Station {
    /// The id of the worker.
    pub(crate) id: WorkerId,
    /// The sandboxes that people work in.
    pub(crate) interactive: Interactive,
    /// Maximum number of concurrent sandboxes.
    pub(crate) slots: usize,
    /// The models that it has.
    pub(crate) providers: Arc<Providers>,
    worker: Worker,
    port: Option<(TcpListener, String)>,
}

/// Settings of a worker besides its options.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Time that running scenarios have after the shutdown request.
    pub(crate) drain_for: Duration,
    /// The way in which servers reach it.
    pub(crate) reached: Reached,
}

/// The way in which servers reach a worker, to send requests to interactive sandboxes.
#[derive(Debug)]
pub(crate) enum Reached {
    /// In the same process.
    Here,
    /// At its control port, under this URL.
    At(TcpListener, String),
    /// Not at all, so it makes no such sandboxes.
    Not,
}

impl Reached {
    /// The URL of the control port; '' without one.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::At(_, url) => url,
            Self::Here | Self::Not => "",
        }
    }
}

impl Station {
    /// Connects to the backend as an owner.
    pub(crate) async fn set_up(
        home: &Home,
        key: MasterKey,
        options: &WorkerOptions,
        terms: Terms,
    ) -> Result<Self, CommandError> {
        let machine = options.models.machine(&home.data_dir)?;
        for warning in machine.providers.warnings() {
            tracing::warn!("{warning}");
        }
        let Connected { backend, owner, scratch, notice } =
            options.backend.clone().without_fallback("a worker").connect(&home.data_dir, options.docker(), &[]).await?;
        if let Some(notice) = notice {
            tracing::info!("{notice}");
        }
        let available = Available::to(&*backend);
        let id = WorkerId { data_dir: home.data_dir.id(), owner };
        let usual = Config::new(Lane::Shared, id, home.data_dir.path().to_owned(), scratch);
        let providers = Arc::clone(&machine.providers);
        let service = Service::new(host(), terms.reached.url().to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let sandboxes = if matches!(terms.reached, Reached::Not) { Some(0) } else { options.interactive };
        let service = Some(Service { sandboxes, drain: Some(terms.drain_for), ..service });
        let config = Config { machine, permissions: options.permissions()?, service, ..usual };
        let token = key.control_token(&id.to_string());
        let secrets = KeptSecrets { store: home.store.clone(), key, sources: options.allow_secret_sources };
        let worker = Worker::new(Parts {
            config: options.configure(config, available),
            store: home.store.clone(),
            sandboxes: Arc::new(OnBackend(backend)),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            peers: Arc::new(OwnersOf(home.data_dir.clone())),
            secrets: Arc::new(secrets),
            snapshots: Arc::new(StoredSnapshots::new(home.store.clone())),
            observer: logging::observer(options.verbose),
        });
        let port = match terms.reached {
            Reached::At(listener, _) => Some((listener, token)),
            Reached::Here | Reached::Not => None,
        };
        let slots = options.slots(available);
        Ok(Self { id, interactive: worker.interactive(), slots, providers, worker, port })
    }

    /// Starts the worker.
    pub(crate) fn start(self) -> (JoinHandle<Result<(), StoreError>>, Control) {
        let control = self.worker.control();
        let working = tokio::spawn(async move {
            let ended = CancellationToken::new();
            let port = self.port.map(|(listener, token)| {
                tokio::spawn(worker::serve_control(listener, token, self.interactive, ended.clone()))
            });
            self.worker.run().await;
            ended.cancel();
            if let Some(port) = port {
                let _ = port.await;
            }
            Ok(())
        });
        (working, control)
    }
}

/// The machine's name.
pub(crate) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
