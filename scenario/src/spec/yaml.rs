//! YAML text to a tree with positions, and its problems as findings about a spec.

use super::code::Code;
use super::diagnostic::Diagnostic;

pub(crate) use yaml_tree::shorten;
pub use yaml_tree::{Entry, Kind, Limits, Node, Span};
use yaml_tree::{Problem, ProblemKind};

/// Reads one document; every finding that can be made without knowing the language is in the list.
#[must_use]
pub fn parse(text: &str, limits: Limits) -> (Option<Node>, Vec<Diagnostic>) {
    parse_noun(text, "spec", limits)
}

/// The same for a document that messages call by another noun.
pub(super) fn parse_noun(text: &str, noun: &str, limits: Limits) -> (Option<Node>, Vec<Diagnostic>) {
    let (root, problems) = yaml_tree::parse(text, noun, limits);
    (root, problems.into_iter().map(finding).collect())
}

fn finding(problem: Problem) -> Diagnostic {
    let Problem { kind, message, help, path, span } = problem;
    Diagnostic { code: code(kind), message, help, path, span }
}

fn code(kind: ProblemKind) -> Code {
    match kind {
        ProblemKind::Syntax => Code::YamlSyntax,
        ProblemKind::TooLarge => Code::YamlTooLarge,
        ProblemKind::TooDeep => Code::YamlTooDeep,
        ProblemKind::TooMany => Code::YamlTooMany,
        ProblemKind::Tag => Code::YamlTag,
        ProblemKind::Documents => Code::YamlDocuments,
        ProblemKind::Key => Code::YamlKey,
        ProblemKind::DuplicateKey => Code::DuplicateKey,
    }
}
