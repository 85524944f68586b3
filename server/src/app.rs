//! State that all handlers share.

use std::ops::Deref;
use std::sync::Arc;

use listener::{Connections, Share, Shares};
use store::{Clock, Ids, MasterKey, Retries, Store};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::api::specs::ShownSpec;
use crate::api::tool_contracts::Standing;
use crate::auth::{Caller, Keys};
use crate::cache::Cache;
use crate::config::{Access, Config};
use crate::dependencies::Workers;
use crate::error::ApiError;
use crate::rate::Rates;
use crate::results::{Shows, Standings};
use crate::telemetry::Telemetry;
use crate::web::Stories;

/// The limit of concurrent uploads.
const UPLOADS: usize = 16;
/// The limit of concurrent uploads per key: uploads take as long as a client likes to send.
const UPLOADS_PER_KEY: usize = 8;
/// The limit of concurrent answers that need much memory.
const HEAVY: usize = 8;
/// The size of the cache of specs in bytes.
const SPECS: usize = 16 << 20;

/// Everything that a server is given.
#[derive(Debug)]
pub struct Parts {
    /// The configuration.
    pub config: Config,
    /// The store.
    pub store: Store,
    /// The key that seals stored secrets.
    pub master_key: MasterKey,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn Ids>,
    /// Resources that specs need.
    pub admission: Arc<dyn Admission>,
    /// The way to the workers that have interactive sandboxes.
    pub workers: Arc<dyn Workers>,
}

/// The server. Clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Inner>);

/// State that all handlers share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) master_key: MasterKey,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) workers: Arc<dyn Workers>,
    /// Keys that were seen a moment ago.
    pub(crate) keys: Keys,
    /// Request rates by key.
    pub(crate) rates: Rates,
    /// Places for streams, and for who waits for news.
    pub(crate) streams: Shares,
    /// Places for uploads.
    uploads: Shares,
    /// The connections of the listener.
    pub(crate) connections: Connections,
    /// Places for what takes much memory.
    pub(crate) heavy: Semaphore,
    /// Numbers about the server itself.
    pub(crate) telemetry: Telemetry,
    /// Bodies of results.
    pub(crate) shows: Shows,
    /// Numbers of runs.
    pub(crate) standings: Standings,
    /// Specs by digest.
    pub(crate) specs: Cache<String, Arc<ShownSpec>>,
    /// Sessions under tool contracts that are in memory.
    pub(crate) contract_sessions: Standing,
    /// Evidence that pages showed a moment ago.
    pub(crate) stories: Stories,
    /// Everything that fails and is tried again.
    pub(crate) retries: Retries,
    /// Cancelled when the server ends.
    pub(crate) ending: CancellationToken,
}

impl App {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { config, store, master_key, clock, ids, admission, workers } = parts;
        let rates = Rates::new(&config);
        let (keys, ending) = (Keys::default(), CancellationToken::new());
        let streams = shares(&config, config.streams, config.streams_per_key);
        let uploads = shares(&config, UPLOADS, UPLOADS_PER_KEY);
        let connections = match config.access {
            Access::Keys => Connections::new(config.connections.clone()),
            Access::Open => Connections::of_one_key(config.connections.clone()),
        };
        Self(Arc::new(Inner {
            config,
            store,
            master_key,
            clock,
            ids,
            admission,
            workers,
            keys,
            rates,
            streams,
            uploads,
            connections,
            heavy: Semaphore::new(HEAVY),
            telemetry: Telemetry::default(),
            shows: Shows::default(),
            standings: Standings::default(),
            specs: Cache::new(SPECS),
            contract_sessions: Standing::default(),
            stories: Stories::default(),
            retries: Retries::logged(),
            ending,
        }))
    }
}

impl App {
    /// Takes a place for a stream, or for waiting for news.
    pub(crate) fn stream_place(&self, caller: &Caller) -> Result<Share, ApiError> {
        self.streams.take(&caller.key).map_err(|full| ApiError::full("streams", full))
    }

    /// Takes a place for an upload.
    pub(crate) fn upload_place(&self, caller: &Caller) -> Result<Share, ApiError> {
        self.uploads.take(&caller.key).map_err(|full| ApiError::full("uploads", full))
    }
}

/// Places that are shared out by key, or by nobody where all callers are the same one.
fn shares(config: &Config, total: usize, per_key: usize) -> Shares {
    match config.access {
        Access::Keys => Shares::new(total, per_key),
        Access::Open => Shares::of_one_key(total),
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
