//! The gateways of one attempt, from the agent's start to the evidence.

use std::sync::Arc;

use futures::future::join_all;
use gateways::Gateway;
use gateways::api::ApiGateway;
use gateways::faults::{FaultEngine, LostService};
use gateways::model::ModelGateway;
use gateways::tools::ToolGateway;
use scenario::evidence::{Evidence, Fired};
use serde_json::Value as Json;

/// The gateways of one attempt. Their evidence is in the order of the list.
#[derive(Debug)]
pub(crate) struct GatewayList {
    all: Vec<Arc<dyn Gateway>>,
    /// The faults, which end before the records do.
    faults: Option<Arc<FaultEngine>>,
    /// The API of the sandbox, whose reports are read while the agent acts.
    api: Arc<ApiGateway>,
    /// The model, whose limits end the agent.
    model: Option<Arc<ModelGateway>>,
    /// The tools, whose limits do too.
    tools: Option<Arc<ToolGateway>>,
}

impl GatewayList {
    /// These gateways, and then the faults, the API and the model.
    pub(crate) fn new(
        first: impl IntoIterator<Item = Arc<dyn Gateway>>,
        faults: Option<Arc<FaultEngine>>,
        api: Arc<ApiGateway>,
        model: Option<Arc<ModelGateway>>,
    ) -> Self {
        let mut all: Vec<_> = first.into_iter().collect();
        all.extend(faults.iter().map(|faults| Arc::<FaultEngine>::clone(faults) as Arc<dyn Gateway>));
        all.push(Arc::<ApiGateway>::clone(&api));
        all.extend(model.iter().map(|model| Arc::<ModelGateway>::clone(model) as Arc<dyn Gateway>));
        Self { all, faults, api, model, tools: None }
    }

    /// Adds the tools, whose servers are started when everything else is there. Their calls get their places among those of the
    /// model, so that they are recorded after it.
    pub(crate) fn add_tools(&mut self, tools: Arc<ToolGateway>) {
        self.all.push(Arc::<ToolGateway>::clone(&tools) as Arc<dyn Gateway>);
        self.tools = Some(tools);
    }

    /// The faults of the scenario, if it has any.
    pub(crate) fn faults(&self) -> Option<&Arc<FaultEngine>> {
        self.faults.as_ref()
    }

    /// The agent is about to start.
    pub(crate) async fn begin(&self) {
        join_all(self.all.iter().map(|gateway| gateway.begin())).await;
    }

    /// The agent has ended, and everything else in the sandbox is about to.
    pub(crate) fn agent_ended(&self) {
        self.tools.iter().for_each(|tools| tools.agent_ended());
    }

    /// The agent has ended: the sandbox is as it was before its faults.
    pub(crate) async fn end_world_faults(&self) {
        if let Some(faults) = &self.faults {
            faults.end_world_faults().await;
        }
    }

    /// A service that could not be brought back after a fault.
    pub(crate) fn lost_service(&self) -> Option<LostService> {
        self.faults.as_ref().and_then(|faults| faults.lost_service())
    }

    /// The agent has ended: waits for what it had sent before, and ends the records. Bytes that a fault delayed arrive first, so
    /// that they are recorded.
    pub(crate) async fn seal(&self) {
        if let Some(faults) = &self.faults {
            faults.release().await;
        }
        join_all(self.all.iter().map(|gateway| gateway.seal())).await;
    }

    /// Adds what crossed them to the evidence.
    pub(crate) fn record(&self, evidence: &mut Evidence) {
        self.all.iter().for_each(|gateway| gateway.record(evidence));
    }

    /// Waits for a limit of the model or the tools to fire; it may never do.
    pub(crate) async fn limit_fired(&self) -> Fired {
        let of_model = async {
            match &self.model {
                Some(model) => model.limit_fired().await,
                None => std::future::pending().await,
            }
        };
        let of_tools = async {
            match &self.tools {
                Some(tools) => tools.limit_fired().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            fired = of_model => fired,
            fired = of_tools => fired,
        }
    }

    /// Returns the reports of programs in the sandbox about themselves so far.
    pub(crate) fn reported(&self) -> Vec<Json> {
        self.api.reported()
    }
}
