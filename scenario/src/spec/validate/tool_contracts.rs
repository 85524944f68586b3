//! `tool_contracts`: the contracts compile, routes lead to services, and every setting does something.

use std::collections::HashSet;

use tool_contracts::options::Principal;
use tool_contracts::{AskedKind, AskedService};

use super::rules::Rules;
use crate::checks::report_contract_problems;
use crate::spec::code::Code;
use crate::spec::sections::{
    ApprovalSettings, Approver, CallWay, ContractsMode, GovernedTool, NarrowingFeedback, Service, ToolContracts,
};
use crate::spec::template::Bindings;

/// Bindings that replace nothing: no value is known before a scenario is run.
struct Unfilled;

impl Bindings for Unfilled {
    fn value(&self, _: &crate::spec::template::Reference) -> Option<serde_json::Value> {
        None
    }
}

pub(super) fn check(rules: &mut Rules<'_>) {
    let Some(contracts) = &rules.spec.tool_contracts else { return };
    let mut rules = rules.at("tool_contracts");
    check_files(&mut rules, contracts);
    let mut seen = HashSet::new();
    for (index, tool) in contracts.tools.iter().enumerate() {
        let mut list = rules.at("tools");
        let mut rules = list.index(index);
        if !seen.insert(tool.tool.clone()) {
            let message = format!("there are two entries for the tool `{}`", tool.tool);
            rules.at("tool").report(Code::DuplicateName, message, None);
        }
        check_tool(&mut rules, tool);
    }
    for service in contracts.block_responses.keys() {
        let mut rules = rules.at("block_responses");
        if !contracts.governed_services().any(|governed| governed == service) {
            let message = format!("no tool here is a request to the service `{service}`");
            rules.at(service.as_str()).report_key(Code::NoEffect, message, Some("add an entry with `via: http`"));
        }
    }
    check_settings(&mut rules, contracts);
    check_approvals(&mut rules.at("approvals"), &contracts.approvals);
}

/// Checks that the files exist, and compile.
fn check_files(rules: &mut Rules<'_>, contracts: &ToolContracts) {
    let folder = contracts.dir.path();
    if contracts.dir.is_empty() {
        return rules.at("dir").missing_file(folder);
    }
    if let Some(workflow) = &contracts.workflow {
        let path = format!("{folder}/{}", workflow.as_str());
        if rules.bundle_has(&path) != Some(true) {
            return rules.at("workflow").missing_file(&path);
        }
    }
    let principal = contracts.principal.as_ref().map_or(Principal::Missing, |given| Principal::Given(given.to_json()));
    let options = rules.spec.contract_options(contracts, principal, &Unfilled);
    match contracts.compile(&options) {
        Ok((compiled, _)) => compiled.asked_services().into_iter().for_each(|asked| check_asked(rules, asked)),
        Err(error) => report_contract_problems(&error, folder, &mut rules.at("dir")),
    }
}

/// Checks that a service that a rule asks before a call exists, and can be asked.
fn check_asked(rules: &mut Rules<'_>, asked: AskedService<'_>) {
    let AskedService { rule, service, kind } = asked;
    if rules.holes.may_have_service(service) {
        return;
    }
    if let Some((code, problem, help)) = unaskable(rules.spec.service(service), kind) {
        let message = format!("the rule `{rule}` asks the service `{service}`, which {problem}");
        rules.at("dir").report(code, message, Some(help));
    }
}

/// The reason why a service cannot be asked, with what helps.
fn unaskable(service: Option<&Service>, kind: AskedKind) -> Option<(Code, &'static str, &'static str)> {
    let Some(service) = service else {
        return Some((Code::UnknownService, "is not there", "declare it under `services`"));
    };
    match (kind, service.mock()) {
        (AskedKind::Database, _) if !service.may_be_database() => {
            let help = "use an image of Postgres, MySQL or MariaDB, or add `database: postgres` or `database: mysql`";
            Some((Code::WrongServiceKind, "is not a database", help))
        }
        (AskedKind::Mock, None) => {
            Some((Code::WrongServiceKind, "is not an `http_mock`", "ask about its own state with `sql`"))
        }
        (AskedKind::Mock, Some(mock)) if !mock.record => {
            Some((Code::NotRecorded, "does not keep its requests", "add `record: true` to the service"))
        }
        _ => None,
    }
}

fn check_tool(rules: &mut Rules<'_>, tool: &GovernedTool) {
    match tool.via {
        CallWay::Http => check_route(rules, tool),
        CallWay::Mcp | CallWay::Llm => {
            for key in ["service", "match", "args", "types"] {
                if rules.has(key) {
                    let message = format!("`{key}` is for tools with `via: http`");
                    rules.at(key).report_key(Code::NoEffect, message, None);
                }
            }
        }
    }
    let Some(server) = &tool.server else { return };
    let is_there = rules.spec.tools.servers().any(|known| known.server == *server);
    if !is_there && !rules.holes.has_section("tools") {
        let message = format!("`tools` has no server `{server}`");
        rules.at("server").report(Code::UnknownService, message, None);
    }
}

fn check_route(rules: &mut Rules<'_>, tool: &GovernedTool) {
    match &tool.service {
        Some(service) => {
            rules.at("service").service(service);
        }
        None => rules.report(Code::MissingKey, "`via: http` needs the `service`", None),
    }
    if tool.matches.is_none() {
        let help = "add `match: { method: POST, path: /refunds }`";
        rules.report(Code::MissingKey, "`via: http` needs `match`: the requests that are calls", Some(help));
    }
}

fn check_settings(rules: &mut Rules<'_>, contracts: &ToolContracts) {
    let governs = contracts.mode == ContractsMode::Govern;
    for key in ["gate", "max_retries", "narrowing_feedback", "block_responses", "approvals"] {
        if !governs && rules.has(key) {
            let message = format!("`{key}` takes effect with `mode: govern` only");
            rules.at(key).report_key(Code::NoEffect, message, None);
        }
    }
    let has_model = rules.spec.model.is_some() || rules.holes.has_section("model");
    let seen = has_model || !rules.spec.tools.is_empty() || contracts.governed_services().next().is_some();
    if !seen && !rules.holes.has_section("tools") {
        let message = "no tool call is seen: the spec has neither a `model`, nor `tools`, nor a tool with `via: http`";
        rules.report_key(Code::NoEffect, message, None);
    }
    let about_model = contracts.max_retries.get() > 0 || contracts.narrowing_feedback == NarrowingFeedback::Inject;
    if about_model && !has_model {
        let message = "`max_retries` and `narrowing_feedback: inject` are about the model, and the spec has none";
        rules.report_key(Code::NoEffect, message, None);
    }
}

fn check_approvals(rules: &mut Rules<'_>, approvals: &ApprovalSettings) {
    let is_scripted = approvals.approver == Approver::Scripted;
    for key in ["rules", "default"] {
        if !is_scripted && rules.has(key) {
            let message = format!("`{key}` is for `approver: scripted`");
            rules.at(key).report_key(Code::NoEffect, message, None);
        }
    }
    if approvals.approver == Approver::Human && rules.has("clock") {
        rules.at("clock").report_key(Code::NoEffect, "people have the real clock", None);
    }
    for (index, rule) in approvals.rules.iter().enumerate() {
        for (place, condition) in rule.when.iter().enumerate() {
            if let Err(problem) = tool_contracts::Condition::read(&condition.to_json()) {
                let mut list = rules.at("rules");
                let mut rule = list.index(index);
                let mut conditions = rule.at("when");
                conditions.index(place).report(Code::InvalidValue, problem.to_string(), None);
            }
        }
    }
}
