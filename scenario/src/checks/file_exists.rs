//! `file_exists` and `file_absent`: is something at this path?

use super::{Case, unanswered};
use crate::evidence::{Answer, FileEntry, FileKind, Files, Probe};
use crate::plan::Values;
use crate::spec::section::{choice, section};
use crate::spec::types::WorkspacePath;
use crate::verdict::Verdict;

/// Maximum number of entries that a glob may add to the evidence.
const MOST_ENTRIES: usize = 1000;
/// Maximum number of entries that a message names.
const MOST_NAMED: usize = 5;

section! {
    /// Passes when something is at the path: a file or a directory, or what `kind` asks for. A glob (`reports/*.json`,
    /// `**/*.py`) passes when at least one entry matches.
    ///
    /// A link that leads nowhere, or out of the workspace, does not count as existing. An entry that may not be read
    /// still exists.
    ///
    /// ```yaml
    /// check: { type: file_exists, path: output.json, kind: file }
    /// ```
    pub struct FileExists {
        /// A path or glob, relative to the workspace.
        path: WorkspacePath,
        /// What must be there.
        kind: EntryKind = EntryKind::Any,
    }
}

section! {
    /// Passes when nothing is at the path: no file, no directory, and no link either, wherever it leads. A glob
    /// passes when no entry matches.
    ///
    /// ```yaml
    /// check: { type: file_absent, path: .tmp/cache }
    /// ```
    pub struct FileAbsent {
        /// A path or glob, relative to the workspace.
        path: WorkspacePath,
    }
}

choice! {
    /// What kind of entry must be there.
    pub enum EntryKind {
        /// A file or a directory.
        Any = "any",
        /// A regular file.
        File = "file",
        /// A directory.
        Directory = "directory",
    }
}

impl EntryKind {
    fn accepts(self, kind: FileKind) -> bool {
        match self {
            Self::Any => matches!(kind, FileKind::File | FileKind::Directory),
            Self::File => kind == FileKind::File,
            Self::Directory => kind == FileKind::Directory,
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::Any => "a file or directory",
            Self::File => "a file",
            Self::Directory => "a directory",
        }
    }
}

impl FileExists {
    pub(super) fn probes(&self, values: &Values<'_>) -> Vec<Probe> {
        look(&self.path, values)
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let Some((path, files)) = found(&self.path, case) else { return unanswered_or_outside(&self.path, case) };
        if files.entries.iter().any(|entry| self.kind.accepts(entry.kind)) {
            return Verdict::passed();
        }
        match files.entries.first() {
            Some(entry) => Verdict::failed(format!(
                "expected {} at `{path}`, found {} at `{}`",
                self.kind.wanted(),
                entry.kind.describe(),
                entry.path
            )),
            None => Verdict::failed(format!("expected {} at `{path}`, found nothing there", self.kind.wanted())),
        }
    }
}

impl FileAbsent {
    pub(super) fn probes(&self, values: &Values<'_>) -> Vec<Probe> {
        look(&self.path, values)
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let Some((path, files)) = found(&self.path, case) else { return unanswered_or_outside(&self.path, case) };
        if files.entries.is_empty() && !files.incomplete {
            return Verdict::passed();
        }
        if files.entries.is_empty() {
            return Verdict::unproven(format!(
                "there is too much in the workspace to tell that nothing is at `{path}`"
            ));
        }
        Verdict::failed(format!("expected nothing at `{path}`, found {}", names(&files.entries)))
    }
}

fn look(path: &WorkspacePath, values: &Values<'_>) -> Vec<Probe> {
    path.render(values).map(|path| Probe::Files { path, content_bytes: 0, most: MOST_ENTRIES }).into_iter().collect()
}

/// Returns the probed path, and the files there.
fn found<'a>(path: &WorkspacePath, case: &Case<'a>) -> Option<(String, &'a Files)> {
    match case.answers {
        [Answer::Files(files)] => Some((path.render(case.values).ok()?, files)),
        _ => None,
    }
}

/// The verdict for a path that is not answered: a parameter made it leave the workspace, or we did not ask.
pub(super) fn unanswered_or_outside(path: &WorkspacePath, case: &Case<'_>) -> Verdict {
    match path.render(case.values) {
        Err(problem) => Verdict::errored(crate::verdict::ErrorCause::UnusableCheck, problem.to_string()),
        Ok(_) => unanswered(),
    }
}

/// The first few entries, for a message.
pub(super) fn names(entries: &[FileEntry]) -> String {
    let named: Vec<_> =
        entries.iter().take(MOST_NAMED).map(|entry| format!("`{}` ({})", entry.path, entry.kind.describe())).collect();
    let more = entries.len().saturating_sub(MOST_NAMED);
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, entry, failure, files};
    use crate::evidence::{Answer, FileKind, Files};

    #[test]
    fn files_and_directories_exist() {
        let spec = "{type: file_exists, path: out}";
        assert!(check(spec, [files([entry("out", FileKind::File)])]).is_passed());
        assert!(check(spec, [files([entry("out", FileKind::Directory)])]).is_passed());
        insta::assert_snapshot!(failure(spec, [files([])]), @"expected a file or directory at `out`, found nothing there");
    }

    #[test]
    fn a_kind_can_be_asked_for() {
        let spec = "{type: file_exists, path: out, kind: file}";
        insta::assert_snapshot!(failure(spec, [files([entry("out", FileKind::Directory)])]), @"expected a file at `out`, found a directory at `out`");
    }

    #[test]
    fn a_link_out_of_the_workspace_neither_exists_nor_is_absent() {
        let link = || files([entry("out", FileKind::BrokenLink)]);
        insta::assert_snapshot!(failure("{type: file_exists, path: out}", [link()]), @"expected a file or directory at `out`, found a link that leads nowhere in the workspace at `out`");
        insta::assert_snapshot!(failure("{type: file_absent, path: out}", [link()]), @"expected nothing at `out`, found `out` (a link that leads nowhere in the workspace)");
    }

    #[test]
    fn a_pipe_is_not_a_file_but_is_not_absent() {
        let pipe = || files([entry("out", FileKind::Other)]);
        assert!(!check("{type: file_exists, path: out}", [pipe()]).is_passed());
        assert!(!check("{type: file_absent, path: out}", [pipe()]).is_passed());
    }

    #[test]
    fn a_listing_that_was_cut_proves_no_absence() {
        let cut = Answer::Files(Files { entries: Vec::new(), incomplete: true });
        insta::assert_snapshot!(failure("{type: file_absent, path: '**/x'}", [cut]), @"there is too much in the workspace to tell that nothing is at `**/x`");
    }

    #[test]
    fn globs_ask_for_at_least_one_or_none() {
        let many = || files((0..8).map(|n| entry(&format!("r/{n}.json"), FileKind::File)));
        assert!(check("{type: file_exists, path: 'r/*.json'}", [many()]).is_passed());
        assert!(check("{type: file_absent, path: 'r/*.json'}", [files([])]).is_passed());
        insta::assert_snapshot!(failure("{type: file_absent, path: 'r/*.json'}", [many()]), @"expected nothing at `r/*.json`, found `r/0.json` (a file), `r/1.json` (a file), `r/2.json` (a file), `r/3.json` (a file), `r/4.json` (a file) and 3 more");
    }
}
