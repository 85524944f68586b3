//! The time for which a fault holds that is about no call, in milliseconds since the agent started.

use std::time::Duration;

use crate::spec::sections::Trigger;
use crate::spec::sections::chaos::FaultStart;

/// The beginning of a fault that no call begins.
#[must_use]
pub fn begins_at(start: &FaultStart, trigger: &Trigger) -> u64 {
    let window = trigger.between.as_ref().and_then(|window| window.first().copied());
    start.at.or(window).map_or(0, |from| milliseconds(from.get()))
}

/// The end of a fault that began at this time; `None` when it lasts as long as the agent.
#[must_use]
pub fn ends_at(trigger: &Trigger, began_ms: u64) -> Option<u64> {
    let window = trigger.between.as_ref().and_then(|window| window.last().copied());
    let lasting = trigger.lasting.map(|lasting| began_ms.saturating_add(milliseconds(lasting.get())));
    lasting.into_iter().chain(window.map(|to| milliseconds(to.get()))).min()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{begins_at, ends_at};
    use crate::checks::testing::read;
    use crate::spec::sections::chaos::FileFault;

    fn span(keys: &str) -> (u64, Option<u64>) {
        let fault: FileFault = read(&format!("{{mode: disk_full{keys}}}"));
        let from = begins_at(&fault.start, &fault.trigger);
        (from, ends_at(&fault.trigger, from))
    }

    #[test]
    fn a_fault_holds_from_its_beginning_to_the_first_end() {
        assert_eq!(span(""), (0, None));
        assert_eq!(span(", at: 2s"), (2000, None));
        assert_eq!(span(", at: 2s, for: 500ms"), (2000, Some(2500)));
        assert_eq!(span(", between: [1s, 3s]"), (1000, Some(3000)));
        assert_eq!(span(", between: [1s, 3s], for: 1s"), (1000, Some(2000)));
    }
}
