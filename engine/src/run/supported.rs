//! What a spec may ask for and this version does not do; known before anything is made.

use scenario::checks::{Check, RunsIn};
use scenario::spec::sections::{AgentKind, Clock, Policy};

use crate::attempt::Attempt;
use crate::database::Credentials;
use crate::error::EngineError;

/// Refuses what cannot be done, with its place in the spec.
pub(super) fn check(attempt: &Attempt<'_>) -> Result<(), EngineError> {
    match unsupported(attempt) {
        Some(what) => Err(EngineError::Unsupported { what }),
        None => Ok(()),
    }
}

fn unsupported(attempt: &Attempt<'_>) -> Option<String> {
    let spec = attempt.spec;
    let not_yet = |what: &str| Some(format!("{what} cannot be run by this version"));
    if spec.model.is_some() {
        return not_yet("`model`: the model gateway");
    }
    if spec.network.egress.default == Policy::Allow || !spec.network.egress.allow.is_empty() {
        return not_yet("`network.egress`: a way out of the sandbox");
    }
    if spec.determinism.clock != Clock::Real {
        return not_yet("`determinism.clock`: a clock of the sandbox's own");
    }
    let audit = spec.effective_audit();
    if audit.db_writes {
        return not_yet("`audit.db_writes`, which `forbidden.db_writes_outside` needs too,");
    }
    if audit.commands {
        return not_yet("`audit.commands`");
    }
    agent(attempt).or_else(|| checks(attempt))
}

fn agent(attempt: &Attempt<'_>) -> Option<String> {
    match attempt.agent() {
        None => Some("the spec has no `agent`, so there is nobody to put to the test".to_owned()),
        Some(AgentKind::Snapshot(_)) => {
            Some("`agent.type: snapshot` needs a server that holds the snapshot".to_owned())
        }
        Some(AgentKind::Paragon(_)) => {
            Some("`agent.type: paragon` is a hosted agent, for which this machine has no alias".to_owned())
        }
        Some(_) => None,
    }
}

fn checks(attempt: &Attempt<'_>) -> Option<String> {
    let allowed = attempt.permissions.host_checks.is_some();
    attempt.spec.invariants.iter().find_map(|(name, invariant)| match &invariant.check {
        Check::Sql(sql) => unknown_password(attempt, sql.own.service.as_str()),
        Check::LlmAsJudge(_) => Some(format!("`invariants.{name}`: a model as judge cannot be asked by this version")),
        Check::Custom(custom) if custom.runs_in == RunsIn::Host && !allowed => Some(format!(
            "`invariants.{name}` runs a script on this machine, which is not allowed here; allow it with `--allow-host-checks`, or use `runs_in: sandbox`"
        )),
        _ => None,
    })
}

/// Why a service cannot be asked with SQL.
fn unknown_password(attempt: &Attempt<'_>, name: &str) -> Option<String> {
    let service = attempt.spec.service(name)?;
    let values = attempt.values();
    let environment = service.common.env.iter().map(|(key, text)| (key.to_string(), text.render(&values))).collect();
    let problem = Credentials::from_environment(service.database()?, &environment, 0).err()?;
    Some(format!("the service `{name}` cannot be asked with SQL: {problem}"))
}
