//! `session_limits`: budgets, loops and the circuit breaker.

use std::collections::BTreeMap;

use crate::code::Code;
use crate::reader::{At, Named, Reader};
use crate::value::Num;

/// The budgets of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    pub(crate) max_steps: Option<u64>,
    pub(crate) max_tool_calls: Option<u64>,
    /// True when tools are hidden instead of requests refused once the calls are used up.
    pub(crate) is_narrowing: bool,
    /// In millionths of a dollar.
    pub(crate) max_cost_micros: Option<u64>,
    pub(crate) max_calls_per_tool: BTreeMap<String, u64>,
    pub(crate) limited_tools: Vec<Named>,
    pub(crate) repetition: Option<LoopDetection>,
    pub(crate) consecutive_blocks: Option<u64>,
    pub(crate) consecutive_errors: Option<u64>,
}

/// Maximum number of repetitions of a call within some steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopDetection {
    pub(crate) window: u64,
    pub(crate) threshold: u64,
}

impl Limits {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Self {
        let known = [
            "max_steps",
            "max_tool_calls",
            "max_tool_calls_mode",
            "max_cost_per_session",
            "max_calls_per_tool",
            "loop_detection",
            "circuit_breaker",
        ];
        if !reader.is_map(at, &known) {
            return Self::default();
        }
        let mode = reader.word_of(at, "max_tool_calls_mode", &[("block", false), ("narrow", true)]);
        let (max_calls_per_tool, limited_tools) = read_calls_per_tool(at, reader);
        let breaker = at.present("circuit_breaker");
        let breaker = breaker.filter(|at| reader.is_map(at, &["consecutive_blocks", "consecutive_errors"]));
        let mut count = |key| breaker.as_ref().and_then(|at| reader.whole(at, key, Code::InvalidLimit, 1));
        let (consecutive_blocks, consecutive_errors) = (count("consecutive_blocks"), count("consecutive_errors"));
        Self {
            max_steps: reader.whole(at, "max_steps", Code::InvalidLimit, 1),
            max_tool_calls: reader.whole(at, "max_tool_calls", Code::InvalidLimit, 1),
            is_narrowing: mode.unwrap_or(false),
            max_cost_micros: dollars(at, "max_cost_per_session", reader),
            max_calls_per_tool,
            limited_tools,
            repetition: at.present("loop_detection").and_then(|value| read_repetition(&value, reader)),
            consecutive_blocks,
            consecutive_errors,
        }
    }
}

/// Dollars under a key, in millionths.
pub(crate) fn dollars(at: &At<'_>, key: &str, reader: &mut Reader) -> Option<u64> {
    let is_valid = |number: Num| number.as_f64() >= 0.0;
    reader.number(at, key, Code::InvalidLimit, "a number of 0 or more", is_valid).map(|number| micros(number.as_f64()))
}

/// Dollars in millionths.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
pub(crate) fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

fn read_calls_per_tool(at: &At<'_>, reader: &mut Reader) -> (BTreeMap<String, u64>, Vec<Named>) {
    let Some(map) = at.present("max_calls_per_tool") else { return Default::default() };
    if map.node.entries().is_none() {
        reader.wrong_type(&map, "a map from tools to numbers");
    }
    let mut limits = BTreeMap::new();
    let mut tools = Vec::new();
    for (tool, _) in map.entries() {
        let limit = reader.whole(&map, &tool.name, Code::InvalidLimit, 0);
        limits.extend(limit.map(|limit| (tool.name.clone(), limit)));
        tools.push(tool);
    }
    (limits, tools)
}

fn read_repetition(at: &At<'_>, reader: &mut Reader) -> Option<LoopDetection> {
    if !reader.is_map(at, &["window", "threshold"]) {
        return None;
    }
    let whole = |key: &str| at.present(key).and_then(|value| value.node.to_json().as_u64());
    let (window, threshold) = (whole("window"), whole("threshold"));
    let (Some(window @ 1..), Some(threshold @ 2..)) = (window, threshold) else {
        let message = "`loop_detection` needs a `window` of 1 or more and a `threshold` of 2 or more";
        reader.report(Code::InvalidLimit, at, message);
        return None;
    };
    if threshold > window {
        let message = format!("{threshold} repetitions do not fit in {window} steps of one call each");
        reader.report(Code::LoopThresholdAboveWindow, at, message);
    }
    Some(LoopDetection { window, threshold })
}
