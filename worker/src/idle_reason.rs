//! Reason why a worker takes no jobs, in words for people.

use scenario::count_noun_as;
use store::Demand;

use crate::config::Config;
use crate::control::Order;
use crate::maintenance::Disk;
use crate::slots::{Room, Slots};

/// Returns the reason why a worker takes no jobs; `None` when it would.
pub(crate) fn reason(
    config: &Config,
    order: Order,
    slots: &Slots,
    (disk, obstacle): (Option<Disk>, Option<String>),
    next: Option<Demand>,
) -> Option<String> {
    if order != Order::Work {
        return Some("draining".to_owned());
    }
    if obstacle.is_some() {
        return obstacle;
    }
    let most = config.slots.max(1);
    let room = match slots.room(config) {
        Room::None => {
            return Some(format!("no room: {} of {} busy", slots.len(), count_noun_as(most, "slot is", "slots are")));
        }
        Room::For(room) => Some(room),
        Room::Any => None,
    };
    if let Some(disk) = disk.filter(|disk| !disk.is_enough) {
        let (free, needed) = (disk.free >> 20, config.watermark >> 20);
        return Some(format!("only {free} MiB of disk are free, {needed} needed"));
    }
    too_large(config, slots.promised(), room?, next?)
}

/// Explains why the next job does not fit into the budget.
fn too_large(config: &Config, promised: Demand, room: Demand, next: Demand) -> Option<String> {
    if next.memory > room.memory {
        let [promised, budget, next] = [promised.memory, config.budget.memory, next.memory].map(gibibytes);
        return Some(format!("memory budget: {promised} of {budget} GiB promised, next job needs {next}"));
    }
    let [has, all, needs] = [promised.cpu_milli, config.budget.cpu_milli, next.cpu_milli].map(cores);
    let lacks = next.cpu_milli > room.cpu_milli;
    lacks.then(|| format!("processor budget: {has} of {all} cores promised, next job needs {needs}"))
}

fn gibibytes(bytes: u64) -> String {
    tenths(bytes / ((1 << 30) / 10))
}

fn cores(milli: u64) -> String {
    tenths(milli / 100)
}

/// A number of tenths, such as `14.0`.
fn tenths(tenths: u64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use store::{Lane, WorkerId};
    use uuid::Uuid;

    use super::*;
    use crate::slots::{Taken, What};
    use crate::stop::Stop;

    const GIB: u64 = 1 << 30;

    fn config() -> Config {
        let worker = WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(2) };
        let mut config = Config::new(Lane::Shared, worker, PathBuf::new(), PathBuf::new());
        config.slots = 4;
        config.budget = Demand { cpu_milli: 8000, memory: 16 * GIB };
        config
    }

    async fn taken(demands: &[Demand]) -> Slots {
        let mut slots = Slots::default();
        for demand in demands {
            let task = tokio::spawn(async {}).id();
            slots.take(task, Taken { what: What::Sandbox, demand: *demand, stop: Arc::new(Stop::default()) });
        }
        slots
    }

    #[tokio::test]
    async fn a_worker_says_why_it_takes_nothing() {
        let small = Demand { cpu_milli: 1000, memory: GIB };
        let large = Demand { cpu_milli: 2500, memory: 7 * GIB };
        let check = async |order, demands: &[Demand], free: u64, next, expected: Option<&str>| {
            let disk = Some(Disk { free, is_enough: free >= GIB });
            let said = reason(&config(), order, &taken(demands).await, (disk, None), next);
            assert_eq!(said.as_deref(), expected);
        };
        check(Order::Work, &[], 9 * GIB, Some(large), None).await;
        check(Order::Work, &[small], 9 * GIB, Some(small), None).await;
        check(Order::Drain, &[], 9 * GIB, None, Some("draining")).await;
        check(Order::Work, &[small; 4], 9 * GIB, None, Some("no room: 4 of 4 slots are busy")).await;
        check(Order::Work, &[small], 312 << 20, None, Some("only 312 MiB of disk are free, 1024 needed")).await;
        let memory = "memory budget: 14.0 of 16.0 GiB promised, next job needs 3.0";
        let next = Demand { memory: 3 * GIB, ..small };
        check(Order::Work, &[large; 2], 9 * GIB, Some(next), Some(memory)).await;
        let disk = Some(Disk { free: 9 * GIB, is_enough: true });
        let unkept = || Some("the artifact place cannot be written".to_owned());
        let said = reason(&config(), Order::Work, &taken(&[small; 4]).await, (disk, unkept()), None);
        assert_eq!(said, unkept(), "slots may be busy only because of it");
        let cores = "processor budget: 5.0 of 8.0 cores promised, next job needs 4.5";
        let next = Demand { cpu_milli: 4500, ..small };
        check(Order::Work, &[large; 2], 9 * GIB, Some(next), Some(cores)).await;
    }
}
