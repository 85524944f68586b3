//! Scenarios through the engine, and nothing else: no queue, no store.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::attempt::{Attempt, Keep, Permissions};
use engine::backend::docker::{DockerBackend, DockerSettings};
use engine::backend::{Backend, Identity, Reach};
use engine::baselines::Baselines;
use engine::bundle::BundleFolder;
use engine::data_dir::DataDir;
use engine::entropy;
use engine::event::Events;
use engine::machine::Machine;
use engine::owner::Owner;
use engine::run_scenario;
use scenario::plan::{PlanOptions, expand};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::spec::load;
use tokio_util::sync::CancellationToken;

/// The image of the sandboxes.
pub(crate) const IMAGE: &str = "touchstone/busybox:1";

/// A scenario that does next to nothing.
pub(crate) const TRIVIAL: &str = "
version: 1
id: trivial
base: touchstone/busybox:1
task: {prompt: x}
agent: {type: cli, command: [touch, out.txt]}
resources: {memory: 256Mi, disk: 64Mi, pids: 128}
invariants: {there: {description: x, check: {type: file_exists, path: out.txt}}}
";

/// The engine, with a data directory of its own.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) folder: tempfile::TempDir,
}

impl Ours {
    /// Connects.
    pub(crate) async fn connect(settings: DockerSettings) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        let owner = Owner::register(data_dir).expect("an owner");
        let settings = DockerSettings { pull: false, ..settings };
        let backend = Arc::new(DockerBackend::connect(owner, settings).await.expect("a Docker engine"));
        Self { backend, folder }
    }

    /// Runs one scenario, which must pass.
    pub(crate) async fn run(&self, yaml: &str, events: &Events) {
        let spec = load(yaml, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let scenario = plan.scenarios.first().expect("a scenario");
        let attempt = Attempt {
            spec: &spec,
            scenario,
            bundle: &BundleFolder::none(),
            secrets: &BTreeMap::new(),
            identity: Identity {
                experiment: "bench".to_owned(),
                scenario: scenario.id.to_string(),
                job: entropy::uuid(),
                attempt: 1,
            },
            permissions: Permissions::default(),
            agent: None,
            machine: &Machine::default(),
            baselines: &Baselines::new(plan.seed),
            started_at: jiff::Timestamp::UNIX_EPOCH,
            keep: Keep::Never,
            snapshot: None,
            session: None,
            prompt: None,
            sandbox_id: None,
            approvals: None,
        };
        let evidence =
            run_scenario(&*self.backend, &attempt, events, &CancellationToken::new()).await.expect("evidence");
        let result = ScenarioResult::judge(&spec, scenario, &evidence);
        assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    }

    /// Asserts that nothing is left.
    pub(crate) async fn finish(self) {
        let swept = self.backend.sweep(Reach::Gone).await.expect("swept");
        assert_eq!(swept.containers + swept.volumes, 0);
        drop(self.folder);
    }
}
