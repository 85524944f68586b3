//! Prices of models.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use scenario::evidence::TokenCount;
use serde::Deserialize;

/// The prices that ship with this version.
const SHIPPED: &str = include_str!("prices.yaml");
/// A year, or a month and day: the first digits of the date in a model's name.
const DATE_DIGITS: usize = 4;

static TABLE: LazyLock<Table> = LazyLock::new(|| serde_yaml::from_str(SHIPPED).unwrap_or_default());

/// Price of a model's tokens, in US dollars for a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Price {
    /// Tokens of requests.
    pub(super) input: Dollars,
    /// Tokens of answers.
    pub(super) output: Dollars,
    /// Tokens of requests that the provider had in its cache; as much as others without it.
    #[serde(default)]
    pub(super) cache_read: Option<Dollars>,
}

/// An amount of money that can be added up.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Dollars(f64);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(amount: f64) -> Result<Self, String> {
        let is_price = amount.is_finite() && (0.0..1e6).contains(&amount);
        if is_price {
            Ok(Self(amount))
        } else {
            Err(format!("{amount} is no price in US dollars for a million tokens"))
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[cfg_attr(not(test), expect(dead_code, reason = "the date is for people who edit the table"))]
    as_of: String,
    prices: Prices,
}

/// Prices by the name of the model.
///
/// A price holds for the model of that name, and for its dated versions: `gpt-4o` is also the price of
/// `gpt-4o-2024-08-06` and `gpt-4o-latest`. A name with a `*` at its end holds for every model that begins like it. The
/// longest name counts.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub(super) struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// The price of a model.
    pub(super) fn of(&self, model: &str) -> Option<&Price> {
        let named = |name: &str| match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => model.strip_prefix(name).is_some_and(is_version),
        };
        let others = || self.0.iter().filter(|(name, _)| named(name)).max_by_key(|(name, _)| name.len());
        self.0.get(model).or_else(|| others().map(|(_, price)| price))
    }

    /// The names for which there is a price.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The price of a model, as it ships with this version.
pub(super) fn shipped(model: &str) -> Option<&'static Price> {
    TABLE.prices.of(model)
}

/// Returns true if this stands between the name of a model and the end of that of one of its versions.
fn is_version(rest: &str) -> bool {
    let is_date = |text: &str| {
        text.len() >= DATE_DIGITS
            && text.bytes().take(DATE_DIGITS).all(|byte| byte.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    rest == "-latest" || rest.starts_with('@') || rest.strip_prefix('-').is_some_and(is_date)
}

impl Price {
    /// Returns the cost of these tokens.
    pub(super) fn cost(&self, tokens: &TokenCount) -> f64 {
        let cached = tokens.cache_read.min(tokens.input);
        let cache_read = self.cache_read.unwrap_or(self.input);
        let parts = [(tokens.input - cached, self.input), (cached, cache_read), (tokens.output, self.output)];
        parts.iter().map(|(count, price)| *count as f64 * price.0).sum::<f64>() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::TokenCount;

    use super::{Prices, SHIPPED, Table, shipped};

    fn prices(yaml: &str) -> Prices {
        serde_yaml::from_str(yaml).expect("prices")
    }

    fn input(price: Option<&super::Price>) -> Option<f64> {
        price.map(|price| price.input.0)
    }

    #[test]
    fn the_shipped_table_is_whole() {
        let table: Table = serde_yaml::from_str(SHIPPED).expect("a table");
        assert!(table.prices.names().count() > 30 && table.as_of.starts_with("20"));
        for name in table.prices.names() {
            let price = shipped(name).expect("a price");
            assert!(price.cache_read.is_none_or(|cached| cached.0 < price.input.0), "{name}");
        }
    }

    #[test]
    fn dated_names_find_their_family_and_others_do_not() {
        for (model, price) in [
            ("gpt-4o", Some(2.5)),
            ("gpt-4o-2024-08-06", Some(2.5)),
            ("gpt-4o-2024-05-13", Some(5.0)),
            ("gpt-4o-mini-2024-07-18", Some(0.15)),
            ("gpt-4-0613", Some(30.0)),
            ("gpt-4o-audio-preview", None),
            ("claude-sonnet-4-5-20250929", Some(3.0)),
            ("claude-opus-4-20250514", Some(15.0)),
            ("claude-opus-4-5@20251101", Some(5.0)),
            ("claude-opus-4-9", None),
            ("claude-3-5-haiku-latest", Some(0.8)),
            ("gpt", None),
            ("llama", None),
        ] {
            assert_eq!(input(shipped(model)), price, "{model}");
        }
    }

    #[test]
    fn a_star_stands_for_anything_and_the_longest_name_counts() {
        let prices = prices(
            "{'llama*': {input: 1, output: 1}, 'llama-70*': {input: 2, output: 2}, llama: {input: 0, output: 0}}",
        );
        for (model, price) in [("llama", 0.0), ("llama-8b", 1.0), ("llama-70b", 2.0), ("llama-2024", 1.0)] {
            assert_eq!(input(prices.of(model)), Some(price), "{model}");
        }
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let prices = prices("{a: {input: 10, output: 100, cache_read: 1}, b: {input: 10, output: 100}}");
        let tokens = TokenCount { input: 1000, output: 10, cache_read: 900, estimated: false };
        let cost = |model: &str| prices.of(model).map(|price| price.cost(&tokens)).expect("a price");
        assert!((cost("a") - (100.0 * 10.0 + 900.0 + 1000.0) / 1e6).abs() < 1e-12);
        assert!((cost("b") - (10_000.0 + 1000.0) / 1e6).abs() < 1e-12);
        let odd = TokenCount { input: 1, cache_read: 5, ..TokenCount::default() };
        assert!(prices.of("a").expect("a price").cost(&odd) <= 10.0 / 1e6, "no more is cached than was sent");
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for yaml in [
            "{a: {input: -1, output: 1}}",
            "{a: {input: .nan, output: 1}}",
            "{a: {input: 1}}",
            "{a: {input: 1, output: 1, cached: 1}}",
        ] {
            assert!(serde_yaml::from_str::<Prices>(yaml).is_err(), "{yaml}");
        }
    }
}
