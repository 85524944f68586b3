//! A clock that is moved by hand, ids that count, and peers whose liveness is set.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use scenario::spec::Spec;
use store::{Clock, Experiment, Ids, Sandbox};
use uuid::Uuid;
use worker::{Peers, Secrets, Unavailable};

/// A clock that stands still unless it is moved.
#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(AtomicI64::new(1_800_000_000_000))
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn set_back(&self, time: Duration) {
        self.0.fetch_sub(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// Ids that count.
#[derive(Debug, Default)]
pub(crate) struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst)) + 1)
    }

    fn random(&self, bytes: &mut [u8]) {
        let number = self.id().as_u128().to_be_bytes();
        bytes.iter_mut().rev().zip(number.iter().rev().cycle()).for_each(|(byte, other)| *byte = *other);
    }

    fn token(&self) -> String {
        format!("token {}", self.id())
    }
}

/// Processes of which we say that they are gone.
#[derive(Debug, Default)]
pub(crate) struct KnownPeers(Mutex<HashSet<Uuid>>);

impl KnownPeers {
    pub(crate) fn gone(&self, owner: Uuid) {
        self.0.lock().unwrap().insert(owner);
    }
}

impl Peers for KnownPeers {
    fn is_gone(&self, owner: Uuid) -> bool {
        self.0.lock().unwrap().contains(&owner)
    }
}

/// Secrets that are available, but for a spec whose secrets are missing.
#[derive(Debug, Default)]
pub(crate) struct FixedSecrets {
    /// The id of the spec whose secrets are missing.
    pub(crate) missing_for: Mutex<Option<String>>,
    /// Number of calls that panic instead of answering.
    pub(crate) panics: AtomicU64,
    /// Number of calls that fail because the secrets are unavailable.
    pub(crate) unavailable: AtomicU64,
}

#[async_trait]
impl Secrets for FixedSecrets {
    async fn resolve(&self, _experiment: &Experiment, spec: &Spec) -> Result<BTreeMap<String, String>, Unavailable> {
        let panics = self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(panics.is_err(), "secrets panic as they were told to");
        if self.missing_for.lock().unwrap().as_deref() == Some(spec.id.as_str()) {
            return Err(Unavailable::Missing("the secret `KEY` is not set".to_owned()));
        }
        if self.unavailable.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(Unavailable::Unavailable("nobody answers".to_owned()));
        }
        Ok(BTreeMap::from([("KEY".to_owned(), "value".to_owned())]))
    }

    async fn resolve_for_sandbox(
        &self,
        sandbox: &Sandbox,
        _spec: &Spec,
    ) -> Result<BTreeMap<String, String>, Unavailable> {
        let sealed = sandbox.new.secrets.clone().unwrap_or_default();
        Ok(BTreeMap::from([("KEY".to_owned(), String::from_utf8(sealed).unwrap())]))
    }
}
