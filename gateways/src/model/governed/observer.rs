//! Responses that pass as they come, judged when they have ended.

use std::sync::Arc;

use scenario::dialect::Answer;

use super::seen;
use crate::contract_session::ContractSession;
use crate::model::request::ModelRequest;

/// Judges the response to one request when it has ended. Nothing that it decides takes effect.
pub(in crate::model) struct Observer {
    session: Arc<ContractSession>,
    asked: ModelRequest,
    /// True when the response was judged before it was sent.
    is_judged: bool,
}

impl Observer {
    pub(super) fn new(session: &Arc<ContractSession>, asked: &ModelRequest) -> Self {
        Self { session: Arc::clone(session), asked: asked.clone(), is_judged: false }
    }

    /// The response was judged before it was sent.
    pub(super) fn is_judged(&mut self) {
        self.is_judged = true;
    }

    /// Takes a response that has ended.
    pub(in crate::model) fn take(&self, answer: &Answer) {
        if self.is_judged {
            return;
        }
        self.session.observe_response(seen::proposed(answer), Some(seen::exchange(&self.asked, answer)));
    }

    /// Adds the cost of the response.
    pub(in crate::model) fn add_cost(&self, cost: Option<f64>) {
        self.session.add_cost(cost);
    }
}
