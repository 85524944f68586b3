//! Time-outs, retries, rate limits and allowed errors: what may come of a call.

use regex::Regex;
use serde_json::Value as Json;
use yaml_tree::Kind;

use crate::canonical::canonical;
use crate::code::Code;
use crate::reader::{At, Reader};
use crate::value::{Num, same};

/// Maximum number of attempts of a call, and its timeout.
#[derive(Debug, Clone)]
pub(crate) struct Retries {
    pub(crate) max_attempts: u64,
    pub(crate) retry_on: Vec<String>,
    /// The deadline of one logical call, its retries included.
    pub(crate) total_ms: u64,
    pub(crate) respect_retry_after: bool,
}

/// An error that is expected of a tool.
#[derive(Debug, Clone)]
pub(crate) struct AllowedError {
    status: Option<StatusClass>,
    code: Option<Json>,
    pattern: Option<Regex>,
}

/// One status, or all with the same first digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatusClass {
    Exactly(u64),
    Hundreds(u64),
}

impl Retries {
    /// The time of a call, when its contract does not say it.
    pub(crate) const DEFAULT_TOTAL_MS: u64 = 30_000;

    /// Reads `timeouts`, `retries` and `rate_limits`.
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Self {
        let mut read =
            Self { max_attempts: 1, retry_on: Vec::new(), total_ms: Self::DEFAULT_TOTAL_MS, respect_retry_after: true };
        if let Some(timeouts) = at.present("timeouts")
            && reader.is_map(&timeouts, &["total_ms"])
        {
            read.total_ms = reader.whole(&timeouts, "total_ms", Code::InvalidLimit, 1).unwrap_or(read.total_ms);
        }
        if let Some(retries) = at.present("retries")
            && reader.is_map(&retries, &["max_attempts", "retry_on"])
        {
            read.max_attempts = reader.whole(&retries, "max_attempts", Code::InvalidRetries, 1).unwrap_or(1);
            read.retry_on = reader.names(&retries, "retry_on").into_iter().map(|class| class.name).collect();
        }
        if let Some(limits) = at.present("rate_limits")
            && reader.is_map(&limits, &["on_429"])
            && let Some(limit) = limits.present("on_429")
            && reader.is_map(&limit, &["respect_retry_after", "max_sleep_seconds"])
        {
            read.respect_retry_after = reader.flag(&limit, "respect_retry_after", true);
            let is_valid = |number: Num| number.as_f64() >= 0.0;
            reader.number(&limit, "max_sleep_seconds", Code::InvalidLimit, "a number of 0 or more", is_valid);
        }
        read
    }

    /// True when an outcome of these classes may be tried again.
    pub(crate) fn permits(&self, classes: &[String]) -> bool {
        classes.iter().any(|class| self.retry_on.contains(class))
    }
}

impl AllowedError {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &["status", "code", "match", "reason"]) {
            return None;
        }
        let status = at.present("status").and_then(|value| read_status(&value, reader));
        let code = at.present("code").map(|value| value.node.to_json());
        let pattern = at.present("match").and_then(|value| {
            let pattern = reader.string(&value)?;
            let compiled = Regex::new(&pattern);
            if compiled.is_err() {
                reader.report(Code::InvalidRegex, &value, "the regular expression does not compile");
            }
            compiled.ok()
        });
        if status.is_none() && code.is_none() && pattern.is_none() {
            reader.report(Code::InvalidInvariant, at, "an allowed error states `status`, `code` or `match`");
            return None;
        }
        Some(Self { status, code, pattern })
    }

    /// True when an error is this one: all that is stated must fit.
    pub(crate) fn covers(&self, error: &Json) -> bool {
        let status = error.get("status").and_then(Json::as_u64);
        let text = error.get("message").and_then(Json::as_str).map_or_else(|| text_of(error), ToOwned::to_owned);
        self.status.is_none_or(|wanted| status.is_some_and(|status| wanted.covers(status)))
            && self.code.as_ref().is_none_or(|wanted| error.get("code").is_some_and(|code| same_code(code, wanted)))
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(&text))
    }
}

fn text_of(error: &Json) -> String {
    error.as_str().map_or_else(|| canonical(error), ToOwned::to_owned)
}

/// Codes are written as numbers or strings, and mean the same.
fn same_code(code: &Json, wanted: &Json) -> bool {
    same(code, wanted) || text_of(code) == text_of(wanted)
}

fn read_status(at: &At<'_>, reader: &mut Reader) -> Option<StatusClass> {
    let written = at.node.scalar().unwrap_or_default();
    let class = match (&at.node.kind, written) {
        (Kind::String(_), "4xx") => Some(StatusClass::Hundreds(4)),
        (Kind::String(_), "5xx") => Some(StatusClass::Hundreds(5)),
        _ => written.parse().ok().map(StatusClass::Exactly),
    };
    if class.is_none() {
        let message = format!("`status` takes a number, `4xx` or `5xx`, found {}", at.node.describe());
        reader.report(Code::InvalidOperand, at, message);
    }
    class
}

impl StatusClass {
    fn covers(self, status: u64) -> bool {
        match self {
            Self::Exactly(wanted) => status == wanted,
            Self::Hundreds(hundreds) => status / 100 == hundreds,
        }
    }
}
