//! The documentation: what it says to write is written, what it says to run is run, and what it shows is what is printed.
//!
//! A block of text below `<!-- file: NAME -->` is written to that file. A block of `sh` below `<!-- run -->` is run, and
//! below `<!-- run: CODE -->` it must end with that exit code. One below `<!-- serve -->` goes on until the guide ends; what
//! stands for its address and key in later blocks is replaced. A block below `<!-- shows -->` is a part of what the block
//! before printed: times, ids and seeds may be others, and `…` stands for anything. A block below `<!-- not run: WHY -->` is
//! left alone. `<!-- given: PATH, PATH as NAME -->` copies from this repository what a page takes for granted, and
//! `<!-- given: a server -->` starts one. All blocks of one page share a folder. Sandboxes are made without Docker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use crate::place::{Place, Started};
use crate::serving::Served;
use crate::{FOREIGN, read, root, touchstone};

/// The address that guides name.
const URL: &str = "http://127.0.0.1:8012";
/// Placeholder for a key in guides.
const KEY: &str = "ts_live_…";
/// Placeholder for any text in the output that a guide shows.
const ANYTHING: &str = "…";

/// A block of a guide that is to be tried.
#[derive(Debug)]
enum Block {
    File(String, String),
    Run(i32, String),
    Serve(String),
    Shows(String),
    Given(String, String),
}

/// Pages whose blocks are tried elsewhere, or are no commands to try in a test.
const ELSEWHERE: [&str; 3] = [
    // Its examples are held against the schema by scenario/tests/it/schema.rs.
    "docs/spec-reference.md",
    // Measurements take long, and none of them says whether something works.
    "docs/benchmarks.md",
    // Why things are as they are, and no instructions.
    "docs/decisions",
];

/// The blocks that have a marker above them.
fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(marker) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        if let Some(given) = marker.strip_prefix("given: ") {
            let pairs = given.split(", ").map(|one| one.split_once(" as ").unwrap_or((one, one)));
            blocks.extend(pairs.map(|(from, to)| Block::Given(from.to_owned(), to.to_owned())));
            continue;
        }
        let opened = lines.next().unwrap_or_default();
        assert!(opened.starts_with("```"), "no block below `{line}`: {opened}");
        let body: String = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        blocks.push(match marker.split_once(": ") {
            Some(("file", name)) => Block::File(name.to_owned(), body),
            Some(("not run", _)) => continue,
            Some(("run", code)) => Block::Run(code.parse().expect("an exit code"), body),
            _ if marker == "run" => Block::Run(0, body),
            _ if marker == "serve" => Block::Serve(body),
            _ if marker == "shows" => Block::Shows(body),
            _ => panic!("an unknown marker: {line}"),
        });
    }
    blocks
}

/// The pages below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    let is_page = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
    let below = |path: PathBuf| if path.is_dir() { pages(&path) } else { vec![path] };
    entries.into_iter().flat_map(below).filter(|path| is_page(path)).collect()
}

fn guides() -> Vec<PathBuf> {
    pages(&root().join("docs/how-to"))
}

/// The pages of `docs` that are neither guides nor tried elsewhere.
fn reference() -> Vec<PathBuf> {
    let others = ["docs/how-to", "docs/tutorial.md"].into_iter().chain(ELSEWHERE);
    let others: Vec<_> = others.map(|path| root().join(path)).collect();
    let is_other = |page: &PathBuf| others.iter().any(|other| page.starts_with(other));
    pages(&root().join("docs")).into_iter().filter(|page| !is_other(page)).collect()
}

/// A reader who follows a guide.
struct Follower {
    place: Place,
    served: Option<Served>,
    /// The output of the last block.
    printed: String,
}

impl Follower {
    fn follow(guide: &Path) -> usize {
        let mut follower = Self { place: Place::new(""), served: None, printed: String::new() };
        let blocks = blocks(&fs::read_to_string(guide).expect("a guide"));
        for block in &blocks {
            follower.follow_block(block, guide);
        }
        follower.end();
        blocks.len()
    }

    fn follow_block(&mut self, block: &Block, guide: &Path) {
        match block {
            Block::File(name, text) => {
                let path = self.place.path().join(name);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(&path, text).expect("a file");
            }
            Block::Run(expected, script) => {
                let (code, stdout, stderr) = self.run(script);
                assert_eq!(code, *expected, "{}:\n{script}\n{stdout}{stderr}", guide.display());
                self.printed = stdout + &stderr;
            }
            Block::Serve(script) => self.serve(script),
            Block::Given(server, _) if server == "a server" => self.serve("touchstone serve"),
            Block::Given(from, to) => copy(&root().join(from), &self.place.path().join(to)),
            Block::Shows(sample) => assert_shows(&self.printed, sample, guide),
        }
    }

    fn run(&self, script: &str) -> (i32, String, String) {
        let mut script = script.to_owned();
        if let Some(served) = &self.served {
            script = script.replace(URL, &served.url).replace(KEY, served.key.as_deref().expect("a key"));
        }
        read(self.shell(&script).output().expect("a shell"))
    }

    /// Starts a server on any port that is free.
    fn serve(&mut self, script: &str) {
        let mut command = self.shell(&format!("exec {script}"));
        command.env("TOUCHSTONE_LISTEN", "127.0.0.1:0").stdout(Stdio::piped()).stderr(Stdio::piped());
        let served = Served::of(Started::watch(command.spawn().expect("a shell")));
        self.printed = served.process.told.replace(&served.url, URL);
        self.served = Some(served);
    }

    /// Ctrl-C ends the server in good order, and nothing is left of any sandbox.
    fn end(self) {
        if let Some(served) = self.served {
            served.process.signal("INT");
            let (status, told) = served.process.end();
            assert!(status.success(), "{told}");
            assert_eq!(self.place.left(), Vec::<String>::new());
        }
    }

    fn shell(&self, script: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_touchstone")).parent().expect("a folder").display().to_string();
        let mut command = Command::new("sh");
        for foreign in FOREIGN {
            command.env_remove(foreign);
        }
        command.args(["-ec", script]).current_dir(self.place.path());
        command.env("PATH", format!("{program}:{}", std::env::var("PATH").expect("a path")));
        command.env("TOUCHSTONE_DATA_DIR", self.place.data()).env("TOUCHSTONE_BACKEND", "local");
        command
    }
}

/// Copies a file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
    if from.is_dir() {
        for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).expect("a copy");
    }
}

/// Every line of the sample is a line of what was printed, in any order.
fn assert_shows(printed: &str, sample: &str, guide: &Path) {
    let lines: Vec<_> = printed.lines().map(plain).collect();
    for wanted in sample.lines().map(plain) {
        let parts: Vec<_> = wanted.split(ANYTHING).map(regex::escape).collect();
        let pattern = Regex::new(&format!("^{}$", parts.join(".*"))).expect("a pattern");
        let shown = lines.iter().any(|line| pattern.is_match(line));
        assert!(shown, "{} shows `{wanted}`, and this is printed:\n{printed}", guide.display());
    }
}

/// A line without what differs from run to run: times, ids, seeds, and how wide a table or a bar is.
fn plain(line: &str) -> String {
    let time = Regex::new(r"\d+(\.\d+)? ?m?s\b").expect("a pattern");
    let seed = Regex::new(r"\d{12,}").expect("a pattern");
    let id = Regex::new(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").expect("a pattern");
    let drawn = Regex::new(r"[─═ ]+|\|[!'=\- ]*\|").expect("a pattern");
    let line = id.replace_all(line, "ID").into_owned();
    let line = seed.replace_all(&line, "SEED").into_owned();
    let line = time.replace_all(&line, "TIME").into_owned();
    drawn.replace_all(&line, " ").trim().to_owned()
}

#[test]
fn what_the_guides_say_works() {
    let followed: Vec<_> =
        guides().iter().map(|guide| (guide.display().to_string(), Follower::follow(guide))).collect();
    let untried: Vec<_> = followed.iter().filter(|(_, blocks)| *blocks < 2).collect();
    assert!(followed.len() >= 7 && untried.is_empty(), "{untried:?} of {followed:?}");
}

#[test]
fn what_the_reference_says_works() {
    let followed: usize = reference().iter().map(|page| Follower::follow(page)).sum();
    assert!(followed >= 15, "{followed}");
}

/// Every block that a shell or the program can read has a marker above it, which says how a test uses it.
#[test]
fn every_block_is_tried_or_says_why_not() {
    let mut untold = Vec::new();
    let guides = guides().into_iter().chain([root().join("README.md"), root().join("docs/tutorial.md")]);
    for page in guides.chain(reference()) {
        let text = fs::read_to_string(&page).expect("a page");
        let lines: Vec<_> = text.lines().collect();
        let opened = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| ["```sh", "```yaml", "```toml", "```python", "```sql"].contains(line));
        let unmarked = opened.filter(|(at, _)| *at == 0 || !lines[at - 1].starts_with("<!-- "));
        untold.extend(unmarked.map(|(at, _)| format!("{}:{}", page.display(), at + 1)));
    }
    assert_eq!(untold, Vec::<String>::new());
}

#[test]
fn what_the_quickstart_of_the_readme_says_works() {
    assert!(Follower::follow(&root().join("README.md")) >= 4);
}

#[test]
fn what_the_tutorial_says_works() {
    assert!(Follower::follow(&root().join("docs/tutorial.md")) >= 20);
}

/// The README shows the real output of each command below `$ touchstone …`.
#[test]
fn what_the_readme_shows_is_printed() {
    let place = Place::new("");
    let readme = root().join("README.md");
    let text = fs::read_to_string(&readme).expect("the README");
    let samples: Vec<_> =
        text.split("```\n").filter_map(|block| block.strip_prefix("$ touchstone ")?.split_once('\n')).collect();
    for (arguments, sample) in &samples {
        let mut command = touchstone(&arguments.split_whitespace().collect::<Vec<_>>());
        command.env("TOUCHSTONE_DATA_DIR", place.data()).env("TOUCHSTONE_BACKEND", "local");
        let (_, stdout, stderr) = read(command.output().expect("the binary ran"));
        assert_shows(&(stdout + &stderr), sample, &readme);
    }
    assert!(samples.len() >= 2, "{samples:?}");
}

#[test]
fn what_a_guide_shows_may_differ_in_time_and_in_nothing_else() {
    let guide = Path::new("guide.md");
    assert_shows("│ r0   pass   1.000   2/2   849ms  │\n", "│ r0   pass   1.000   2/2   1.5s       │\n", guide);
    assert_shows(" 1.197 s     |    '  | http POST\n", " 0.5 s   |  '     | http POST\n", guide);
    assert_shows("one\ntwo three four\n", "two … four\n…\n", guide);
    for (printed, sample) in [("found 2\n", "found 1\n"), ("score 0.5, 2 s", "score 0.6, 2 s"), ("one two", "one")] {
        std::panic::catch_unwind(|| assert_shows(printed, sample, guide)).expect_err(printed);
    }
}
