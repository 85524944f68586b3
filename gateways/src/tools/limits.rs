//! The largest numbers of a tool gateway, and the limit of the spec.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use scenario::evidence::{Fired, Limit};
use scenario::spec::sections::ToolLimits;
use tokio::sync::watch;

/// Number of connections that are served at once; more wait until one ends.
pub(super) const CONNECTIONS: usize = 512;
/// Largest message: 8 MiB.
pub(super) const MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Memory limit of all messages under way: 128 MiB.
pub(super) const UNDER_WAY_BYTES: usize = 128 * 1024 * 1024;
/// Timeout for the head of a request, and for a pause in its body.
pub(super) const WAIT: Duration = Duration::from_secs(30);
/// Timeout for a connection without a request under way. The wait for a head ends most of them before.
pub(super) const IDLE_WAIT: Duration = Duration::from_secs(120);
/// Largest head of a request: 64 KiB.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// Number of tools in one page of a list.
pub(super) const PAGE: usize = 100;
/// Interval of the keep-alives on a stream without news.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Counts calls, up to the limit of the spec.
#[derive(Debug)]
pub(super) struct CallLimit {
    most: Option<u64>,
    calls: AtomicU64,
    fired: watch::Sender<Option<Fired>>,
}

impl CallLimit {
    pub(super) fn new(limits: &ToolLimits) -> Self {
        let most = limits.max_calls.and_then(|most| u64::try_from(most.get()).ok());
        Self { most, calls: AtomicU64::new(0), fired: watch::Sender::new(None) }
    }

    /// Forgets the calls so far.
    pub(super) fn forget(&self) {
        self.calls.store(0, Ordering::Release);
    }

    /// Counts a call; the limit when it is one too many.
    pub(super) fn count(&self) -> Result<(), Fired> {
        let calls = self.calls.fetch_add(1, Ordering::AcqRel) + 1;
        let Some(most) = self.most.filter(|most| calls > *most) else { return Ok(()) };
        let fired =
            Fired { limit: Limit::ToolCalls, detail: format!("the agent called its tools more than {most} times") };
        self.fired.send_if_modified(|before| before.is_none().then(|| *before = Some(fired.clone())).is_some());
        Err(fired)
    }

    /// Returns the number of all calls.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Acquire)
    }

    /// The limit, when it fired.
    pub(super) fn fired(&self) -> Option<Fired> {
        self.fired.borrow().clone()
    }

    /// Waits until it fires; it may never do.
    pub(super) async fn wait(&self) -> Fired {
        let mut fired = self.fired.subscribe();
        match fired.wait_for(Option::is_some).await.map(|fired| fired.clone()) {
            Ok(Some(fired)) => fired,
            _ => std::future::pending().await,
        }
    }
}
