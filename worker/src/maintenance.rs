//! Periodic tasks of a worker: jobs of dead workers, leftovers of dead processes, and the disk.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use store::StoreError;

use crate::Worker;
use crate::heartbeat::later;
use crate::notice::Notice;
use crate::reaper::{lose_sandboxes, reap};

/// Interval between two looks at the disk.
const LOOK_AT_DISK: Duration = Duration::from_secs(10);

/// When something was last looked at; `None` when it never was.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    for_the_gone: Option<Timestamp>,
    for_strays: Option<Timestamp>,
    for_lost_sandboxes: Option<Timestamp>,
    at_disk: Option<(Timestamp, Disk)>,
}

impl Looked {
    /// Makes the next look search for leftovers at once.
    pub(crate) fn forget_strays(&mut self) {
        self.for_strays = None;
    }

    /// Returns the state of the disk at the last look.
    pub(crate) fn disk(&self) -> Option<Disk> {
        self.at_disk.map(|(_, disk)| disk)
    }
}

/// State of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disk {
    /// Free bytes.
    pub(crate) free: u64,
    /// True when they are enough to start a job.
    pub(crate) is_enough: bool,
}

impl Worker {
    /// Returns jobs of dead workers to the queue.
    pub(crate) async fn look_for_the_gone(&mut self) -> Result<(), StoreError> {
        if self.is_due(self.looked.for_the_gone, self.shared.config.poll) {
            self.looked.for_the_gone = Some(self.shared.clock.now());
            reap(&self.shared, |held| self.slots.has(&held.lease)).await?;
        }
        if self.shared.config.service.is_some()
            && self.is_due(self.looked.for_lost_sandboxes, self.shared.config.lease / 6)
        {
            self.looked.for_lost_sandboxes = Some(self.shared.clock.now());
            lose_sandboxes(&self.shared).await?;
        }
        Ok(())
    }

    /// Removes leftovers of dead processes in the background, one sweep at a time.
    pub(crate) fn sweep(&mut self) {
        while self.sweeping.try_join_next().is_some() {}
        if !self.sweeping.is_empty() || !self.is_due(self.looked.for_strays, self.shared.config.sweep) {
            return;
        }
        self.looked.for_strays = Some(self.shared.clock.now());
        let shared = Arc::clone(&self.shared);
        self.sweeping.spawn(async move {
            if let Err(error) = shared.sandboxes.sweep().await {
                shared.retries.observe("removing what dead processes left").failed(error);
            }
        });
    }

    /// Tells if the disk has enough room to start a job. Notifies watchers when it no longer has.
    pub(crate) async fn disk(&mut self) -> Disk {
        let before = self.looked.at_disk;
        if let Some((at, disk)) = before
            && !self.is_due(Some(at), LOOK_AT_DISK)
        {
            return disk;
        }
        let watermark = self.shared.config.watermark;
        let disk = match self.shared.sandboxes.make_room(watermark).await {
            Ok(space) => Disk { free: space.free, is_enough: space.free >= watermark },
            Err(error) => {
                self.shared.retries.observe("looking at the disk").failed(error);
                Disk { free: 0, is_enough: true }
            }
        };
        if !disk.is_enough && before.is_none_or(|(_, before)| before.is_enough) {
            let (free, needed) = (disk.free >> 20, watermark >> 20);
            let message = format!("only {free} MiB of disk are free, and {needed} MiB are needed");
            self.shared.observer.tell(Notice::Problem(message));
        }
        self.looked.at_disk = Some((self.shared.clock.now(), disk));
        disk
    }

    /// Returns true if it is time to look again. A clock that was set back is no reason to wait for longer.
    pub(crate) fn is_due(&self, last: Option<Timestamp>, period: Duration) -> bool {
        let now = self.shared.clock.now();
        last.is_none_or(|last| now < last || later(last, period) <= now)
    }
}
