//! Compiling: files to one checked set, or everything that is wrong with them.

pub(crate) mod graph;
mod names;
mod needed;
mod normalise;
mod outer_rules;
mod phases;
pub(crate) mod schema;
pub(crate) mod workflow;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use yaml_tree::{Limits, Node, ProblemKind};

use crate::canonical::hash;
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Place};
use crate::invariant::Invariant;
use crate::options::{CompileOptions, Principal, Profile, RunOptions};
use crate::read::session::Session;
use crate::read::tool::{RiskGate, Tool};
use crate::reader::{At, Reader};
pub(crate) use needed::NeededValues;

/// The name of the session file.
pub(crate) const SESSION: &str = "session";
/// The name of the workflow file.
const WORKFLOW: &str = "workflow";

/// A file of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFile {
    /// Its path, which diagnostics show.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The files of a directory of contracts: `session.yaml` and one file for each tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawSet {
    /// The files.
    pub files: Vec<RawFile>,
}

impl RawSet {
    /// The files without those of folders below, which belong to roles of a workflow or are fixtures.
    #[must_use]
    pub fn own(&self) -> Self {
        Self { files: self.files.iter().filter(|file| !file.name.contains('/')).cloned().collect() }
    }

    /// True when there is a workflow, whose roles have sets of their own.
    #[must_use]
    pub fn has_workflow(&self) -> bool {
        self.files.iter().any(|file| file.name == "workflow.yaml" || file.name == "workflow.yml")
    }

    /// Compiles the workflow and its roles when there is one, and else the set itself. With a workflow, the set of its first role
    /// is returned; `None` when it has no role.
    ///
    /// # Errors
    /// Something does not compile.
    pub fn compile(&self, options: &CompileOptions) -> Result<(Option<Compiled>, Vec<Diagnostic>), CompileError> {
        if self.has_workflow() {
            let (workflow, warnings) = workflow::compile_workflow(self, options)?;
            return Ok((workflow.into_root(), warnings));
        }
        compile(&self.own(), options).map(|(compiled, warnings)| (Some(compiled), warnings))
    }
}

/// A set that does not compile: every error, and the warnings beside them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the tool contracts do not compile: {}", .diagnostics.iter().find(|found| found.is_error()).map_or_else(String::new, ToString::to_string))]
pub struct CompileError {
    /// The findings, errors and warnings, by file and place.
    pub diagnostics: Vec<Diagnostic>,
}

/// A file that was parsed.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The file's name without its folders and extension.
    pub(crate) stem: String,
    pub(crate) file: String,
    pub(crate) root: Node,
}

/// A set of contracts that was checked, and is ready to decide.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The hash of the set's content: the same for texts that differ only in style.
    pub hash: String,
    /// The options that the set was compiled with.
    pub run: RunOptions,
    pub(crate) principal: Option<Json>,
    pub(crate) tools: BTreeMap<String, Tool>,
    pub(crate) session: Session,
    /// The tool that binds each slot.
    pub(crate) binders: BTreeMap<String, String>,
    /// Invariants from the schemas that were given.
    pub(crate) derived: BTreeMap<String, Vec<Invariant>>,
    /// The values of calls that the history keeps, for the tools that preconditions name.
    pub(crate) needed: BTreeMap<String, NeededValues>,
    /// The files that it was compiled from, in which rules are found.
    pub(crate) sources: Arc<[Source]>,
}

/// Compiles a set.
///
/// # Errors
/// When the set has an error; all of them are in the result.
pub fn compile(set: &RawSet, options: &CompileOptions) -> Result<(Compiled, Vec<Diagnostic>), CompileError> {
    let mut reader = Reader::default();
    let files = set.files.iter().filter(|file| stem(&file.name) != WORKFLOW);
    let sources: Vec<_> = files.filter_map(|file| parse(file, &mut reader)).collect();
    compile_sources(&sources, options, reader)
}

/// Compiles files that were parsed.
pub(crate) fn compile_sources(
    sources: &[Source],
    options: &CompileOptions,
    mut reader: Reader,
) -> Result<(Compiled, Vec<Diagnostic>), CompileError> {
    reader.strict = options.profile == Profile::Strict;
    let mut session = read_session(sources, &mut reader);
    outer_rules::add(&mut session, &options.rules, &mut reader);
    let tools = read_tools(sources, &mut reader);
    let binders = names::check_bindings(&tools, &session, &mut reader);
    names::check_tools(&tools, &session, &mut reader);
    phases::check(&tools, &session, &mut reader);
    check_opening(&tools, &session, options, &mut reader);
    let derived = schema::derive_all(&tools, &session, options, &mut reader);
    let principal = match &options.principal {
        Principal::Given(principal) => Some(principal.clone()),
        Principal::Later | Principal::Missing => None,
    };
    let needed = needed::needed_values(&tools);
    let hash = hash(&normalise::normalise(sources, &options.rules));
    let (run, sources) = (options.run.clone(), sources.into());
    let compiled = Compiled { hash, run, principal, tools, session, binders, derived, needed, sources };
    graph::check(&compiled, &mut reader);
    finish(compiled, reader)
}

fn finish(compiled: Compiled, reader: Reader) -> Result<(Compiled, Vec<Diagnostic>), CompileError> {
    let mut diagnostics = reader.diagnostics.0;
    diagnostics.retain(|found| found.is_error() || !is_suppressed(found, &compiled.session));
    sort(&mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(CompileError { diagnostics });
    }
    Ok((compiled, diagnostics))
}

fn sort(diagnostics: &mut [Diagnostic]) {
    let place = |found: &Diagnostic| (found.place.file.clone(), found.place.span.start, found.code);
    diagnostics.sort_by_key(place);
}

fn is_suppressed(found: &Diagnostic, session: &Session) -> bool {
    session.suppressions.iter().any(|suppression| {
        suppression.check == found.code && suppression.tool.as_ref().is_none_or(|tool| tool.name == found.subject)
    })
}

/// A file's name without its folders and extension.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml")).unwrap_or(file)
}

/// Parses a file and reports its problems.
fn parse(file: &RawFile, reader: &mut Reader) -> Option<Source> {
    let (root, problems) = yaml_tree::parse(&file.text, "contract", Limits::default());
    for problem in problems {
        let code = if problem.kind == ProblemKind::DuplicateKey { Code::DuplicateKey } else { Code::InvalidYaml };
        let place = Place { file: file.name.clone(), path: problem.path, span: problem.span };
        reader.diagnostics.report(code, &place, problem.message).help(problem.help);
    }
    Some(Source { stem: stem(&file.name).to_owned(), file: file.name.clone(), root: root? })
}

fn read_session(sources: &[Source], reader: &mut Reader) -> Session {
    let source = sources.iter().find(|source| source.stem == SESSION);
    let read = source.map(|source| Session::read(&At::root(&source.root, &source.file), reader));
    read.unwrap_or_else(|| Session { schema_derived: true, ..Session::default() })
}

fn read_tools(sources: &[Source], reader: &mut Reader) -> BTreeMap<String, Tool> {
    let mut tools = BTreeMap::new();
    for source in sources.iter().filter(|source| source.stem != SESSION) {
        let at = At::root(&source.root, &source.file);
        let Some(tool) = Tool::read(&at, &source.stem, reader) else { continue };
        if tools.contains_key(&tool.name) {
            reader.report(Code::DuplicateName, &at, format!("there is already a file for the tool `{}`", tool.name));
        } else {
            tools.insert(tool.name.clone(), tool);
        }
    }
    tools
}

/// Checks the rules about the values that open the session.
fn check_opening(tools: &BTreeMap<String, Tool>, session: &Session, options: &CompileOptions, reader: &mut Reader) {
    let of_tools = tools.values().flat_map(|tool| tool.policy.deny.iter().chain(tool.policy.allow.iter().flatten()));
    let rules = session.policy.rules.iter().map(|rule| &rule.rule).chain(of_tools);
    let first = rules.map(|rule| &rule.principal.place).next();
    if let Some(place) = first.filter(|_| options.principal == Principal::Missing) {
        let message = "there are rules about the principal, and the session has none";
        reader.diagnostics.report(Code::PolicyWithoutPrincipal, place, message);
    }
    let Some(wrapped) = &options.gateway_tools else { return };
    for tool in tools.values().filter(|tool| !wrapped.contains(&tool.name)) {
        if let Some((_, place)) = &tool.execution_constraints {
            let message = format!("executions of `{}` pass no gateway", tool.name);
            reader.diagnostics.report(Code::ExecutionConstraintsUnwrapped, place, message).about(&tool.name);
        }
    }
}

impl Compiled {
    /// The same contracts, with decisions that are never applied.
    pub(crate) fn observing(&self) -> Self {
        let mut set = self.clone();
        set.run.mode = crate::options::Mode::Observe;
        set
    }

    /// The phases that may follow a phase.
    pub(crate) fn next_phases(&self, phase: Option<&str>) -> Vec<String> {
        let next = phase.and_then(|phase| self.session.phases.transitions.get(phase));
        next.into_iter().flatten().map(|next| next.name.clone()).collect()
    }

    /// True when rules of a tool read the request and the response of the model.
    pub(crate) fn reads_exchange(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| {
            tool.response_format.is_some() || !tool.input_invariants.is_empty() || !tool.output_invariants.is_empty()
        })
    }

    /// The agent that the session file names.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.session.agent
    }

    /// The tools that have a contract.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// True when the tool's gate, or that of its class, blocks it.
    pub(crate) fn is_gated(&self, tool: &Tool) -> bool {
        let default = self.session.risk_defaults.get(&tool.side_effect).copied();
        tool.gate.or(default) == Some(RiskGate::Block)
    }
}
