//! The guides of docs/how-to: what they say to write is written, and what they say to run is run.
//!
//! A block of text below `<!-- file: NAME -->` is written to that file. A block of `sh` below `<!-- run -->` is run, and
//! below `<!-- run: CODE -->` it must end with that exit code. All blocks of one guide share a folder. Sandboxes are made
//! without Docker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::Place;
use crate::{FOREIGN, read, root};

/// A block of a guide that is to be tried.
#[derive(Debug)]
enum Block {
    File(String, String),
    Run(i32, String),
}

/// The blocks that have a marker above them.
fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(marker) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let opened = lines.next().unwrap_or_default();
        assert!(opened.starts_with("```"), "no block below `{line}`: {opened}");
        let body: String = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        blocks.push(match marker.split_once(": ") {
            Some(("file", name)) => Block::File(name.to_owned(), body),
            Some(("run", code)) => Block::Run(code.parse().expect("an exit code"), body),
            _ if marker == "run" => Block::Run(0, body),
            _ => panic!("an unknown marker: {line}"),
        });
    }
    blocks
}

fn guides() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/how-to")).expect("guides");
    let mut guides: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    guides.sort();
    guides
}

/// Does what a guide says.
fn follow(guide: &Path) -> usize {
    let place = Place::new("");
    let blocks = blocks(&fs::read_to_string(guide).expect("a guide"));
    for block in &blocks {
        match block {
            Block::File(name, text) => {
                let path = place.path().join(name);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(&path, text).expect("a file");
            }
            Block::Run(expected, script) => {
                let (code, stdout, stderr) = run(&place, script);
                assert_eq!(code, *expected, "{}:\n{script}\n{stdout}{stderr}", guide.display());
            }
        }
    }
    blocks.len()
}

fn run(place: &Place, script: &str) -> (i32, String, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_touchstone")).parent().expect("a folder").display().to_string();
    let mut command = Command::new("sh");
    for foreign in FOREIGN {
        command.env_remove(foreign);
    }
    command.args(["-ec", script]).current_dir(place.path());
    command.env("PATH", format!("{program}:{}", std::env::var("PATH").expect("a path")));
    command.env("TOUCHSTONE_DATA_DIR", place.data()).env("TOUCHSTONE_BACKEND", "local");
    read(command.output().expect("a shell"))
}

#[test]
fn what_the_guides_say_works() {
    let followed: Vec<_> = guides().iter().map(|guide| (guide.display().to_string(), follow(guide))).collect();
    assert!(followed.len() >= 2 && followed.iter().map(|(_, blocks)| blocks).sum::<usize>() >= 4, "{followed:?}");
}
