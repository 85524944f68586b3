//! `touch-paths`: makes every path that invariants look at, empty.

use super::CheatProgram;
use super::guess::{GuessedPath, paths};
use super::shell::quoted;
use crate::plan::Values;

pub(super) fn program(values: &Values<'_>) -> CheatProgram {
    CheatProgram { lines: paths(values).iter().map(touch).collect(), requests: Vec::new() }
}

/// A line that makes a file or a folder that is not there yet.
fn touch(guessed: &GuessedPath) -> String {
    let path = quoted(&guessed.path);
    match guessed.is_folder {
        true => format!("mkdir -p {path} 2>/dev/null || true"),
        false => format!("mkdir -p \"$(dirname {path})\" 2>/dev/null; [ -e {path} ] || : 2>/dev/null > {path} || true"),
    }
}
