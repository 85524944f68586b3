//! Compiling a workflow: its own file, and the sets of its roles.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::{CompileError, Compiled, RawSet, Source, WORKFLOW, compile, parse, sort, stem};
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::json_path::JsonPath;
use crate::options::CompileOptions;
use crate::read::outcome::Retries;
use crate::read::tool::SideEffect;
use crate::read::workflow::{ResourceMode, Workflow, check_aliases};
use crate::reader::{At, Reader};

/// A workflow that was checked.
#[derive(Debug, Clone)]
pub struct CompiledWorkflow {
    pub(crate) workflow: Workflow,
    /// The compiled set of each role; empty when only the workflow file was compiled.
    pub roles: BTreeMap<String, Compiled>,
    /// The path of each shared resource's instance in arguments.
    pub(crate) resources: BTreeMap<String, JsonPath>,
}

/// Compiles `workflow.yaml` and the directory of each role's session file.
///
/// # Errors
/// When the workflow or a role has an error; all of them are in the result.
pub fn compile_workflow(
    set: &RawSet,
    options: &CompileOptions,
) -> Result<(CompiledWorkflow, Vec<Diagnostic>), CompileError> {
    let mut reader = Reader::default();
    let file = set.files.iter().find(|file| stem(&file.name) == WORKFLOW);
    let source = file.and_then(|file| parse(file, &mut reader));
    let Some(source) = source else {
        let diagnostics = reader.diagnostics.0;
        return Err(CompileError { diagnostics });
    };
    let Some(workflow) = Workflow::read(&At::root(&source.root, &source.file), &mut reader) else {
        return Err(CompileError { diagnostics: reader.diagnostics.0 });
    };
    let mut roles = BTreeMap::new();
    let mut resources = BTreeMap::new();
    for role in &workflow.roles {
        let path = joined(&source.file, &role.session_contract.name);
        if !set.files.iter().any(|file| file.name == path) {
            let message = format!("there is no file `{path}`");
            reader.diagnostics.report(Code::MissingField, &role.session_contract.place, message);
            continue;
        }
        let (compiled, found) = match compile(&siblings(set, &path), options) {
            Ok((compiled, warnings)) => (Some(compiled), warnings),
            Err(error) => (None, error.diagnostics),
        };
        reader.diagnostics.0.extend(found);
        resources.extend(compiled.iter().flat_map(|compiled| compiled.session.resources.clone()));
        roles.extend(compiled.map(|compiled| (role.name.name.clone(), compiled)));
    }
    finish(workflow, roles, resources, reader)
}

/// Compiles a parsed workflow with the resources of its roles' sessions, and without their sets.
pub(crate) fn compile_alone(
    source: &Source,
    resources: BTreeMap<String, JsonPath>,
) -> Result<(CompiledWorkflow, Vec<Diagnostic>), CompileError> {
    let mut reader = Reader::default();
    match Workflow::read(&At::root(&source.root, &source.file), &mut reader) {
        Some(workflow) => finish(workflow, BTreeMap::new(), resources, reader),
        None => Err(CompileError { diagnostics: reader.diagnostics.0 }),
    }
}

fn finish(
    workflow: Workflow,
    roles: BTreeMap<String, Compiled>,
    resources: BTreeMap<String, JsonPath>,
    mut reader: Reader,
) -> Result<(CompiledWorkflow, Vec<Diagnostic>), CompileError> {
    check_aliases(&workflow, &resources, &mut reader);
    let mut diagnostics = reader.diagnostics.0;
    sort(&mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(CompileError { diagnostics });
    }
    Ok((CompiledWorkflow { workflow, roles, resources }, diagnostics))
}

/// A path beside a file.
fn joined(file: &str, path: &str) -> String {
    match file.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{path}"),
        None => path.to_owned(),
    }
}

/// The files in the folder of a file.
fn siblings(set: &RawSet, path: &str) -> RawSet {
    let folder = |name: &str| name.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let wanted = folder(path);
    RawSet { files: set.files.iter().filter(|file| folder(&file.name) == wanted).cloned().collect() }
}

impl CompiledWorkflow {
    /// The set of the first role, which the root session has.
    #[must_use]
    pub fn into_root(mut self) -> Option<Compiled> {
        let root = self.workflow.roles.first()?;
        self.roles.remove(&root.name.name)
    }

    /// The sets of all roles, in the order of the file.
    #[must_use]
    pub fn into_roles(mut self) -> Vec<Compiled> {
        let names = self.workflow.roles.iter().map(|role| &role.name.name);
        names.filter_map(|name| self.roles.remove(name)).collect()
    }

    /// True when a session that claims a handoff begins with the labels of the one that offered it.
    #[must_use]
    pub fn hands_labels_over(&self) -> bool {
        self.workflow.labels_with_handoff
    }

    /// The first role, which the root session has.
    #[must_use]
    pub fn root_role(&self) -> Option<&str> {
        self.workflow.roles.first().map(|role| role.name.name.as_str())
    }

    /// The instances of shared resources that calls wait for, which a call with these arguments is about.
    #[must_use]
    pub fn serial_instances(&self, arguments: &Json) -> Vec<String> {
        let serial = self.workflow.shared_resources.iter().filter(|(_, mode)| *mode == ResourceMode::SerialOnly);
        serial.filter_map(|(alias, _)| self.instance(&alias.name, arguments)).collect()
    }

    /// The instance of a resource that a call is about, as canonical text; `None` when it is about none.
    pub(crate) fn instance(&self, alias: &str, arguments: &Json) -> Option<String> {
        let value = self.resources.get(alias)?.first(arguments)?;
        Some(format!("{alias}={}", crate::canonical::canonical(value)))
    }
}

impl Compiled {
    /// True when a tool changes something. One without a contract may.
    #[must_use]
    pub fn is_mutating(&self, tool: &str) -> bool {
        self.tools.get(tool).is_none_or(|tool| tool.side_effect != SideEffect::Read)
    }

    /// The time that a call of a tool may take, waiting included.
    #[must_use]
    pub fn total_timeout(&self, tool: &str) -> Duration {
        let most = self.tools.get(tool).map_or(Retries::DEFAULT_TOTAL_MS, |tool| tool.retries.total_ms);
        Duration::from_millis(most)
    }
}
