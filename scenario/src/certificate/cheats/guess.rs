//! What an agent can see or guess of what is expected: the paths that invariants look at, and the texts that stand in the task, in
//! files that are set up and in answers of mocks.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use crate::checks::{Check, EntryKind};
use crate::plan::Values;
use crate::spec::Spec;
use crate::spec::sections::Route;
use crate::spec::types::WorkspacePath;

/// How many texts are told.
const MOST_TEXTS: usize = 400;

/// A path that an invariant looks at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GuessedPath {
    /// The path, relative to the workspace.
    pub(super) path: String,
    /// True for one that must be a folder.
    pub(super) is_folder: bool,
}

/// True for a spec with an invariant that looks at a path.
pub(super) fn has_paths(spec: &Spec) -> bool {
    asserted(spec).next().is_some()
}

/// The paths that must be there, with a name in place of each glob.
pub(super) fn paths(values: &Values<'_>) -> Vec<GuessedPath> {
    let guessed = asserted(values.spec()).filter_map(|(path, is_folder)| {
        let path = without_globs(&path.render(values).ok()?);
        (!path.is_empty()).then_some(GuessedPath { path, is_folder })
    });
    guessed.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Paths that the task names.
pub(super) fn paths_of_task(values: &Values<'_>) -> Vec<String> {
    static PATH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[A-Za-z0-9_][A-Za-z0-9_./-]*\.[A-Za-z0-9]{1,5}\b").ok());
    let prompt = values.prompt();
    let found = PATH.iter().flat_map(|form| form.find_iter(&prompt)).map(|found| found.as_str().to_owned());
    found.filter(|path| !path.contains("..")).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The texts that may be expected: the task, what is quoted in it, its numbers, files that are set up, and answers of mocks.
pub(super) fn texts(values: &Values<'_>) -> Vec<String> {
    let spec = values.spec();
    let prompt = values.prompt();
    let files = spec.setup.files.iter().filter_map(|file| file.content.as_ref()).map(|text| text.render(values));
    let mocks = spec.services.iter().filter_map(|service| service.mock());
    let answers = mocks.flat_map(|mock| mock.routes.iter().flat_map(answers));
    let mut seen = BTreeSet::new();
    let all = std::iter::once(prompt.clone()).chain(pieces(&prompt)).chain(answers).chain(files);
    all.filter(|text| !text.trim().is_empty() && seen.insert(text.clone())).take(MOST_TEXTS).collect()
}

/// The paths of checks that something is there, and whether it must be a folder.
fn asserted(spec: &Spec) -> impl Iterator<Item = (&WorkspacePath, bool)> {
    spec.checks().filter_map(|(_, check)| match check {
        Check::FileExists(check) => Some((&check.path, check.kind == EntryKind::Directory)),
        Check::FileContent(check) => Some((&check.path, false)),
        _ => None,
    })
}

/// A path that the glob matches.
fn without_globs(path: &str) -> String {
    let step = |step: &str| if step == "**" { None } else { Some(step.replace(['*', '?'], "a")) };
    path.trim_end_matches('/').split('/').filter_map(step).collect::<Vec<_>>().join("/")
}

/// What is quoted in a text, and its numbers.
fn pieces(text: &str) -> Vec<String> {
    static PIECE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"`([^`]+)`|"([^"]+)"|'([^']+)'|([0-9]+(?:[.,][0-9]+)*)"#).ok());
    let captures = PIECE.iter().flat_map(|form| form.captures_iter(text));
    captures.filter_map(|found| found.iter().skip(1).flatten().next().map(|piece| piece.as_str().to_owned())).collect()
}

/// The answers of a route, as text.
fn answers(route: &Route) -> Vec<String> {
    let later = route.sequence.iter().flatten().filter_map(|answer| answer.response.as_ref());
    let text = |answer: &Json| answer.as_str().map_or_else(|| answer.to_string(), ToOwned::to_owned);
    route.response.iter().chain(later).map(text).collect()
}
