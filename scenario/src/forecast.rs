//! What an agent will use and cost at a given rate, from what it used in the scenarios that ran.
//!
//! Tokens for each success are taken as constant, so the projection grows with the number of runs; a month has 30 days. It is
//! as good as the numbers that it starts from, so it says where those came from.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::count_noun;
use crate::spec::Spec;
use crate::spec::sections::{Model, ModelMode, Turn};
use crate::statistics::count;
use crate::suite::Pooled;
use crate::suite::pooled::float;

/// How many days a month has.
const DAYS: f64 = 30.0;
/// How many tokens a price is for.
const MILLION: f64 = 1_000_000.0;

/// What is asked of a forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastOptions {
    /// How often the agent is meant to succeed in a day.
    pub runs_per_day: u64,
    /// What a million tokens cost in US dollars; the prices of the models without it.
    pub price_per_mtok_usd: Option<f64>,
}

/// Where numbers of tokens came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The model's provider counted them.
    Provider,
    /// A recording of a provider's answers has them.
    Recording,
    /// The turns of a scripted model declare them.
    Script,
    /// They are estimated from the length of a script's texts, at least in part.
    Estimate,
}

/// Tokens and cost at a given rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// How many runs a day.
    pub runs_per_day: u64,
    /// What a million tokens were said to cost.
    #[serde(default)]
    pub price_per_mtok_usd: Option<f64>,
    /// Where the money comes from.
    pub priced_by: PricedBy,
    /// Where the tokens come from.
    pub tokens_from: Vec<TokenSource>,
    /// For runs that succeed: what failed is paid for by what succeeded.
    pub per_success: Projection,
    /// For runs, whether they succeed or not.
    pub per_run: Projection,
}

/// Where the money of a forecast comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PricedBy {
    /// A price was given.
    Option,
    /// The models that answered have prices.
    Models,
    /// There is no price.
    Nothing,
}

/// What one run takes, and all of a day and a month.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// Tokens of one.
    pub tokens: f64,
    /// Tokens of a day.
    pub tokens_per_day: f64,
    /// Tokens of a month.
    pub tokens_per_month: f64,
    /// Dollars of one, where there is a price.
    #[serde(default)]
    pub usd: Option<f64>,
    /// Dollars of a day.
    #[serde(default)]
    pub usd_per_day: Option<f64>,
    /// Dollars of a month.
    #[serde(default)]
    pub usd_per_month: Option<f64>,
}

/// The reason why nothing can be projected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoForecast {
    /// Nothing passed.
    #[error("no scenario passed, so there is no cost of a success to project")]
    NoSuccess,
    /// Nobody saw a model.
    #[error("no tokens were counted, so there is nothing to project: the agents called no model that the gateway saw")]
    NoTokens,
}

impl TokenSource {
    /// Where the tokens of scenarios of a spec come from; `None` when it has no model.
    #[must_use]
    pub fn of(spec: &Spec) -> Option<Self> {
        let model = spec.model.as_ref()?;
        Some(match model.mode {
            ModelMode::Proxy | ModelMode::Record => Self::Provider,
            ModelMode::Replay => Self::Recording,
            ModelMode::Scripted if declares_all_tokens(model) => Self::Script,
            ModelMode::Scripted => Self::Estimate,
        })
    }

    /// Its words, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Provider => "counted by the provider",
            Self::Recording => "taken from a recording",
            Self::Script => "declared by a script",
            Self::Estimate => "estimated from the length of a script's texts",
        }
    }
}

/// Whether every answer of a script says how many tokens it counts.
fn declares_all_tokens(model: &Model) -> bool {
    let turns = model.turns.iter().chain(model.rules.iter().map(|rule| &rule.turn));
    let declares = |turn: &Turn| match turn.variants.as_slice() {
        [] => turn.prompt_tokens.get() > 0 && turn.completion_tokens.get() > 0,
        variants => variants.iter().all(|one| one.prompt_tokens.get() > 0 && one.completion_tokens.get() > 0),
    };
    turns.into_iter().all(declares)
}

impl Forecast {
    /// Projects what was used.
    pub fn of(
        options: ForecastOptions,
        pooled: &Pooled,
        mut tokens_from: Vec<TokenSource>,
    ) -> Result<Self, NoForecast> {
        let tokens = pooled.tokens_per_success.ok_or(NoForecast::NoSuccess)?;
        if pooled.total_tokens == 0 {
            return Err(NoForecast::NoTokens);
        }
        tokens_from.sort_unstable();
        tokens_from.dedup();
        let tokens_per_run = float(pooled.total_tokens) / count(pooled.judged.max(1));
        let cost_of_models = pooled.cost_of_models();
        let cost = |tokens: f64| match options.price_per_mtok_usd {
            Some(price) => Some(tokens * price / MILLION),
            None => cost_of_models.map(|cost| cost * tokens / float(pooled.total_tokens)),
        };
        Ok(Self {
            runs_per_day: options.runs_per_day,
            price_per_mtok_usd: options.price_per_mtok_usd,
            priced_by: match (options.price_per_mtok_usd, cost_of_models) {
                (Some(_), _) => PricedBy::Option,
                (None, Some(_)) => PricedBy::Models,
                (None, None) => PricedBy::Nothing,
            },
            tokens_from,
            per_success: Projection::of(tokens, cost(tokens), options.runs_per_day),
            per_run: Projection::of(tokens_per_run, cost(tokens_per_run), options.runs_per_day),
        })
    }

    /// The forecast in lines for people: one for successes, one for runs, and where the numbers come from.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let rate = count_noun(usize::try_from(self.runs_per_day).unwrap_or(usize::MAX), "run");
        let mut lines = vec![format!("{rate} a day, {}", self.per_success.line("success"))];
        if self.per_run.tokens.to_bits() != self.per_success.tokens.to_bits() {
            lines.push(format!("{rate} a day, {}", self.per_run.line("run")));
        }
        let sources: Vec<_> = self.tokens_from.iter().map(|source| source.words()).collect();
        let mut origin = match sources.is_empty() {
            true => String::new(),
            false => format!("tokens {}; ", sources.join(", and ")),
        };
        let _ = match (self.priced_by, self.price_per_mtok_usd) {
            (PricedBy::Option, Some(price)) => write!(origin, "${price} for a million tokens"),
            (PricedBy::Models, _) => write!(origin, "money by the prices of the models that answered"),
            _ => write!(origin, "no price is known: give one with --price-per-mtok"),
        };
        lines.push(origin);
        lines
    }
}

impl Projection {
    fn of(tokens: f64, usd: Option<f64>, runs_per_day: u64) -> Self {
        let runs = float(runs_per_day);
        let money = |usd: f64| (usd * 1e9).round() / 1e9;
        Self {
            tokens,
            tokens_per_day: tokens * runs,
            tokens_per_month: tokens * runs * DAYS,
            usd: usd.map(money),
            usd_per_day: usd.map(|usd| money(usd * runs)),
            usd_per_month: usd.map(|usd| money(usd * runs * DAYS)),
        }
    }

    /// `99 tokens per success: 495,000 tokens a day, 14,850,000 a month; $2.48 a day, $74.25 a month`.
    fn line(&self, of: &str) -> String {
        let mut text = format!(
            "{} tokens per {of}: {} tokens a day, {} a month",
            grouped(self.tokens),
            grouped(self.tokens_per_day),
            grouped(self.tokens_per_month)
        );
        if let (Some(day), Some(month)) = (self.usd_per_day, self.usd_per_month) {
            let _ = write!(text, "; ${day:.2} a day, ${month:.2} a month");
        }
        text
    }
}

/// A number without fraction, with a comma between thousands.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Forecast, ForecastOptions, NoForecast, PricedBy, TokenSource, grouped};
    use crate::suite::Pooled;

    fn pooled(judged: usize, passed: usize, total_tokens: u64, total_cost_usd: f64) -> Pooled {
        let per = |total: f64| (passed > 0).then(|| total / f64::from(u32::try_from(passed).expect("few")));
        #[expect(clippy::cast_precision_loss, reason = "few tokens")]
        let tokens_per_success = per(total_tokens as f64);
        let cost_per_success_usd = per(total_cost_usd);
        Pooled { judged, passed, total_tokens, total_cost_usd, unpriced: 0, tokens_per_success, cost_per_success_usd }
    }

    fn options(runs_per_day: u64, price_per_mtok_usd: Option<f64>) -> ForecastOptions {
        ForecastOptions { runs_per_day, price_per_mtok_usd }
    }

    #[test]
    fn tokens_of_a_success_are_projected_to_a_day_and_a_month() {
        let forecast = Forecast::of(options(5000, Some(5.0)), &pooled(1, 1, 99, 0.0), vec![TokenSource::Script]);
        let forecast = forecast.expect("a forecast");
        assert_eq!(
            json!(forecast.per_success),
            json!({
                "tokens": 99.0, "tokens_per_day": 495_000.0, "tokens_per_month": 14_850_000.0,
                "usd": 0.000_495, "usd_per_day": 2.475, "usd_per_month": 74.25,
            })
        );
        assert_eq!(forecast.per_run, forecast.per_success);
        insta::assert_snapshot!(forecast.lines().join("\n"), @r"
        5000 runs a day, 99 tokens per success: 495,000 tokens a day, 14,850,000 a month; $2.48 a day, $74.25 a month
        tokens declared by a script; $5 for a million tokens
        ");
    }

    #[test]
    fn what_failed_is_paid_for_by_what_succeeded() {
        let forecast = Forecast::of(options(10, None), &pooled(8, 4, 800, 0.08), Vec::new()).expect("a forecast");
        assert_eq!((forecast.per_success.tokens, forecast.per_run.tokens), (200.0, 100.0));
        assert_eq!((forecast.per_success.usd, forecast.per_run.usd), (Some(0.02), Some(0.01)));
        assert_eq!((forecast.priced_by, forecast.per_success.usd_per_month), (PricedBy::Models, Some(6.0)));
    }

    #[test]
    fn nothing_is_projected_without_success_or_tokens_and_no_money_without_price() {
        let of = |pooled: &Pooled| Forecast::of(options(1, Some(5.0)), pooled, Vec::new());
        assert_eq!(of(&pooled(2, 0, 200, 0.0)), Err(NoForecast::NoSuccess));
        assert_eq!(of(&pooled(0, 0, 0, 0.0)), Err(NoForecast::NoSuccess));
        assert_eq!(of(&pooled(2, 2, 0, 0.0)), Err(NoForecast::NoTokens));
        let unpriced = Pooled { unpriced: 1, ..pooled(2, 2, 200, 0.1) };
        let forecast = Forecast::of(options(1, None), &unpriced, Vec::new()).expect("tokens");
        assert_eq!((forecast.priced_by, forecast.per_success.usd), (PricedBy::Nothing, None));
        assert!(forecast.lines().concat().contains("give one with --price-per-mtok"));
    }

    #[test]
    fn where_tokens_come_from_is_read_off_the_spec() {
        let of = |model: &str| {
            let text = format!(
                "version: 1\nid: x\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n{model}\n\
                 invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
            );
            TokenSource::of(&crate::spec::load(&text, None).spec.expect("a spec"))
        };
        let counted = "{content: a, prompt_tokens: 9, completion_tokens: 1}";
        assert_eq!(of(""), None);
        assert_eq!(of(&format!("model: {{mode: scripted, turns: [{counted}]}}")), Some(TokenSource::Script));
        assert_eq!(
            of(&format!("model: {{mode: scripted, turns: [{counted}, {{content: b}}]}}")),
            Some(TokenSource::Estimate)
        );
        let variants = format!("model: {{mode: scripted, turns: [{{variants: [{counted}, {counted}]}}]}}");
        assert_eq!(of(&variants), Some(TokenSource::Script));
        assert_eq!(of("model: {mode: proxy, upstream: {alias: x}}"), Some(TokenSource::Provider));
    }

    #[test]
    fn thousands_are_told_apart() {
        assert_eq!([0.0, 999.0, 1000.0, 1_234_567.4].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
