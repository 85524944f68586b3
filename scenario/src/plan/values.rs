//! Values of templates in one scenario.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::mutation::{from_template, mutate};
use super::purpose::Purpose;
use super::scenario::Scenario;
use crate::evidence::{Evidence, redacted};
use crate::spec::Spec;
use crate::spec::template::{Bindings, Reference};

/// Values of templates in one scenario.
///
/// While judging, a secret becomes the marker that the recorder wrote where its value stood, so an expectation with
/// `{{ secrets.X }}` still compares with evidence that holds no secret.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    spec: &'a Spec,
    scenario: &'a Scenario,
    secrets: Secrets<'a>,
    /// The prompt, where it is not the task's own.
    prompt: Option<String>,
}

/// The replacements of secrets.
#[derive(Debug, Clone, Copy)]
enum Secrets<'a> {
    /// The markers of an attempt with this key.
    Markers(Option<&'a str>),
    /// Their values.
    Values(&'a BTreeMap<String, String>),
}

impl<'a> Values<'a> {
    /// For judging: secrets are the markers of this evidence.
    #[must_use]
    pub fn for_judging(spec: &'a Spec, scenario: &'a Scenario, evidence: &'a Evidence) -> Self {
        // A prompt that a model wrote, or a session has, is known from nowhere else.
        let is_own = matches!(scenario.purpose, Purpose::Everything | Purpose::Invariant(_) | Purpose::Baseline(_));
        let prompt = evidence.prompt.clone().filter(|_| !is_own);
        Self { spec, scenario, secrets: Secrets::Markers(evidence.marker_key.as_deref()), prompt }
    }

    /// For the sandbox: secrets have their values.
    #[must_use]
    pub fn with_secrets(spec: &'a Spec, scenario: &'a Scenario, secrets: &'a BTreeMap<String, String>) -> Self {
        Self { spec, scenario, secrets: Secrets::Values(secrets), prompt: None }
    }

    /// The same with another prompt: the agent's, in which attacks stand.
    #[must_use]
    pub fn with_prompt(self, prompt: String) -> Self {
        Self { prompt: Some(prompt), ..self }
    }

    /// The spec.
    #[must_use]
    pub fn spec(&self) -> &'a Spec {
        self.spec
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self) -> &'a Scenario {
        self.scenario
    }

    /// The task's prompt, with its own templates replaced.
    #[must_use]
    pub fn prompt(&self) -> String {
        self.prompt.clone().unwrap_or_else(|| {
            let prompt = self.original_prompt();
            let Some(mutation) = self.scenario.purpose.mutation() else { return prompt };
            let settings = self.spec.mutations.as_ref();
            let custom = from_template(mutation, settings, &prompt, self);
            custom.unwrap_or_else(|| mutate(mutation, settings, &prompt))
        })
    }

    /// The prompt before it is mutated, with its templates replaced.
    #[must_use]
    pub fn original_prompt(&self) -> String {
        let prompt = self.scenario.prompt_of(self.spec);
        prompt.map(|prompt| prompt.render(&WithoutPrompt(self))).unwrap_or_default()
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
                Secrets::Values(values) => values.get(name).cloned().map(Json::String),
                Secrets::Markers(key) => key.map(|key| redacted(name, key).into()),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::Values;
    use crate::evidence::Evidence;
    use crate::plan::Scenario;
    use crate::spec::load;
    use crate::spec::template::Text;

    const SPEC: &str = "
version: 1
id: test
base: debian
task: {prompt: 'Order {{ params.order }} of {{ services.db.host }}'}
agent: {type: noop}
secrets: [KEY]
services: [{name: db, image: 'postgres:16'}, {name: mail, type: http_mock, ports: [8025, 80]}]
parallelism: {matrix: [{order: 7}]}
invariants: {x: {description: x, check: {type: file_exists, path: x}}}
";

    fn rendered(text: &str, secrets: Option<&BTreeMap<String, String>>) -> String {
        let spec = load(SPEC, None).spec.expect("a spec");
        let scenario = Scenario::only(&spec, [("order", json!(7))]);
        let evidence = Evidence { marker_key: Some("k1".to_owned()), ..Evidence::default() };
        let values = match secrets {
            Some(secrets) => Values::with_secrets(&spec, &scenario, secrets),
            None => Values::for_judging(&spec, &scenario, &evidence),
        };
        Text::parse(text).0.render(&values)
    }

    #[test]
    fn everything_that_can_be_named_has_a_value() {
        let text = "{{ params.order }} {{ seed }} {{ replica }} {{ services.db.host }}:{{ services.db.port }} {{ services.mail.port }}";
        assert_eq!(rendered(text, None), "7 7 0 db:5432 8025");
        assert_eq!(rendered("{{ task.prompt }}!", None), "Order 7 of db!");
    }

    #[test]
    fn a_secret_is_its_marker_while_judging() {
        let secrets = BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]);
        assert_eq!(rendered("Bearer {{ secrets.KEY }}", Some(&secrets)), "Bearer s3cret");
        assert_eq!(rendered("Bearer {{ secrets.KEY }}", None), "Bearer [redacted:KEY:k1]");
    }
}
