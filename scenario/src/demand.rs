//! The resources that one sandbox takes from a machine.

/// The resources that one sandbox takes from a machine at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// Thousandths of a processor core.
    pub cpu_milli: u64,
    /// Bytes of memory.
    pub memory: u64,
}

impl Demand {
    /// A number of processor cores, and bytes of memory.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of cores is small and positive"
    )]
    pub fn new(cores: f64, memory: u64) -> Self {
        Self { cpu_milli: (cores * 1000.0).round() as u64, memory }
    }
}
