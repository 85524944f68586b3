//! Boxes that wait for somebody to want them: namespaces and control groups are made, and only the root is missing. While one
//! scenario runs, the next one's box is begun.

use std::sync::{Mutex, PoisonError};

use doorkeeper::plan::Plan;
use tokio::process::Child;

use super::LocalBackend;
use super::cgroups::Group;
use super::process::Watcher;
use crate::entropy;

/// Number of boxes that may wait.
const MOST: usize = 2;
/// The time that a killed one may take to end, in milliseconds.
const ENDING_MS: u32 = 2000;

/// The boxes that wait.
#[derive(Debug, Default)]
pub(super) struct Spares(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Spare>,
    /// Number of boxes that are being made.
    coming: usize,
    ended: bool,
}

/// A box that waits: the process that will watch it, and its control groups. It ends when nobody holds it any more.
#[derive(Debug)]
pub(super) struct Spare {
    child: Option<Child>,
    group: Group,
}

impl Spare {
    /// Hands the box over to the caller, who is in charge of it from now on.
    pub(super) fn into_parts(mut self) -> (Option<Child>, Group) {
        (self.child.take(), std::mem::take(&mut self.group))
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Without anybody to speak to, it goes by itself.
            drop(child.stdin.take());
            let _ = child.start_kill();
            wait_for_end(&mut child);
        }
        let _ = self.group.remove();
    }
}

/// Waits until a killed process has ended, for a bounded time. The kernel keeps its control group until then, and the runtime
/// that would reap it may have ended before.
fn wait_for_end(child: &mut Child) {
    for _ in 0..ENDING_MS {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

impl Spares {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a waiting box, if there is one.
    pub(super) fn take(&self) -> Option<Spare> {
        self.state().waiting.pop()
    }

    /// Ends all of them; there will be no more.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
    }

    /// Returns true if one more is wanted, which the caller then makes.
    fn begin(&self) -> bool {
        let mut state = self.state();
        let is_wanted = !state.ended && state.waiting.len() + state.coming < MOST;
        if is_wanted {
            state.coming += 1;
        }
        is_wanted
    }

    fn arrive(&self, spare: Option<Spare>) {
        let mut state = self.state();
        state.coming -= 1;
        if !state.ended {
            state.waiting.extend(spare);
        }
    }
}

impl LocalBackend {
    /// Makes a box for the next time, in the background. A failure is reported when it matters.
    pub(super) fn replenish(&self) {
        if !self.0.spares.begin() {
            return;
        }
        // Whoever makes it does not keep the backend: who drops that wants to be done.
        let backend = std::sync::Arc::downgrade(&self.0);
        tokio::spawn(async move {
            let Some(inner) = backend.upgrade() else { return };
            let backend = Self(inner);
            let spare = backend.make_spare().await;
            backend.0.spares.arrive(spare);
            backend.replenish();
        });
    }

    async fn make_spare(&self) -> Option<Spare> {
        let group = self.0.cgroups.make(&format!("spare-{}", entropy::hex(8))).ok()?;
        let first = Plan {
            users: vec![self.0.rights.users()],
            groups: vec![self.0.rights.groups()],
            cgroups: group.folders(),
            ..Plan::default()
        };
        // Whoever stops waiting for this leaves nothing.
        let mut spare = Spare { child: None, group };
        let child = spare.child.insert(Watcher::launch_spare(&self.0.doorkeeper).ok()?);
        Watcher::begin(child, &first).await.ok()?;
        Some(spare)
    }
}
