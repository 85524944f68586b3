//! Specs as they are submitted to a server: the text, or an archive with the files beside it.

use std::collections::BTreeMap;
use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use scenario::plan::AgentOverride;
use serde_json::{Map, Value as Json, json};
use store::SpecContent;
use tar::{Builder, Header};

use crate::search::SPEC_FILE;

/// Settings of a run on a server, which override the spec.
#[derive(Debug, Clone, Default)]
pub(crate) struct Submission {
    /// The display name of the experiment.
    pub(crate) name: Option<String>,
    /// Higher numbers go first.
    pub(crate) priority: Option<i64>,
    /// Number of replicas per cell.
    pub(crate) replicas: Option<usize>,
    /// The seed.
    pub(crate) seed: Option<u64>,
    /// Values of parameters.
    pub(crate) parameters: Vec<(String, Json)>,
    /// The agent that replaces the spec's own.
    pub(crate) agent: Option<AgentOverride>,
    /// A bar for every cell.
    pub(crate) min_pass_rate: Option<f64>,
    /// The scenarios to run.
    pub(crate) filter: Vec<String>,
    /// The chaos cells to run.
    pub(crate) chaos: Vec<String>,
    /// Values of secrets.
    pub(crate) secrets: BTreeMap<String, String>,
}

impl Submission {
    /// Builds the request body for a spec.
    pub(crate) fn body(&self, content: &SpecContent) -> io::Result<Json> {
        let parameters: Map<String, Json> = self.parameters.iter().cloned().collect();
        let mut body = json!({
            "name": self.name,
            "priority": self.priority,
            "replicas": self.replicas,
            "seed": self.seed,
            "parameters": parameters,
            "agent": self.agent,
            "min_pass_rate": self.min_pass_rate,
            "filter": self.filter,
            "chaos": (!self.chaos.is_empty()).then_some(&self.chaos),
            "secrets": self.secrets,
        });
        match content.files.is_empty() {
            true => body["spec"] = content.text.as_str().into(),
            false => body["bundle"] = BASE64_STANDARD.encode(archive(content)?).into(),
        }
        Ok(body)
    }
}

/// A spec with the files beside it, as a tar archive: the same content gives the same bytes.
fn archive(content: &SpecContent) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let others = content.files.iter().filter(|file| file.path != SPEC_FILE);
    let own = (SPEC_FILE, 0o644, content.text.as_bytes());
    let others = others.map(|file| {
        let mode = if file.executable { 0o755 } else { 0o644 };
        (file.path.as_str(), mode, file.content.as_slice())
    });
    for (path, mode, bytes) in std::iter::once(own).chain(others) {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_mtime(0);
        archive.append_data(&mut header, path, bytes)?;
    }
    archive.into_inner()
}
