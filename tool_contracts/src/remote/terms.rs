//! The terms of a remote session: its contracts and its options, as they are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::compile::{CompileError, Compiled, RawFile, RawSet, compile};
use crate::diagnostic::Diagnostic;
use crate::live::SessionOpening;
use crate::options::{CompileOptions, Fallback, Mode, Principal, ResponseGate, RunOptions};

/// The terms of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RemoteTerms {
    /// The files of the contracts, by their names.
    pub files: BTreeMap<String, String>,
    /// The way in which decisions take effect.
    pub mode: Mode,
    /// What happens to a response with blocked calls.
    pub gate: ResponseGate,
    /// What happens to calls of tools without a contract.
    pub unmatched: Fallback,
    /// The one on whose behalf the agent acts.
    pub principal: Option<Json>,
    /// The values of `equals_env`.
    pub env: BTreeMap<String, String>,
    /// JSON Schemas of tools' arguments.
    pub tool_schemas: BTreeMap<String, Json>,
    /// True when the model's proposals are told.
    pub sees_model: bool,
    /// True when results that only the agent reports prove that a high-risk call happened.
    pub trust_self_reported: bool,
    /// The labels that it begins with.
    pub labels: Vec<String>,
}

impl RemoteTerms {
    /// Compiles the contracts.
    ///
    /// # Errors
    /// They do not compile.
    pub fn compile(&self) -> Result<(Compiled, Vec<Diagnostic>), CompileError> {
        let file = |(name, text): (&String, &String)| RawFile { name: name.clone(), text: text.clone() };
        let set = RawSet { files: self.files.iter().map(file).collect() };
        let run = RunOptions {
            mode: self.mode,
            gate: self.gate,
            unmatched: self.unmatched,
            env: self.env.clone(),
            trust_self_reported: self.trust_self_reported,
            ..RunOptions::default()
        };
        let principal = self.principal.clone().map_or(Principal::Missing, Principal::Given);
        let tool_schemas = self.tool_schemas.clone();
        compile(&set.own(), &CompileOptions { principal, tool_schemas, run, ..CompileOptions::default() })
    }

    /// The settings that a session with this id is opened with.
    #[must_use]
    pub fn opening(&self, session: &str) -> SessionOpening {
        let label = |label: &String| (label.clone(), "opening".to_owned());
        SessionOpening {
            session: session.to_owned(),
            role: None,
            decides: true,
            sees_model: self.sees_model,
            labels: self.labels.iter().map(label).collect(),
        }
    }
}
