//! What templates become in one scenario.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::scenario::Scenario;
use crate::evidence::redacted;
use crate::spec::Spec;
use crate::spec::template::{Bindings, Reference};

/// What templates become in one scenario.
///
/// While judging, a secret becomes the marker that the recorder wrote where its value stood, so an expectation with
/// `{{ secrets.X }}` still compares with evidence that holds no secret.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    spec: &'a Spec,
    scenario: &'a Scenario,
    secrets: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Values<'a> {
    /// For judging: secrets are markers.
    #[must_use]
    pub fn for_judging(spec: &'a Spec, scenario: &'a Scenario) -> Self {
        Self { spec, scenario, secrets: None }
    }

    /// For the sandbox: secrets have their values.
    #[must_use]
    pub fn with_secrets(spec: &'a Spec, scenario: &'a Scenario, secrets: &'a BTreeMap<String, String>) -> Self {
        Self { spec, scenario, secrets: Some(secrets) }
    }

    /// The task's prompt, with its own templates replaced.
    #[must_use]
    pub fn prompt(&self) -> String {
        self.spec.task.prompt.render(&WithoutPrompt(self))
    }

    fn port_of(&self, name: &str) -> Option<i64> {
        self.spec.service(name)?.ports().first().copied()
    }
}

impl Bindings for Values<'_> {
    fn value(&self, reference: &Reference) -> Option<Json> {
        match reference {
            Reference::Param(name) => self.scenario.parameters.get(name).cloned(),
            Reference::Secret(name) => match self.secrets {
                Some(secrets) => secrets.get(name).cloned().map(Json::String),
                None => Some(redacted(name).into()),
            },
            Reference::ServiceHost(name) => self.spec.service(name).map(|service| service.name().to_string().into()),
            Reference::ServicePort(name) => self.port_of(name).map(Json::from),
            Reference::Seed => Some(self.scenario.seed.get().into()),
            Reference::Replica => Some(self.scenario.replica.into()),
            Reference::TaskPrompt => Some(self.prompt().into()),
        }
    }
}

/// The values for the prompt itself, which cannot name itself.
struct WithoutPrompt<'a>(&'a Values<'a>);

impl Bindings for WithoutPrompt<'_> {
    fn value(&self, reference: &Reference) -> Option<Json> {
        if *reference == Reference::TaskPrompt { None } else { self.0.value(reference) }
    }
}
