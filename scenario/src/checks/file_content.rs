//! `file_content`: does a file contain, or not contain, a text or pattern?

use super::Case;
use super::file_exists::unanswered_or_outside;
use crate::evidence::{Answer, FileEntry, FileKind, Limit, Probe};
use crate::plan::Values;
use crate::spec::code::Code;
use crate::spec::section::section;
use crate::spec::template::Text;
use crate::spec::types::{Pattern, WorkspacePath};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

/// Maximum size of a file that is read.
const MOST_BYTES: u64 = 10 * 1024 * 1024;
/// Maximum number of files that a glob may match.
const MOST_FILES: usize = 100;
/// Maximum length of a file's beginning in a message.
const SHOWN: usize = 200;

section! {
    /// Looks into a file. All conditions that are given must hold; at least one must be given.
    ///
    /// - `contains` and `not_contains` compare bytes: line breaks count, and nothing is normalised.
    /// - `pattern` may match anywhere. `^` and `$` mean the beginning and the end of the file; write `(?m)` in front
    ///   for those of a line, `(?i)` to ignore case, `(?s)` to let `.` match a line break.
    /// - A glob must match at least one file, and every file that it matches must meet the conditions.
    /// - A missing file, a directory, or a file that may not be read fails the check.
    /// - Binary files are searched like any other.
    /// - 10 MiB of a file are read. Of a larger file, `contains` holds when the text is in that part; `not_contains` and
    ///   `pattern` fail and name the limit `file_bytes`, because a part proves nothing about the whole.
    ///
    /// ```yaml
    /// check:
    ///   type: file_content
    ///   path: draft.txt
    ///   pattern: "^Subject: Renewal\\b"
    ///   not_contains: TODO
    /// ```
    pub struct FileContent {
        /// A path or glob, relative to the workspace.
        path: WorkspacePath,
        /// A text that must be in the file.
        contains: Option<Text>,
        /// A text that must not be in the file.
        not_contains: Option<Text>,
        /// A regular expression that must match somewhere.
        pattern: Option<Pattern>,
    }
}

impl FileContent {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        if self.contains.is_none() && self.not_contains.is_none() && self.pattern.is_none() {
            let help =
                "add `contains`, `not_contains` or `pattern`; to ask only whether it is there, use `file_exists`";
            rules.report(Code::MissingCondition, "a `file_content` check without a condition", Some(help));
        }
        let is_empty = |text: &Option<Text>| text.as_ref().is_some_and(Text::is_empty);
        for (key, empty) in [
            ("contains", is_empty(&self.contains)),
            ("not_contains", is_empty(&self.not_contains)),
            ("pattern", self.pattern.as_ref().is_some_and(|pattern| pattern.source().is_empty())),
        ] {
            if empty {
                rules.at(key).report(
                    Code::MissingCondition,
                    format!("`{key}` is empty, and every file has that"),
                    None,
                );
            }
        }
    }

    pub(super) fn probes(&self, values: &Values<'_>) -> Vec<Probe> {
        let probe = |path| Probe::Files { path, content_bytes: MOST_BYTES, most: MOST_FILES };
        self.path.render(values).map(probe).into_iter().collect()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let ([Answer::Files(files)], Ok(path)) = (case.answers, self.path.render(case.values)) else {
            return unanswered_or_outside(&self.path, case);
        };
        if files.entries.is_empty() {
            return Verdict::failed(format!("expected a file at `{path}`, found nothing there"));
        }
        if files.incomplete {
            return Verdict::unproven(format!(
                "`{path}` names more than {MOST_FILES} files, and only those are looked at"
            ));
        }
        let problem = files.entries.iter().find_map(|entry| self.look_into(entry, case));
        problem.unwrap_or_else(Verdict::passed)
    }

    /// Checks one file against the conditions; `None` when all of them hold.
    fn look_into(&self, entry: &FileEntry, case: &Case<'_>) -> Option<Verdict> {
        let path = &entry.path;
        if entry.kind != FileKind::File {
            return Some(Verdict::failed(format!("expected a file at `{path}`, found {}", entry.kind.describe())));
        }
        let Some(content) = entry.content.as_ref().map(|content| content.0.as_slice()) else {
            let problem = entry.problem.as_deref().unwrap_or("it could not be read");
            return Some(Verdict::failed(format!("`{path}` is there, but {problem}")));
        };
        self.contains_problem(entry, content, case)
            .or_else(|| self.not_contains_problem(entry, content, case))
            .or_else(|| self.pattern_problem(entry, content, case))
    }

    fn contains_problem(&self, entry: &FileEntry, content: &[u8], case: &Case<'_>) -> Option<Verdict> {
        let text = self.contains.as_ref()?.render(case.values);
        let missed = find(content, text.as_bytes()).is_none();
        missed.then(|| Verdict::failed(missing(entry, &format!("to contain {text:?}"), content)))
    }

    fn not_contains_problem(&self, entry: &FileEntry, content: &[u8], case: &Case<'_>) -> Option<Verdict> {
        let text = self.not_contains.as_ref()?.render(case.values);
        match find(content, text.as_bytes()) {
            Some(at) => {
                let line = line_of(content, at);
                Some(Verdict::failed(format!(
                    "expected `{}` not to contain {text:?}, found it on line {line}",
                    entry.path
                )))
            }
            None => (!is_whole(entry, content)).then(|| Verdict::unproven(too_large(entry, "`not_contains`"))),
        }
    }

    fn pattern_problem(&self, entry: &FileEntry, content: &[u8], case: &Case<'_>) -> Option<Verdict> {
        let pattern = self.pattern.as_ref()?;
        let expression = match pattern.compile(case.values) {
            Ok(expression) => expression,
            Err(problem) => {
                let message = format!("`{}` is not a regular expression: {problem}", pattern.source());
                return Some(Verdict::errored(ErrorCause::UnusableCheck, message));
            }
        };
        if !is_whole(entry, content) {
            return Some(Verdict::unproven(too_large(entry, "`pattern`")));
        }
        let missed = !expression.is_match(content);
        missed.then(|| Verdict::failed(missing(entry, &format!("to match `{expression}`"), content)))
    }
}

fn find(content: &[u8], text: &[u8]) -> Option<usize> {
    memchr::memmem::find(content, text)
}

fn is_whole(entry: &FileEntry, content: &[u8]) -> bool {
    content.len() as u64 >= entry.size
}

fn line_of(content: &[u8], at: usize) -> usize {
    1 + content[..at].iter().filter(|byte| **byte == b'\n').count()
}

fn missing(entry: &FileEntry, expected: &str, content: &[u8]) -> String {
    let text = String::from_utf8_lossy(content);
    let shown: String = text.chars().take(SHOWN).collect();
    let cut = if shown.len() < text.len() { "…" } else { "" };
    let part = if is_whole(entry, content) { String::new() } else { format!(" in its first {} bytes", content.len()) };
    format!("expected `{}` {expected}{part}, found {shown:?}{cut}", entry.path)
}

fn too_large(entry: &FileEntry, condition: &str) -> String {
    format!(
        "`{}` has {} bytes, and {condition} reads at most {MOST_BYTES} (limit `{}`)",
        entry.path,
        entry.size,
        Limit::FileBytes
    )
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, entry, failure, files, text_file};
    use crate::evidence::{Blob, FileEntry, FileKind};
    use crate::verdict::Outcome;

    fn judged(conditions: &str, content: &str) -> bool {
        check(&format!("{{type: file_content, path: f, {conditions}}}"), [files([text_file("f", content)])]).is_passed()
    }

    #[test]
    fn all_conditions_must_hold() {
        assert!(judged("contains: abc, not_contains: xyz, pattern: '^a'", "abc"));
        assert!(!judged("contains: abc, not_contains: bc", "abc"));
        assert!(!judged("contains: abc, pattern: '^b'", "abc"));
    }

    #[test]
    fn texts_cross_lines_and_nothing_is_normalised() {
        assert!(judged("contains: \"a\\nb\"", "x a\nb y"));
        assert!(!judged("contains: \"a\\nb\"", "a\r\nb"));
        assert!(judged("contains: '[x](y)*'", "see [x](y)* here"));
    }

    #[test]
    fn patterns_anchor_at_the_file_unless_told_otherwise() {
        assert!(judged("pattern: '^Subject'", "Subject: x\n"));
        assert!(!judged("pattern: '^Subject'", "From: y\nSubject: x\n"));
        assert!(judged("pattern: '(?m)^Subject'", "From: y\nSubject: x\n"));
        assert!(!judged("pattern: 'a.b'", "a\nb"));
        assert!(judged("pattern: '(?s)a.b'", "a\nb"));
    }

    #[test]
    fn binary_files_are_searched() {
        let binary = FileEntry {
            content: Some(Blob(vec![0xff, 0x00, b'o', b'k', 0xfe])),
            size: 5,
            ..entry("f", FileKind::File)
        };
        assert!(check("{type: file_content, path: f, contains: ok}", [files([binary.clone()])]).is_passed());
        assert!(check("{type: file_content, path: f, pattern: '(?-u)\\xff\\x00ok'}", [files([binary])]).is_passed());
    }

    #[test]
    fn what_is_no_readable_file_fails() {
        let spec = "{type: file_content, path: f, contains: x}";
        insta::assert_snapshot!(failure(spec, [files([])]), @"expected a file at `f`, found nothing there");
        insta::assert_snapshot!(failure(spec, [files([entry("f", FileKind::Directory)])]), @"expected a file at `f`, found a directory");
        let denied = FileEntry { problem: Some("permission was denied".to_owned()), ..entry("f", FileKind::File) };
        insta::assert_snapshot!(failure(spec, [files([denied])]), @"`f` is there, but permission was denied");
    }

    #[test]
    fn messages_say_where() {
        insta::assert_snapshot!(failure("{type: file_content, path: f, not_contains: console.log}", [files([text_file("f", "a\nb\nconsole.log(1)\n")])]), @r#"expected `f` not to contain "console.log", found it on line 3"#);
        insta::assert_snapshot!(failure("{type: file_content, path: f, contains: yes}", [files([text_file("f", "no\n")])]), @r#"expected `f` to contain "yes", found "no\n""#);
        insta::assert_snapshot!(failure("{type: file_content, path: f, pattern: '^y'}", [files([text_file("f", "no")])]), @r#"expected `f` to match `^y`, found "no""#);
    }

    #[test]
    fn messages_have_the_values_of_templates() {
        let message = |conditions: &str, found| {
            let spec = format!("{{type: file_content, path: 'report-{{{{ params.three }}}}.txt', {conditions}}}");
            failure(&spec, found)
        };
        let found = || [files([text_file("report-3.txt", "no")])];
        insta::assert_snapshot!(message("pattern: 'n={{ params.three }}'", found()), @r#"expected `report-3.txt` to match `n=3`, found "no""#);
        insta::assert_snapshot!(message("pattern: x", [files([])]), @"expected a file at `report-3.txt`, found nothing there");
    }

    #[test]
    fn every_file_of_a_glob_must_hold() {
        let spec = "{type: file_content, path: '*.txt', contains: ok}";
        assert!(check(spec, [files([text_file("a.txt", "ok"), text_file("b.txt", "ok")])]).is_passed());
        assert!(failure(spec, [files([text_file("a.txt", "ok"), text_file("b.txt", "no")])]).contains("`b.txt`"));
    }

    #[test]
    fn of_a_huge_file_only_what_was_seen_counts() {
        let huge = || files([FileEntry { size: 100_000_000, ..text_file("f", "beginning") }]);
        assert!(check("{type: file_content, path: f, contains: begin}", [huge()]).is_passed());
        insta::assert_snapshot!(failure("{type: file_content, path: f, not_contains: zzz}", [huge()]), @"`f` has 100000000 bytes, and `not_contains` reads at most 10485760 (limit `file_bytes`)");
        insta::assert_snapshot!(failure("{type: file_content, path: f, pattern: begin}", [huge()]), @"`f` has 100000000 bytes, and `pattern` reads at most 10485760 (limit `file_bytes`)");
        assert!(failure("{type: file_content, path: f, contains: zzz}", [huge()]).contains("in its first 9 bytes"));
    }

    #[test]
    fn a_pattern_that_a_parameter_breaks_is_the_checks_fault() {
        let verdict =
            check("{type: file_content, path: f, pattern: '({{ params.open }}'}", [files([text_file("f", "x")])]);
        assert!(matches!(verdict.outcome, Outcome::Errored(_)), "{verdict:?}");
    }
}
