//! `echo-expected`: prints the texts of the task and the mocks, and writes them where invariants look.

use super::CheatProgram;
use super::guess::{paths, paths_of_task, texts};
use super::shell::{quoted, write};
use crate::plan::Values;

/// How much is printed and written. A shell takes no longer words.
const MOST_BYTES: usize = 48 * 1024;

pub(super) fn program(values: &Values<'_>) -> CheatProgram {
    let mut text = texts(values).join("\n");
    text.truncate(text.floor_char_boundary(MOST_BYTES));
    text.push('\n');
    let guessed = paths(values).into_iter().filter(|guessed| !guessed.is_folder).map(|guessed| guessed.path);
    let mut files: Vec<_> = guessed.chain(paths_of_task(values)).collect();
    files.sort();
    files.dedup();
    let writes = files.iter().map(|path| write(path, &text));
    let printed = format!("printf '%s' {}", quoted(&text));
    CheatProgram { lines: std::iter::once(printed).chain(writes).collect(), requests: Vec::new() }
}
