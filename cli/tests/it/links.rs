//! Every link of the documentation leads to a file that exists, and to a heading in it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::root;

/// The documentation.
const PAGES: [&str; 5] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs", "specs"];

/// All pages of a file or a folder.
fn pages(path: PathBuf) -> Vec<PathBuf> {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
        return entries.flat_map(pages).collect();
    }
    Vec::from_iter(path.extension().is_some_and(|extension| extension == "md").then_some(path))
}

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    let mut fenced = false;
    let outside = |line: &&str| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    };
    page.lines().filter(outside).map(|line| format!("{line}\n")).collect()
}

/// Returns the targets of a page's links and pictures.
fn links(page: &str) -> Vec<String> {
    let code = Regex::new("`[^`\n]*`").expect("a pattern");
    let link = Regex::new(r#"\]\(([^)\s]+)\)|(?:src|href|srcset)="([^"]+)""#).expect("a pattern");
    let prose = code.replace_all(&prose(page), "`code`").into_owned();
    let found = link.captures_iter(&prose).filter_map(|found| found.get(1).or(found.get(2)));
    found.map(|target| target.as_str().to_owned()).collect()
}

/// The names by which the headings of a page are linked to, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let mut seen = HashMap::new();
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim());
    titles.map(|title| numbered(anchor(title), &mut seen)).collect()
}

fn anchor(title: &str) -> String {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("a pattern");
    let title = link.replace_all(title, "$1").to_lowercase().replace(' ', "-");
    title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect()
}

/// The second heading with the same words gets a number.
fn numbered(anchor: String, seen: &mut HashMap<String, usize>) -> String {
    let before = seen.entry(anchor.clone()).and_modify(|times| *times += 1).or_insert(0);
    if *before == 0 { anchor } else { format!("{anchor}-{before}") }
}

/// Returns the problem with a link of a page.
fn problem(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { page.to_owned() } else { page.parent().expect("a folder").join(file) };
    if !target.exists() {
        return Some(format!("{}: `{link}` leads to no file", page.display()));
    }
    let anchor = anchor?;
    let known = anchors(&fs::read_to_string(&target).expect("a page"));
    (!known.iter().any(|one| one == anchor)).then(|| format!("{}: `{link}` leads to no heading", page.display()))
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let pages: Vec<_> = PAGES.iter().flat_map(|name| pages(root().join(name))).collect();
    let links = |page: &PathBuf| links(&fs::read_to_string(page).expect("a page"));
    let all: Vec<_> = pages.iter().flat_map(|page| links(page).into_iter().map(move |link| (page, link))).collect();
    let problems: Vec<_> = all.iter().filter_map(|(page, link)| problem(page, link)).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(pages.len() > 50 && all.len() > 100, "{} pages, {} links", pages.len(), all.len());
}

#[test]
fn links_and_headings_are_found_in_prose_only() {
    let page = "# A b, `c`!\n## A b c\n[x](one.md#two) `[y](code.md)` ![p](p.png)\n```\n# no\n[z](fenced.md)\n```\n<img src=\"q.svg\">\n";
    assert_eq!(links(page), ["one.md#two", "p.png", "q.svg"]);
    assert_eq!(anchors(page), ["a-b-c", "a-b-c-1"]);
    let page = root().join("README.md");
    for (link, wrong) in
        [("docs", false), ("nothing.md", true), ("CONTRIBUTING.md#commands", false), ("CONTRIBUTING.md#none", true)]
    {
        assert_eq!(problem(&page, link).is_some(), wrong, "{link}");
    }
}
