//! The entries of a ledger, each bounded.

use std::collections::HashMap;

use scenario::evidence::{Body, CallTraceRecorder, ModelCall, TokenCount, Usage};

use super::limits::{KEPT_MISSES, ModelGatewayLimits, TOOLS_BYTES};
use super::replay::MISS;
use super::script::EXHAUSTED;

/// Records so far.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) calls: Vec<ModelCall>,
    pub(super) only_counted: u64,
    /// The tools that answers called, and their results.
    pub(super) trace: CallTraceRecorder,
    pub(super) tools_only_counted: u64,
    /// The proposal with an id, until it has a report; of several, the last.
    pub(super) unreported: HashMap<String, u64>,
    pub(super) usage: Usage,
    /// True when a call was billed whose model has no price.
    unpriced: bool,
    /// Calls that are under way and may yet be billed.
    pub(super) reserved: u64,
    kept_bytes: usize,
    tools_bytes: usize,
    pub(super) misses: Vec<String>,
    pub(super) exhausted: bool,
    pub(super) closed: bool,
}

impl Entries {
    /// The body, or how large it was when there is no more room for it.
    pub(super) fn fit(&mut self, body: Body, bounds: &ModelGatewayLimits) -> Body {
        let (bytes, size) = match &body {
            Body::Kept(blob) => (blob.stored_len(), blob.0.len() as u64),
            Body::Cut { kept, size, .. } => (kept.stored_len(), *size),
            Body::Dropped { size } => (0, *size),
        };
        if self.kept_bytes.saturating_add(bytes) > bounds.kept_bytes {
            return Body::Dropped { size };
        }
        self.kept_bytes += bytes;
        body
    }

    pub(super) fn fits_tool(&mut self, bytes: usize) -> bool {
        let fits = self.tools_bytes.saturating_add(bytes) <= TOOLS_BYTES;
        if fits {
            self.tools_bytes += bytes;
        }
        fits
    }

    pub(super) fn bill(&mut self, tokens: &TokenCount, cost: Option<f64>, model: String) {
        let usage = &mut self.usage;
        usage.calls += 1;
        usage.input_tokens = usage.input_tokens.saturating_add(tokens.input);
        usage.output_tokens = usage.output_tokens.saturating_add(tokens.output);
        usage.cache_read_tokens = usage.cache_read_tokens.saturating_add(tokens.cache_read);
        usage.model = model;
        self.unpriced |= cost.is_none();
        let spent = usage.cost_usd.unwrap_or(0.0) + cost.unwrap_or(0.0);
        usage.cost_usd = Some(spent);
    }

    pub(super) fn note(&mut self, code: &str, problem: &str) {
        self.exhausted |= code == EXHAUSTED;
        if code == MISS && self.misses.len() < KEPT_MISSES {
            self.misses.push(problem.to_owned());
        }
    }

    /// Returns the usage; it has no cost when a billed call has no price.
    pub(super) fn used(&self) -> Usage {
        let cost_usd = if self.unpriced { None } else { Some(self.usage.cost_usd.unwrap_or(0.0)) };
        Usage { cost_usd, ..self.usage.clone() }
    }
}
