//! Explains a wait: after a while of silence, the server is asked what its workers do.

use std::time::Duration;

use scenario::untrusted;
use tokio::time::{Instant, sleep_until};

use super::Server;

/// Time without events after which the server is asked for the reason, and the interval of further questions.
const QUIET: Duration = Duration::from_secs(5);
/// Maximum length of a reason.
const LONGEST: usize = 1000;

/// A client that waits for a run on a server.
pub(super) struct Waiting<'a> {
    server: &'a Server,
    /// Since when nothing happened, or since when the reason is known.
    since: Instant,
    /// The last reason that was told.
    told: Option<String>,
}

impl<'a> Waiting<'a> {
    pub(super) fn of(server: &'a Server) -> Self {
        Self { server, since: Instant::now(), told: None }
    }

    /// Starts anew, because something happened.
    pub(super) fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// Waits until nothing has happened for a while, for a reason that was not reported yet. The future is cancel-safe.
    pub(super) async fn new_reason(&mut self) -> String {
        loop {
            sleep_until(self.since + QUIET).await;
            let reason = self.ask().await;
            self.since = Instant::now();
            if let Some(reason) = reason.filter(|reason| is_new(self.told.as_deref(), reason)) {
                self.told = Some(reason.clone());
                return reason;
            }
        }
    }

    /// Returns the server's explanation of its capacity; `None` when no scenario waits, or when the server does not
    /// answer. The code that follows the run notices the latter by itself.
    async fn ask(&self) -> Option<String> {
        let capacity = self.server.get("/v1/capacity").await.ok()?;
        let waits = capacity["queued"].as_u64().is_some_and(|queued| queued > 0);
        let explanation = capacity["explanation"].as_str().filter(|_| waits)?;
        Some(untrusted::line(explanation, LONGEST))
    }
}

/// Returns true if a reason differs from the last one. The number of waiting scenarios and the amounts of resources
/// change all the time and are no news.
fn is_new(told: Option<&str>, reason: &str) -> bool {
    let essence = |reason: &str| {
        let (_, reason) = reason.split_once(": ").unwrap_or(("", reason));
        reason.replace(|letter: char| letter.is_ascii_digit(), "")
    };
    told.is_none_or(|told| essence(told) != essence(reason))
}

#[cfg(test)]
mod tests {
    use super::is_new;

    #[test]
    fn a_reason_is_told_again_when_it_changes_and_not_when_numbers_do() {
        let first = "3 scenarios wait: no worker is there";
        assert!(is_new(None, first));
        assert!(!is_new(Some(first), first));
        assert!(!is_new(Some(first), "1 scenario waits: no worker is there"));
        assert!(is_new(Some(first), "3 scenarios wait: all 2 slots are taken"));
        assert!(!is_new(Some("3 scenarios wait: all 2 slots are taken"), "9 scenarios wait: all 40 slots are taken"));
        let full =
            |free: u32| format!("1 scenario waits: no worker takes anything (a: only {free} MiB of disk are free)");
        assert!(!is_new(Some(&full(7)), &full(512)));
        assert!(is_new(Some(&full(7)), "1 scenario waits: no worker takes anything (a: draining)"));
    }
}
