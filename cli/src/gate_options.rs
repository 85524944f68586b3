//! What counts as a regression: the options that `compare` and `ci` share.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use scenario::regression::{Gate, Measure};

use crate::output::CommandError;

/// What counts as a regression.
#[derive(Debug, Clone, Args)]
pub(crate) struct GateOptions {
    /// How much the mean pass rate of all specs may differ and count as equivalent, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    margin: f64,
    /// Fail also when this became worse by more than chance explains: composite, cost or time; several times for several.
    #[arg(long = "gate", value_name = "MEASURE", value_delimiter = ',', value_parser = gate_parser())]
    measures: Vec<Measure>,
}

impl GateOptions {
    pub(crate) fn gate(&self) -> Result<Gate, CommandError> {
        let problem = || CommandError::Usage(format!("`--margin {}` is no share from 0 to 1", self.margin));
        Gate::new(Some(self.margin), self.measures.clone()).ok_or_else(problem)
    }
}

fn gate_parser() -> impl TypedValueParser<Value = Measure> {
    let words = PossibleValuesParser::new(Measure::GATEABLE.map(Measure::word));
    words.try_map(|word| Measure::gateable(&word).ok_or("no such measure"))
}
