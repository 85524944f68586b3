//! How often an agent will run, and what its model costs: what commands that show reports share.

use clap::Args;
use scenario::forecast::ForecastOptions;

use crate::whole_number::whole_number;

/// The dearest price for a million tokens.
const MOST_PRICE: f64 = 1_000_000.0;

/// How often an agent will run, and what its model costs.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ForecastArgs {
    /// Project tokens and cost to a day and a month, for an agent that is to succeed so often in a day.
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>)]
    forecast_runs_per_day: Option<u64>,
    /// What a million tokens cost in US dollars, for the forecast. Without it, the prices of the models that answered are used.
    #[arg(long, value_name = "USD", value_parser = price, requires = "forecast_runs_per_day")]
    price_per_mtok: Option<f64>,
}

impl ForecastArgs {
    /// What is asked of a forecast; `None` when none is wanted.
    pub(crate) fn options(self) -> Option<ForecastOptions> {
        let options = |runs_per_day| ForecastOptions { runs_per_day, price_per_mtok_usd: self.price_per_mtok };
        self.forecast_runs_per_day.map(options)
    }
}

fn price(text: &str) -> Result<f64, String> {
    let problem = || format!("write a number of dollars from 0 to {MOST_PRICE}");
    text.parse().ok().filter(|price| (0.0..=MOST_PRICE).contains(price)).ok_or_else(problem)
}
