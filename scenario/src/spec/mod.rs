//! Specs: what they may say, how they are read, and everything that can be wrong with them.
//!
//! Text becomes a tree with positions ([`yaml`]), the tree becomes types (`reader`, [`sections`], [`types`]), and
//! rules that need more than one value are checked on the types (`validate`). Each step collects findings instead of
//! stopping, so that an author sees all of them at once. The same descriptions ([`shape`]) give the JSON Schema
//! ([`schema`]) and the reference ([`reference`](mod@reference)).

mod bundle;
pub mod code;
mod contract_options;
pub mod diagnostic;
mod document;
mod load;
mod network_matcher;
pub(crate) mod reader;
pub mod reference;
pub mod render;
mod salvage;
pub mod schema;
pub(crate) mod section;
pub mod sections;
mod service_matcher;
pub mod shape;
pub mod template;
mod tool_matcher;
pub mod types;
pub(crate) mod validate;
pub mod yaml;

pub use yaml_tree::path;

use std::ops::Deref;

use serde::Serialize;

use crate::checks::Check;
pub use bundle::{Bundle, BundleError, MAX_BUNDLE_BYTES, MAX_BUNDLE_FILES, MAX_READ_BYTES};
pub use document::Document;
pub(crate) use document::{read_document, tree};
pub use load::{Loaded, load};
pub use network_matcher::NetworkMatcher;
pub use section::Joined;
use section::{by_default, choice, section};
use sections::{
    Agent, Audit, Chaos, ChaosCell, Contract, Determinism, Fixture, Forbidden, Invariant, Model, Mutations, Network,
    Parallelism, ReplayEntry, Resources, Scoring, Secret, Service, Setup, Task, ToolContracts, Tools,
};
pub use service_matcher::{ServiceMatcher, StatementCall, StatementPart};
pub use tool_matcher::{ToolMatcher, host_of_tool, is_route_glob};
use types::{Filled, InvariantName, Label, Many, SpecId, Table, Whole};

/// A spec that was read and found right.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Spec {
    sections: Sections,
    /// The SHA-256 of the spec's content, in hex: the same for texts that differ only in comments, style and key order.
    #[serde(skip)]
    pub digest: String,
}

impl Deref for Spec {
    type Target = Sections;

    fn deref(&self) -> &Sections {
        &self.sections
    }
}

section! {
    /// A world, a task, an agent, and what must be true afterwards. Keys that begin with `x-` are free at the top level,
    /// for anchors and notes.
    pub struct Sections {
        /// The version of the language: 1.
        version: Version,
        /// The spec's name, in kebab-case. Uploading the same id again makes a new stored version.
        id: SpecId,
        /// What the spec is about, for people.
        description: String = String::new(),
        /// The suite that the spec belongs to, for grouping in reports.
        suite: Option<Label>,
        /// Words for choosing specs.
        tags: Vec<Label> = Vec::new(),
        /// What the agent shows that it can do, for coverage.
        capabilities: Vec<Label> = Vec::new(),
        /// What a machine must offer to run this spec; a run lists what it skips.
        needs: Vec<Need> = Vec::new(),
        /// What every cell should come to with the spec's own agent. Examples and tests of invariants use it to show a
        /// failure.
        expect: Expect = Expect::Pass,
        /// The image of the sandbox, such as `debian:bookworm-slim`. Only `{{ params.NAME }}` is replaced here.
        base: Filled,
        /// What the agent is asked to do.
        task: Task,
        /// Who is put to the test. Without it the spec can be validated and used for an interactive sandbox, but not run.
        agent: Option<Agent>,
        /// The model that the agent talks to.
        model: Option<Model>,
        /// What the sandbox has before the agent starts.
        setup: Setup = by_default(),
        /// What one sandbox may use.
        resources: Resources = by_default(),
        /// What the world holds before the agent sees it.
        fixtures: Vec<Fixture> = Vec::new(),
        /// What the agent reaches by name.
        services: Vec<Service> = Vec::new(),
        /// Named operations that the agent calls over MCP, at `http://tools.services.internal/mcp`: a list of tools, or a map with
        /// the `list` and settings.
        tools: Tools = by_default(),
        /// Rules over the agent's tool calls, applied while it acts.
        tool_contracts: Option<ToolContracts>,
        /// Values that the agent needs and nobody may see.
        secrets: Vec<Secret> = Vec::new(),
        /// What the sandbox may reach.
        network: Network = by_default(),
        /// What is written down about the agent's doings.
        audit: Audit = by_default(),
        /// Faults of every scenario.
        chaos: Chaos = by_default(),
        /// Named sets of faults: every cell of `parallelism.matrix` is run with each of them, and without what `chaos` says.
        chaos_matrix: Option<Many<ChaosCell, 100>>,
        /// What the agent must not do, whatever it achieves.
        forbidden: Forbidden = by_default(),
        /// What is the same in every run.
        determinism: Determinism = by_default(),
        /// What must be true afterwards, by name.
        invariants: Table<InvariantName, Invariant> = Table::default(),
        /// Rules that must hold in every chaos cell.
        contract: Option<Contract>,
        /// Other ways to write the task's prompts.
        mutations: Option<Mutations>,
        /// Recorded sessions that the agent goes through again.
        replays: Vec<ReplayEntry> = Vec::new(),
        /// When a scenario passes, and when its replicas together do.
        scoring: Scoring = by_default(),
        /// How often and with what the scenario is run.
        parallelism: Parallelism = by_default(),
    }
}

/// The version of the language.
type Version = Whole<1, 1>;

choice! {
    /// What a machine must offer to run a spec.
    pub enum Need {
        /// A Docker engine: the spec is not run where sandboxes are made without one.
        Docker = "docker",
        /// Postgres: an image, or the program of the machine where sandboxes are made without Docker.
        Postgres = "postgres",
        /// MySQL or MariaDB, in the same way.
        Mysql = "mysql",
        /// Redis, in the same way.
        Redis = "redis",
        /// The model gateway.
        Model = "model",
        /// A model that judges.
        Judge = "judge",
        /// A way out to the network.
        Network = "network",
        /// Agent snapshots.
        Snapshot = "snapshot",
        /// Permission to run check scripts beside the worker.
        HostChecks = "host_checks",
    }
}

choice! {
    /// The status that a scenario should get.
    pub enum Expect {
        /// It passes.
        Pass = "pass",
        /// It fails.
        Fail = "fail",
        /// It cannot be judged.
        Error = "error",
    }
}

impl Sections {
    /// The service with this name.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.iter().find(|service| service.name().as_str() == name)
    }

    /// The services that `services` declares. Images that serve tools are behind them.
    pub(crate) fn declared_services(&self) -> &[Service] {
        let images = self.tools.servers().filter(|server| server.image.is_some()).count();
        &self.services[..self.services.len().saturating_sub(images)]
    }

    /// Returns the maximum number of concurrent scenarios of an experiment, if the spec gives one: both
    /// `parallelism.max_concurrent` and `resources.concurrency_limit` apply.
    #[must_use]
    pub fn at_once(&self) -> Option<u32> {
        let limits = [
            self.parallelism.max_concurrent.map(|limit| limit.get()),
            self.resources.concurrency_limit.map(|limit| limit.get()),
        ];
        limits.into_iter().flatten().min().and_then(|limit| u32::try_from(limit).ok())
    }

    /// Every check, with the place where it stands: those of invariants, and those of the contract's rules.
    pub fn checks(&self) -> impl Iterator<Item = (String, &Check)> {
        let own = self.invariants.iter().map(|(name, invariant)| (format!("invariants.{name}"), &invariant.check));
        let rules = self.contract.iter().flat_map(|contract| contract.invariants.iter());
        own.chain(rules.map(|rule| (format!("contract.invariants.{}", rule.rule.id), &rule.check)))
    }

    /// The chaos cells, which stand at the top level or in the contract.
    pub fn chaos_cells(&self) -> impl Iterator<Item = &ChaosCell> {
        let of_contract = self.contract.iter().filter_map(|contract| contract.chaos_matrix.as_ref());
        self.chaos_matrix.iter().chain(of_contract).flat_map(|cells| cells.iter())
    }

    /// The faults of the chaos cell with this name, those of its profile included; those of `chaos` when the name is empty. A
    /// profile can be chosen by its name in place of a cell, and [`sections::chaos::NO_CHAOS`] to compare with it.
    #[must_use]
    pub fn chaos_of(&self, cell: &str) -> Chaos {
        match self.chaos_cells().find(|one| one.own.name.as_str() == cell) {
            Some(cell) => cell.shared.expanded(self.model.as_ref()),
            None if cell.is_empty() && self.chaos_cells().next().is_none() => self.chaos.expanded(self.model.as_ref()),
            None => match sections::chaos::Profile::named(cell) {
                Some(profile) => profile.faults(self.model.as_ref()),
                None => Chaos::none(),
            },
        }
    }

    /// Returns true if some fault may hit this service on the way to it: one of the spec, in any of its chaos cells, or
    /// of the profile that was chosen in place of a cell.
    #[must_use]
    pub fn may_fault(&self, service: &Service, cell: &str) -> bool {
        self.every_chaos(cell).any(|chaos| {
            chaos.service_faults.iter().any(|fault| fault.may_hit(service))
                || chaos.tool_faults.iter().any(|fault| fault.may_hit(service))
        })
    }

    /// Returns true if the effect of some attack may be seen in what is sent to this service: in any chaos cell, or in
    /// the profile that was chosen in place of a cell.
    #[must_use]
    pub fn may_show_attacks(&self, service: &Service, cell: &str) -> bool {
        let is_scored = |chaos: Chaos| chaos.context_attacks.enabled().any(|(_, attack)| attack.has_canary());
        let is_reachable = service.can_be_cut_off() || service.may_be_database();
        is_reachable && self.every_chaos(cell).any(is_scored)
    }

    /// The faults of the spec in all its chaos cells, and those of the profile that was chosen in place of a cell.
    fn every_chaos(&self, cell: &str) -> impl Iterator<Item = Chaos> {
        let cells = self.chaos_cells().map(|cell| &cell.shared);
        let cells = std::iter::once(&self.chaos).chain(cells).map(|chaos| chaos.expanded(self.model.as_ref()));
        cells.chain([self.chaos_of(cell)])
    }

    /// Returns the records to keep: those that `audit` names, and those that the `forbidden` rules need.
    #[must_use]
    pub fn effective_audit(&self) -> Audit {
        Audit {
            db_writes: self.audit.db_writes || self.forbidden.db_writes_outside.is_some(),
            http_calls: self.audit.http_calls || self.forbidden.http_except.is_some(),
            file_writes: self.audit.file_writes || self.forbidden.file_writes_outside.is_some(),
            commands: self.audit.commands,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::load;

    #[test]
    fn the_lower_of_two_limits_says_how_many_run_at_once() {
        let at_once = |more: &str| {
            let text = format!(
                "version: 1\nid: x\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
                 invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n{more}"
            );
            load(&text, None).spec.expect("a spec").at_once()
        };
        assert_eq!(at_once(""), None);
        assert_eq!(at_once("parallelism: {max_concurrent: 3}"), Some(3));
        assert_eq!(at_once("resources: {concurrency_limit: 2}"), Some(2));
        assert_eq!(at_once("parallelism: {max_concurrent: 3}\nresources: {concurrency_limit: 2}"), Some(2));
    }
}
