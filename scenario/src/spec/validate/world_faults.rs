//! `file_faults` and `clock_faults`: every fault can begin, and changes something.

use super::chaos::check_trigger;
use super::rules::Rules;
use super::tool_targets::routes_of;
use crate::spec::code::Code;
use crate::spec::sections::chaos::FaultStart;
use crate::spec::sections::{Chaos, ClockFaultMode, FileFaultMode, Service, ToolTarget};
use crate::spec::types::{Glob, ToolGlob};
use crate::spec::{ToolMatcher, is_route_glob};

/// The name of the model among calls.
const MODEL: &str = "model";
/// The keys of a trigger that count calls.
const COUNTING: [&str; 5] = ["after_calls", "on_calls", "times", "every", "burst"];
/// The keys that say when a fault begins or ends.
const TIMED: [&str; 4] = ["calls_of", "at", "for", "between"];
/// The largest workspace that is filled, because that takes memory.
const MOST_FILLED: u64 = 2 << 30;

pub(super) fn check(rules: &mut Rules<'_>, chaos: &Chaos) {
    for (index, fault) in chaos.file_faults.iter().enumerate() {
        let mut list = rules.at("file_faults");
        let mut rules = list.index(index);
        check_file_mode(&mut rules, &fault.mode);
        check_start(&mut rules, &fault.start);
        check_trigger(&mut rules, &fault.trigger);
    }
    for (index, fault) in chaos.clock_faults.iter().enumerate() {
        let mut list = rules.at("clock_faults");
        let mut rules = list.index(index);
        if let ClockFaultMode::Skew(_) = fault.mode {
            check_skew(&mut rules);
        } else {
            check_start(&mut rules, &fault.start);
            check_trigger(&mut rules, &fault.trigger);
        }
    }
}

fn check_file_mode(rules: &mut Rules<'_>, mode: &FileFaultMode) {
    let disk = rules.spec.resources.disk.get();
    match mode {
        FileFaultMode::DiskFull(_) if disk > MOST_FILLED => {
            let message = "a workspace of more than 2 GiB is not filled, because that would take as much memory";
            rules.at("mode").report(Code::ConflictingKeys, message, Some("lower `resources.disk`"));
        }
        FileFaultMode::ChangedUnderneath(_) if rules.has("for") => {
            let message = "a file stays changed, so there is nothing that `for` could end";
            rules.at("for").report_key(Code::ConflictingKeys, message, None);
        }
        _ => {}
    }
    if let Some(path) = mode.path()
        && Glob::is_glob(path.source())
    {
        let message = format!("`{}` is a glob, and a fault is about one path", path.source());
        rules.at("path").report(Code::InvalidPath, message, Some("name a file or a folder"));
    }
}

/// A skewed clock is wrong all the time.
fn check_skew(rules: &mut Rules<'_>) {
    for key in COUNTING.iter().chain(&TIMED).filter(|key| rules.has(key)).collect::<Vec<_>>() {
        let message = format!("a skewed clock is wrong all the time, so `{key}` has no meaning here");
        rules.at(key).report_key(Code::ConflictingKeys, message, Some("use `mode: jump`"));
    }
}

/// A fault begins at one moment.
fn check_start(rules: &mut Rules<'_>, start: &FaultStart) {
    match &start.calls_of {
        Some(calls) => {
            if rules.has("at") {
                rules.one_of(&["calls_of", "at"]);
            }
            check_calls(rules, calls);
        }
        None => {
            for key in COUNTING.iter().filter(|key| rules.has(key)).collect::<Vec<_>>() {
                let message = format!("`{key}` counts calls, and nobody says which");
                let help = "add `calls_of: model` or `calls_of: SERVICE`, or use `at`";
                rules.at(key).report_key(Code::ConflictingKeys, message, Some(help));
            }
            if rules.has("at") && rules.has("between") {
                rules.one_of(&["at", "between"]);
            }
        }
    }
}

/// The calls are those of the model, or of a mock of the spec.
fn check_calls(rules: &mut Rules<'_>, calls: &ToolGlob) {
    let spec = rules.spec;
    if calls.as_str() == MODEL {
        if spec.model.is_none() && !rules.holes.has_section(MODEL) {
            let message = "there is no model whose calls could be counted";
            rules.at("calls_of").report(Code::MissingKey, message, Some("add `model`, or name a service"));
        }
        return;
    }
    let Some(matcher) = ToolMatcher::new(&ToolTarget { tool: calls.clone(), match_url: None }) else { return };
    let is_about = |service: &Service| match is_route_glob(calls) {
        true => routes_of(service).any(|(method, path)| matcher.may_be_about_route(service.name(), &method, &path)),
        false => matcher.is_about(service.name(), "", ""),
    };
    let is_hole = rules.holes.may_have_service(calls.split(':').next().unwrap_or(calls));
    if !is_hole && !spec.services.iter().any(|service| service.mock().is_some() && is_about(service)) {
        let message = format!("`{calls}` is neither `model` nor an `http_mock` or a route of one");
        rules.at("calls_of").report(Code::UnknownService, message, None);
    }
}
