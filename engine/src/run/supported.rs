//! Refuses specs that this version does not support, before anything is made.

use scenario::certificate::cheats::require_cheat;
use scenario::checks::{Check, RunsIn};
use scenario::plan::AgentOverride;
use scenario::spec::Spec;
use scenario::spec::sections::AgentKind;

use crate::attempt::{self, Attempt, Permissions};
use crate::backend::Backend;
use crate::database::Credentials;
use crate::error::EngineError;

/// Refuses what cannot be done, with its place in the spec.
pub(super) fn check(backend: &dyn Backend, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    let Attempt { spec, agent, permissions, snapshot, .. } = attempt;
    let uploads = if snapshot.is_some() { Uploads::Held } else { Uploads::None };
    let found = unsupported(spec, *agent, permissions, uploads)
        .or_else(|| unknown_passwords(attempt))
        .or_else(|| backend.misfit(spec));
    match found {
        Some(what) => Err(EngineError::Unsupported { what }),
        None => Ok(()),
    }
}

/// Tells if uploaded agents are available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uploads {
    /// No agents can be uploaded here.
    None,
    /// Uploaded agents are stored, and found when they are needed.
    Held,
}

/// Explains which part of a spec cannot be run, whatever the scenario; `None` when all of it can. An attempt is refused
/// for the same, and for databases whose password its own values do not tell.
#[must_use]
pub fn unsupported(
    spec: &Spec,
    agent: Option<&AgentOverride>,
    permissions: &Permissions,
    uploads: Uploads,
) -> Option<String> {
    actor(spec, agent, uploads).or_else(|| checks(spec, permissions)).or_else(|| upstream(spec, permissions))
}

fn actor(spec: &Spec, agent: Option<&AgentOverride>, uploads: Uploads) -> Option<String> {
    if let Some(AgentOverride::Cheat(name)) = agent
        && let Err(unknown) = require_cheat(name, spec)
    {
        return Some(unknown.to_string());
    }
    match attempt::agent_of(spec, agent) {
        None => Some("the spec has no `agent`, so there is nobody to put to the test".to_owned()),
        Some(AgentKind::Snapshot(_)) if uploads == Uploads::None => {
            Some("`agent.type: snapshot` needs a server that holds the snapshot".to_owned())
        }
        Some(AgentKind::Paragon(_)) => {
            Some("`agent.type: paragon` is a hosted agent, for which this machine has no alias".to_owned())
        }
        Some(_) => None,
    }
}

fn checks(spec: &Spec, permissions: &Permissions) -> Option<String> {
    let allowed = permissions.host_checks.is_some();
    spec.checks().find_map(|(place, check)| match check {
        Check::Custom(custom) if custom.runs_in == RunsIn::Host && !allowed => Some(format!(
            "`{place}` runs a script on this machine, which is not allowed here; allow it with `--allow-host-checks`, or use `runs_in: sandbox`"
        )),
        _ => None,
    })
}

/// Explains why the model's upstream may not be asked. An address that depends on parameters is looked at when they are
/// known.
fn upstream(spec: &Spec, permissions: &Permissions) -> Option<String> {
    let base_url = spec.model.as_ref()?.upstream.as_ref()?.base_url.as_ref()?;
    let problem = permissions.providers.reach(base_url.as_literal()?).err()?;
    Some(format!("`model.upstream`: `base_url` {problem}"))
}

/// Explains why the services of SQL checks cannot be asked.
fn unknown_passwords(attempt: &Attempt<'_>) -> Option<String> {
    let asked = attempt.spec.checks().find_map(|(_, check)| match check {
        Check::Sql(sql) => unknown_password(attempt, sql.own.service.as_str()),
        _ => None,
    });
    // Where writes are recorded, tables are looked at too.
    let records = attempt.spec.effective_audit().db_writes;
    let mut recorded = attempt.spec.services.iter().filter(|_| records);
    asked.or_else(|| recorded.find_map(|service| unknown_password(attempt, service.name().as_str())))
}

/// Explains why a service cannot be asked with SQL.
fn unknown_password(attempt: &Attempt<'_>, name: &str) -> Option<String> {
    let service = attempt.spec.service(name)?;
    let values = attempt.values();
    let environment = service.common.env.iter().map(|(key, text)| (key.to_string(), text.render(&values))).collect();
    let problem = Credentials::from_environment(service.database()?, &environment, 0).err()?;
    Some(format!("the service `{name}` cannot be asked with SQL: {problem}"))
}

#[cfg(test)]
mod tests {
    use scenario::plan::AgentOverride;
    use scenario::spec::{Bundle, Spec, load};

    use super::{Uploads, unsupported};
    use crate::attempt::{HostChecks, Permissions};
    use crate::providers::ProviderAccess;

    fn spec(agent: &str, rest: &str, check: &str) -> Spec {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: x, solution: 'true'}}\n{agent}{rest}invariants: {{x: {{description: x, check: {check}}}}}\n"
        );
        let beside = Bundle::new([("x.py".to_owned(), 1)]).expect("a small bundle");
        let loaded = load(&text, Some(&beside));
        loaded.spec.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics))
    }

    const CLI: &str = "agent: {type: cli, command: x}\n";
    const FILE: &str = "{type: file_exists, path: x}";

    #[test]
    fn a_spec_that_can_be_run_is_told_from_one_that_cannot_without_an_attempt() {
        let ask = |spec: &Spec, agent| unsupported(spec, agent, &Permissions::default(), Uploads::None);
        assert_eq!(ask(&spec(CLI, "", FILE), None), None);
        let nobody = spec("", "", FILE);
        assert!(ask(&nobody, None).is_some_and(|what| what.contains("no `agent`")));
        assert_eq!(ask(&nobody, Some(&AgentOverride::Noop)), None);
        let hosted = spec("agent: {type: paragon}\n", "", FILE);
        assert!(ask(&hosted, None).is_some_and(|what| what.contains("`agent.type: paragon`")));
        assert_eq!(ask(&hosted, Some(&AgentOverride::Oracle)), None);
    }

    #[test]
    fn a_script_on_this_machine_needs_its_owners_permission() {
        let spec = spec(CLI, "", "{type: custom, script: x.py, runs_in: host}");
        let refused = unsupported(&spec, None, &Permissions::default(), Uploads::None);
        assert!(refused.is_some_and(|what| what.contains("--allow-host-checks")));
        let allowed = Permissions { host_checks: Some(HostChecks { confine: Vec::new() }), ..Permissions::default() };
        assert_eq!(unsupported(&spec, None, &allowed, Uploads::None), None);
    }

    #[test]
    fn a_model_at_a_private_address_is_refused_when_it_is_submitted() {
        let public = Permissions { providers: ProviderAccess::Public { except: Vec::new() }, ..Permissions::default() };
        let ask = |url: &str, permissions: &Permissions| {
            let model = format!("model: {{mode: proxy, upstream: {{base_url: '{url}'}}}}\n");
            unsupported(&spec(CLI, &model, FILE), None, permissions, Uploads::None)
        };
        for url in ["http://127.0.0.1:8012", "http://[::ffff:a00:1]/v1", "http://0xa9fea9fe/latest", "http://localhost"]
        {
            assert!(ask(url, &public).is_some_and(|what| what.contains("--allow-private-providers")), "{url}");
            assert_eq!(ask(url, &Permissions::default()), None, "{url}");
        }
        assert_eq!(ask("https://api.example.com/v1", &public), None);
    }

    #[test]
    fn an_uploaded_agent_needs_somebody_who_has_it() {
        let spec = spec("agent: {type: snapshot, snapshot: x}\n", "", FILE);
        let ask = |uploads| unsupported(&spec, None, &Permissions::default(), uploads);
        assert!(ask(Uploads::None).is_some_and(|what| what.contains("a server that holds the snapshot")));
        assert_eq!(ask(Uploads::Held), None);
    }
}
