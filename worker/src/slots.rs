//! Slots for jobs, and the room that the jobs in them take on the machine.

use std::collections::HashMap;
use std::sync::Arc;

use store::{Demand, Lease};
use tokio::task;

use crate::config::Config;
use crate::stop::{Stop, Why};

/// The jobs that are being done, by the tasks that do them, and their shares of the machine.
///
/// A job can be here twice: when its lease was lost, and it was claimed again before its first task has ended.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    taken: HashMap<task::Id, Taken>,
}

/// A job that is being done.
#[derive(Debug)]
pub(crate) struct Taken {
    /// Purpose of the slot.
    pub(crate) what: What,
    /// Share of the machine that it takes.
    pub(crate) demand: Demand,
    /// Stops it.
    pub(crate) stop: Arc<Stop>,
}

/// Purpose of a slot that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// A job under this lease.
    Job(Lease),
    /// An interactive sandbox.
    Sandbox,
}

/// Room for another job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// No room.
    None,
    /// A job that takes no more than this.
    For(Demand),
    /// Any job, because there is no other.
    Any,
}

impl Slots {
    /// Returns the room for another job.
    pub(crate) fn room(&self, config: &Config) -> Room {
        if self.taken.len() >= config.slots.max(1) {
            return Room::None;
        }
        if self.taken.is_empty() {
            return Room::Any;
        }
        let promised = self.promised();
        Room::For(Demand {
            cpu_milli: config.budget.cpu_milli.saturating_sub(promised.cpu_milli),
            memory: config.budget.memory.saturating_sub(promised.memory),
        })
    }

    /// Takes room for a job.
    pub(crate) fn take(&mut self, task: task::Id, taken: Taken) {
        self.taken.insert(task, taken);
    }

    /// Frees the slot of a job.
    pub(crate) fn free(&mut self, task: task::Id) {
        self.taken.remove(&task);
    }

    /// Ends everything.
    pub(crate) fn stop_all(&self, why: Why) {
        for taken in self.taken.values() {
            taken.stop.ask(why);
        }
    }

    /// Ends the sandboxes that people work in.
    pub(crate) fn stop_sandboxes(&self, why: Why) {
        for taken in self.taken.values().filter(|taken| taken.what == What::Sandbox) {
            taken.stop.ask(why);
        }
    }

    /// Returns the number of sandboxes that people work in.
    pub(crate) fn sandboxes(&self) -> usize {
        self.taken.values().filter(|taken| taken.what == What::Sandbox).count()
    }

    /// Returns the sum that is promised to all jobs and sandboxes.
    pub(crate) fn promised(&self) -> Demand {
        let sum = |part: fn(&Demand) -> u64| {
            self.taken.values().fold(0_u64, |sum, taken| sum.saturating_add(part(&taken.demand)))
        };
        Demand { cpu_milli: sum(|demand| demand.cpu_milli), memory: sum(|demand| demand.memory) }
    }

    /// Returns true if a job is being done here under this lease.
    pub(crate) fn has(&self, lease: &Lease) -> bool {
        self.taken.values().any(|taken| matches!(&taken.what, What::Job(held) if held == lease))
    }

    /// Returns the number of jobs and sandboxes in slots.
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }
}
