//! Text to spec, or to everything that is wrong with it.

use sha2::{Digest, Sha256};

use super::bundle::Bundle;
use super::code::Code;
use super::diagnostic::{Diagnostic, Severity};
use super::path::Path;
use super::reader::{Readable, Reader};
use super::salvage::{Holes, salvage};
use super::sections::ToolServer;
use super::validate::validate;
use super::yaml::{Entry, Kind, Limits, Node, parse};
use super::{Sections, Spec};

use crate::hex;

/// Keys that are kept for parts of the language which this version does not run.
pub(super) const RESERVED: [&str; 3] = ["contracts", "extends", "workflow"];
/// Maximum number of findings that are reported; a text with more needs another look anyway.
const MOST_FINDINGS: usize = 100;

/// The result of reading a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The spec, when there is no error.
    pub spec: Option<Spec>,
    /// The findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of further findings.
    pub left_out: usize,
    /// Possible improvements of a spec that has no error. They are shown only to users who ask for the findings about a
    /// spec.
    pub advice: Vec<Diagnostic>,
}

/// Reads a spec. `bundle` lists the files beside it; `None` when it stands alone.
#[must_use]
pub fn load(text: &str, bundle: Option<&Bundle>) -> Loaded {
    let (root, mut diagnostics) = parse(text, Limits::default());
    let spec = root.and_then(|root| read(root, bundle, &mut diagnostics));
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity() == Severity::Error);
    let (mut advice, mut diagnostics): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|diagnostic| diagnostic.severity() == Severity::Advice);
    advice.retain(|_| !failed);
    // Errors stay when there is too much to show.
    diagnostics.sort_by_key(|diagnostic| (diagnostic.severity(), diagnostic.span.start, diagnostic.code));
    diagnostics.dedup();
    let left_out = diagnostics.len().saturating_sub(MOST_FINDINGS);
    diagnostics.truncate(MOST_FINDINGS);
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.code));
    Loaded { spec: spec.filter(|_| !failed), diagnostics, left_out, advice }
}

fn read(mut root: Node, bundle: Option<&Bundle>, diagnostics: &mut Vec<Diagnostic>) -> Option<Spec> {
    take_reserved(&mut root, diagnostics);
    let mut reader = Reader::new(bundle);
    let sections = Sections::read(&root, &mut reader);
    let (findings, references) = reader.finish();
    let spec = match sections {
        Some(sections) => {
            let spec = with_services_of_tools(Spec { digest: digest(&root), sections });
            diagnostics.extend(validate(&spec, &root, &references, bundle, &Holes::default()));
            Some(spec)
        }
        None => {
            diagnostics.extend(read_the_rest(&root, &findings, bundle));
            None
        }
    };
    diagnostics.extend(findings);
    spec
}

/// The spec with a service for each image that serves tools.
fn with_services_of_tools(mut spec: Spec) -> Spec {
    let services: Vec<_> = spec.tools.servers().filter_map(ToolServer::service).collect();
    spec.sections.services.extend(services);
    spec
}

/// Applies the rules to the parts of a spec that could be read.
fn read_the_rest(root: &Node, findings: &[Diagnostic], bundle: Option<&Bundle>) -> Vec<Diagnostic> {
    let (rest, holes) = salvage(root, findings);
    let mut reader = Reader::new(bundle);
    let sections = Sections::read(&rest, &mut reader);
    let (_, references) = reader.finish();
    sections.map_or_else(Vec::new, |sections| {
        let spec = with_services_of_tools(Spec { digest: String::new(), sections });
        validate(&spec, &rest, &references, bundle, &holes)
    })
}

/// Removes the keys that are not read: free ones silently, reserved ones with a finding.
fn take_reserved(root: &mut Node, diagnostics: &mut Vec<Diagnostic>) {
    let Kind::Map(entries) = &mut root.kind else { return };
    entries.retain(|entry| !entry.key.starts_with("x-"));
    let is_reserved = |entry: &Entry| RESERVED.contains(&entry.key.as_str());
    for entry in entries.iter().filter(|entry| is_reserved(entry)) {
        diagnostics.push(Diagnostic {
            code: Code::NotSupportedYet,
            message: format!("`{}` is not supported yet", entry.key),
            help: Some("remove it; the key is reserved for a later version".to_owned()),
            path: Path::default().key(&entry.key),
            span: entry.key_span,
        });
    }
    entries.retain(|entry| !is_reserved(entry));
}

fn digest(root: &Node) -> String {
    hex(Sha256::digest(root.canonical().to_string()))
}
