//! `resources`: what one sandbox may use.

use crate::spec::section::section;
use crate::spec::types::{Bytes, Cpu, Timespan, Whole};

section! {
    /// What one sandbox may use. A limit that fires makes the scenario a `fail` that names the limit.
    pub struct Resources {
        /// How long preparing, acting and probing may take together. Fetching images does not count.
        timeout: Timespan = Timespan::from_secs(600),
        /// Processor cores.
        cpu: Cpu = Cpu::DEFAULT,
        /// Memory of the agent's container, besides `disk`.
        memory: Bytes<16, 16384> = Bytes::from_mebi(2048),
        /// Size of the workspace. Writing more fails with "no space left on device".
        disk: Bytes<1, 65536> = Bytes::from_mebi(1024),
        /// Processes and threads that may exist at once.
        pids: Whole<8, 32768> = Whole::new(512),
        /// How much the agent may print, standard output and standard error together.
        output: Bytes<1, 1024> = Bytes::from_mebi(64),
        /// How many of this spec's sandboxes may run at once.
        concurrency_limit: Option<Whole<1, 1000>>,
    }
}
