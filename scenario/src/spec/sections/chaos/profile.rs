//! Sets of faults that come with Touchstone.

use super::Chaos;
use crate::spec::Spec;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::choice;
use crate::spec::sections::{Model, Service};
use crate::spec::yaml::{Limits, parse};

/// The name of a world in which nothing breaks, beside one that breaks by a profile.
pub const NO_CHAOS: &str = "no-chaos";

choice! {
    /// A set of faults that comes with Touchstone; `touchstone explain profile.NAME` shows it. Faults of a model are left out where
    /// the spec has no model.
    pub enum Profile {
        /// Every service is down, and half of the model's calls time out.
        ApiOutage = "api_outage",
        /// The model stops in the middle of answers, and is overloaded after five calls.
        DegradedLlm = "degraded_llm",
        /// Half of what services answer tries to mislead the agent.
        HostileTools = "hostile_tools",
        /// Every service takes twenty seconds, and the model sometimes fifteen.
        HighLatency = "high_latency",
        /// Services fail after two calls, and the model stops in the middle of answers after three.
        CascadingFailure = "cascading_failure",
        /// Half of what services answer carries instructions for the agent.
        IndirectInjection = "indirect_injection",
        /// The model says the same in another form, as a newer version would.
        ModelVersionDrift = "model_version_drift",
        /// Answers are valid, and wrong.
        ValueCorruption = "value_corruption",
        /// The first answer to every kind of change is lost.
        ExactlyOnce = "exactly_once",
        /// Connections break, answers break off, and everything takes longer now and then.
        FlakyNetwork = "flaky_network",
        /// Databases are slow, abort transactions, end sessions, and lose the answer to a commit.
        DatabaseTrouble = "database_trouble",
    }
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::ApiOutage,
        Self::DegradedLlm,
        Self::HostileTools,
        Self::HighLatency,
        Self::CascadingFailure,
        Self::IndirectInjection,
        Self::ModelVersionDrift,
        Self::ValueCorruption,
        Self::ExactlyOnce,
        Self::FlakyNetwork,
        Self::DatabaseTrouble,
    ];

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.word() == name)
    }

    /// Its faults as YAML.
    #[must_use]
    pub const fn yaml(self) -> &'static str {
        match self {
            Self::ApiOutage => include_str!("profiles/api_outage.yaml"),
            Self::DegradedLlm => include_str!("profiles/degraded_llm.yaml"),
            Self::HostileTools => include_str!("profiles/hostile_tools.yaml"),
            Self::HighLatency => include_str!("profiles/high_latency.yaml"),
            Self::CascadingFailure => include_str!("profiles/cascading_failure.yaml"),
            Self::IndirectInjection => include_str!("profiles/indirect_injection.yaml"),
            Self::ModelVersionDrift => include_str!("profiles/model_version_drift.yaml"),
            Self::ValueCorruption => include_str!("profiles/value_corruption.yaml"),
            Self::ExactlyOnce => include_str!("profiles/exactly_once.yaml"),
            Self::FlakyNetwork => include_str!("profiles/flaky_network.yaml"),
            Self::DatabaseTrouble => include_str!("profiles/database_trouble.yaml"),
        }
    }

    /// Returns true if a spec has something that it could break.
    #[must_use]
    pub fn breaks_something(self, spec: &Spec) -> bool {
        let faults = self.faults(spec.model.as_ref());
        let attacks = |service: &Service| service.mock().is_some() && !faults.context_attacks.is_empty();
        let breaks = |service: &Service| {
            attacks(service)
                || faults.tool_faults.iter().any(|fault| fault.may_hit(service))
                || faults.service_faults.iter().any(|fault| fault.may_hit(service))
        };
        !faults.llm_faults.is_empty() || spec.services.iter().any(breaks)
    }

    /// Its faults, as far as they apply to a spec with this model.
    #[must_use]
    pub fn faults(self, model: Option<&Model>) -> Chaos {
        let node = parse(self.yaml(), Limits::default()).0;
        let read = node.and_then(|node| Chaos::read(&node, &mut Reader::default()));
        let mut chaos = read.unwrap_or_else(Chaos::none);
        if model.is_none() {
            chaos.llm_faults.clear();
        }
        chaos
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;
    use crate::spec::load;

    #[test]
    fn every_profile_is_a_chaos_cell_that_validates() {
        for profile in Profile::ALL {
            let indented = profile.yaml().lines().map(|line| format!("    {line}\n")).collect::<String>();
            let text = format!(
                "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
                 model: {{mode: scripted, turns: [{{content: x}}]}}\n\
                 services:\n  - {{name: shop, type: http_mock, ports: [80], routes: [{{path: /orders}}]}}\n\
                 \x20 - {{name: db, image: 'postgres:16'}}\n\
                 chaos_matrix:\n  - name: own\n{indented}  - {{name: shipped, profile: {profile}}}\n\
                 invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
            );
            let loaded = load(&text, None);
            let spec = loaded.spec.unwrap_or_else(|| panic!("{profile}: {:?}", loaded.diagnostics));
            let (own, shipped) = (spec.chaos_of("own"), spec.chaos_of("shipped"));
            assert_eq!(own, shipped, "{profile}");
            let without_model = profile.faults(None);
            assert!(without_model.llm_faults.is_empty(), "{profile}");
        }
    }
}
