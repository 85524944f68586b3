//! What several experiments come to as a suite: its numbers, its coverage, and what running it would cost.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Report;
use crate::coverage::{CapabilityMatrix, Coverage, Exercised};
use crate::forecast::{Forecast, ForecastOptions, TokenSource};
use crate::suite::{Pooled, Ran, Shortfall, Suite, SuiteScore};

/// What several experiments come to as a suite. Each part is there when it was asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SuiteOutcome {
    /// The numbers of the suite.
    pub suite: Option<SuiteScore>,
    /// How much of the list of capabilities is shown.
    pub coverage: Option<Coverage>,
    /// What running it would cost.
    pub forecast: Option<ForecastOutcome>,
}

/// A forecast, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum ForecastOutcome {
    /// A forecast.
    Made(Forecast),
    /// The reason why there is none.
    Unavailable(String),
}

impl SuiteOutcome {
    /// The numbers of a suite, and the coverage of its list of capabilities.
    #[must_use]
    pub fn of_suite(suite: &Suite, matrix: Option<&CapabilityMatrix>, reports: &[Report]) -> Self {
        let coverage = matrix.map(|matrix| coverage(matrix, reports));
        let ran: Vec<_> = reports.iter().map(|report| Ran { spec: &report.spec_id, score: &report.score }).collect();
        let suite = SuiteScore::of(suite, &ran, coverage.as_ref());
        Self { suite: Some(suite), coverage, forecast: None }
    }

    /// Adds a forecast from what the experiments used.
    #[must_use]
    pub fn with_forecast(self, options: ForecastOptions, reports: &[Report]) -> Self {
        let sources: Vec<TokenSource> = reports.iter().filter_map(|report| report.tokens_from).collect();
        let pooled = Pooled::of(reports.iter().map(|report| &report.score));
        let forecast = match Forecast::of(options, &pooled, sources) {
            Ok(forecast) => ForecastOutcome::Made(forecast),
            Err(reason) => ForecastOutcome::Unavailable(reason.to_string()),
        };
        Self { forecast: Some(forecast), ..self }
    }

    /// True when there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a floor of the suite is not reached.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.shortfalls().next().is_some()
    }

    /// The floors that are not reached.
    pub fn shortfalls(&self) -> impl Iterator<Item = &Shortfall> {
        self.suite.iter().flat_map(|suite| &suite.shortfalls)
    }

    /// What it adds to the reasons of a failure: `, below floors 2`.
    pub(super) fn counts(&self) -> String {
        match self.shortfalls().count() {
            0 => String::new(),
            some => format!(", below floors {some}"),
        }
    }

    /// Its numbers by name, for formats that have properties.
    pub(super) fn numbers(&self) -> Vec<(&'static str, String)> {
        let mut numbers = Vec::new();
        if let Some(suite) = &self.suite {
            numbers.push(("suite", suite.name.clone()));
            let pooled = &suite.pooled;
            let known = [
                ("mean_pass_k", suite.mean_pass_k),
                ("mean_pass_rate", suite.mean_pass_rate),
                ("tokens_per_success", pooled.tokens_per_success),
                ("cost_per_success_usd", pooled.cost_per_success_usd),
            ];
            numbers.extend(known.into_iter().filter_map(|(name, number)| Some((name, number?.to_string()))));
        }
        if let Some(coverage) = &self.coverage {
            numbers.push(("coverage", coverage.share.to_string()));
            numbers.push(("uncovered", coverage.uncovered.join(", ")));
        }
        if let Some(ForecastOutcome::Made(forecast)) = &self.forecast {
            numbers.push(("forecast_tokens_per_month", forecast.per_success.tokens_per_month.to_string()));
            let money = forecast.per_success.usd_per_month;
            numbers.extend(money.map(|money| ("forecast_usd_per_month", money.to_string())));
        }
        numbers
    }

    /// Adds what there is to a JSON object.
    pub(super) fn write(&self, into: &mut Json) {
        if let Some(suite) = &self.suite {
            into["suite"] = json!(suite);
        }
        if let Some(coverage) = &self.coverage {
            into["coverage"] = json!(coverage);
        }
        match &self.forecast {
            Some(ForecastOutcome::Made(forecast)) => into["forecast"] = json!(forecast),
            Some(ForecastOutcome::Unavailable(reason)) => into["forecast_unavailable"] = reason.as_str().into(),
            None => {}
        }
    }

    /// What [`Self::write`] added to an object. What cannot be read is left out: it decides nothing when it is shown again.
    pub(super) fn read(from: &Json) -> Self {
        let forecast = part(from, "forecast").map(ForecastOutcome::Made);
        let reason = || from["forecast_unavailable"].as_str().map(ToOwned::to_owned);
        let forecast = forecast.or_else(|| reason().map(ForecastOutcome::Unavailable));
        Self { suite: part(from, "suite"), coverage: part(from, "coverage"), forecast }
    }
}

fn part<T: for<'a> Deserialize<'a>>(from: &Json, key: &str) -> Option<T> {
    from.get(key).and_then(|value| T::deserialize(value).ok())
}

fn coverage(matrix: &CapabilityMatrix, reports: &[Report]) -> Coverage {
    let exercised = |report| {
        let Report { spec_id, capabilities, .. }: &Report = report;
        Exercised { spec: spec_id, tags: capabilities, passed: report.shows_capabilities() }
    };
    Coverage::of(matrix, &reports.iter().map(exercised).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::{ForecastOptions, Report, SuiteOutcome};
    use crate::coverage::CapabilityMatrix;
    use crate::report::tests::{HOSTILE, assert_form, evidence, report, report_of};
    use crate::report::{Reports, github_all, json_all, junit_all, markdown_all, ndjson_all, read_all, terminal_all};
    use crate::suite::Suite;

    fn tagged(report: Report, spec: &str, tags: &[&str]) -> Report {
        let capabilities = tags.iter().map(|tag| (*tag).to_owned()).collect();
        Report { spec_id: spec.to_owned(), capabilities, ..report }
    }

    fn reports(floors: &str) -> Reports {
        let passed = report_of(&vec![evidence(0, "refunded", ""); 4]);
        let reports =
            vec![tagged(passed, "paid", &["refund.once", "refund.onec"]), tagged(report(), "late", &["late"])];
        let matrix = "[{id: refund.once, group: refunds}, {id: late, group: refunds}, {id: search, group: shop}]";
        let matrix = CapabilityMatrix::load(matrix).value.expect("a matrix");
        let text = format!("suite: checkout\nspecs: [x]\nweights: {{paid: 3}}\n{floors}");
        let suite = Suite::load(&text).value.expect("a suite");
        let options = ForecastOptions { runs_per_day: 5000, price_per_mtok_usd: Some(5.0) };
        let outcome = SuiteOutcome::of_suite(&suite, Some(&matrix), &reports).with_forecast(options, &reports);
        Reports { reports, outcome, ..Reports::default() }
    }

    #[test]
    fn a_suite_is_told_in_every_rendering() {
        let reports = reports("floors: {pass_k: 0.9, coverage: 0.5}\n");
        assert_eq!(reports.exit_code(), 1);
        let xml = junit_all(&reports);
        for text in [&terminal_all(&reports, 110), &markdown_all(&reports), &json_all(&reports), &ndjson_all(&reports)]
        {
            for wanted in ["refund.once", "search", "checkout"] {
                assert!(text.contains(wanted), "{wanted}: {text}");
            }
        }
        assert_form(&xml);
        assert!(xml.contains("name=\"coverage\"") && xml.contains("coverage 0.333 is below 0.500"), "{xml}");
        assert!(github_all(&reports).contains("coverage 0.333 is below 0.500"));
        let terminal = terminal_all(&reports, 110);
        let from = terminal.find("suite checkout").expect("the suite");
        let markdown = markdown_all(&reports);
        let (begin, end) =
            (markdown.find("#### Suite").expect("the suite"), markdown.find("### Touchstone").expect("a spec"));
        insta::assert_snapshot!(format!("{}\n{}", &terminal[from..], &markdown[begin..end]));
    }

    #[test]
    fn a_suite_that_was_written_is_read_as_it_was() {
        let reports = reports("");
        let again = read_all(&json_all(&reports)).expect("reports");
        assert_eq!(again.outcome, reports.outcome);
    }

    #[test]
    fn names_in_a_file_cannot_break_out_of_a_rendering() {
        let mut reports = reports("");
        let coverage = reports.outcome.coverage.as_mut().expect("coverage");
        (coverage.capabilities[2].id, coverage.capabilities[2].group) = (HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
        coverage.unknown_tags[0].tag = HOSTILE.to_owned();
        if let Some(suite) = &mut reports.outcome.suite {
            suite.name = HOSTILE.to_owned();
        }
        assert_form(&junit_all(&reports));
        for text in [terminal_all(&reports, 110), markdown_all(&reports), github_all(&reports), json_all(&reports)] {
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']), "{text}");
        }
    }

    #[test]
    fn without_a_success_the_forecast_is_absent_and_says_why() {
        let failed = vec![report_of(&vec![evidence(2, "nothing", ""); 4])];
        let options = ForecastOptions { runs_per_day: 5000, price_per_mtok_usd: None };
        let outcome = SuiteOutcome::default().with_forecast(options, &failed);
        let reports = Reports { reports: failed, outcome, ..Reports::default() };
        let value: serde_json::Value = serde_json::from_str(&json_all(&reports)).expect("JSON");
        assert!(
            value.get("forecast").is_none() && value["experiments"][0]["metrics"]["cost_per_success_usd"].is_null()
        );
        assert_eq!(value["forecast_unavailable"], "no scenario passed, so there is no cost of a success to project");
        assert!(terminal_all(&reports, 110).contains("forecast: no scenario passed"));
        assert_eq!(reports.exit_code(), 1);
    }
}
