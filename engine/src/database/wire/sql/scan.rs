//! Cuts a text into statements, and keeps of each what tells its targets.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::super::Database;
use super::Statement;
use super::find::classify;
use super::lexer::{Dialect, Lexer, Token};

/// Number of tokens from the beginning of a statement that are looked at.
const HEAD: usize = 4096;
/// Number of tokens after a word inside a statement that are looked at.
const INNER: usize = 12;
/// Number of statements inside a statement that are looked at.
const MOST_INNER: usize = 200;
/// Words with which a statement inside another one can begin.
const VERBS: [&str; 4] = ["insert", "update", "delete", "merge"];
/// Keywords of objects that have a body of statements in MySQL.
const ROUTINES: [&str; 5] = ["procedure", "function", "trigger", "event", "package"];
/// Keywords that begin a block outside a routine in MariaDB.
const BLOCKS: [&str; 6] = ["if", "while", "loop", "repeat", "for", "case"];

/// Sketch of a statement while it is read.
#[derive(Debug, Default)]
pub(super) struct Sketch<'a> {
    /// Its first tokens.
    pub(super) head: Vec<Token<'a>>,
    /// The tokens of the statement after `WITH … AS (…)`.
    pub(super) main: Option<Vec<Token<'a>>>,
    /// The tokens of each statement inside parentheses.
    pub(super) inner: Vec<Vec<Token<'a>>>,
    /// The tokens after the first INTO that is in no parentheses.
    pub(super) into: Option<Vec<Token<'a>>>,
    /// True when there may be more statements inside than were looked at.
    pub(super) is_unclear: bool,
    depth: usize,
    last: Option<Token<'a>>,
    before_last: Option<Token<'a>>,
    has_with: bool,
    has_atomic_body: bool,
}

/// Reads at most so many statements. After a body of statements, nothing is read any more: only the server knows where
/// it ends.
pub(super) fn statements(dialect: Dialect, text: &[u8], most: usize) -> VecDeque<Arc<Statement>> {
    let mut found = VecDeque::new();
    let mut sketch = Sketch::default();
    for token in Lexer::new(text, dialect) {
        if token != Token::Sign(b';') || sketch.depth > 0 {
            sketch.take(token);
            continue;
        }
        if sketch.has_body(dialect) {
            break;
        }
        if !sketch.head.is_empty() {
            found.push_back(Arc::new(classify(dialect, &sketch)));
            sketch = Sketch::default();
        }
        if found.len() >= most {
            return found;
        }
    }
    if !sketch.head.is_empty() {
        found.push_back(Arc::new(classify(dialect, &sketch)));
    }
    found
}

impl<'a> Sketch<'a> {
    fn take(&mut self, token: Token<'a>) {
        for tokens in self.inner.iter_mut().rev().take_while(|tokens| tokens.len() < INNER) {
            tokens.push(token);
        }
        push(self.into.as_mut(), token, INNER);
        push(self.main.as_mut(), token, HEAD);
        push(Some(&mut self.head), token, HEAD);
        self.notice(token);
        match token {
            Token::Sign(b'(') => self.depth += 1,
            Token::Sign(b')') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.before_last = self.last.replace(token);
    }

    /// Notices where something begins.
    fn notice(&mut self, token: Token<'a>) {
        let after = |sign| self.last == Some(Token::Sign(sign));
        // `SEARCH … SET name` and `CYCLE … USING name` stand between `WITH` and what comes after it.
        let after_search = self.has_with && self.before_last.is_some_and(|token| token.is_any(&["set", "using"]));
        let begins = after(b')') || after_search;
        if token.is_any(&VERBS) && (after(b'(') || (begins && self.depth > 0)) {
            if self.inner.len() < MOST_INNER {
                self.inner.push(vec![token]);
            } else {
                self.is_unclear = true;
            }
        }
        let is_verb = token.is_any(&VERBS) || token.is_any(&["select", "replace", "table", "values"]);
        if self.has_with && self.depth == 0 && begins && is_verb && self.main.is_none() {
            self.main = Some(vec![token]);
        }
        self.has_with |= token.is("with");
        if self.depth == 0 && token.is("into") && self.into.is_none() {
            self.into = Some(Vec::new());
        }
        self.has_atomic_body |= token.is("atomic") && self.last.is_some_and(|last| last.is("begin"));
    }

    /// Returns true if semicolons stand inside it.
    fn has_body(&self, dialect: Dialect) -> bool {
        let first = self.head.first();
        let starts = |word: &str| first.is_some_and(|first| first.is(word));
        match dialect.database {
            Database::Postgres => starts("create") && self.has_atomic_body,
            Database::MySql => {
                let is_routine = self.head.iter().take(INNER).any(|token| token.is_any(&ROUTINES));
                let is_block = starts("begin") && self.head.get(1).is_some_and(|second| second.is("not"));
                ((starts("create") || starts("alter")) && is_routine)
                    || is_block
                    || first.is_some_and(|first| first.is_any(&BLOCKS))
            }
        }
    }
}

fn push<'a>(tokens: Option<&mut Vec<Token<'a>>>, token: Token<'a>, most: usize) {
    if let Some(tokens) = tokens.filter(|tokens| tokens.len() < most) {
        tokens.push(token);
    }
}

impl<'a> Sketch<'a> {
    /// The sketch of tokens that were read before.
    pub(super) fn of(tokens: &[Token<'a>]) -> Self {
        let mut sketch = Sketch::default();
        tokens.iter().for_each(|token| sketch.take(*token));
        sketch
    }
}
