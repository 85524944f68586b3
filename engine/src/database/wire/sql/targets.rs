//! Names of tables among tokens.

use super::super::super::Database;
use super::Target;
use super::lexer::Token;

/// Number of tables that one statement can name.
pub(super) const MOST_TABLES: usize = 100;
/// Words that can stand before a table's name and are none of it.
const BEFORE: [&str; 5] = ["only", "if", "exists", "low_priority", "quick"];
/// Words that end a table's name where an alias could stand.
const NO_ALIAS: [&str; 14] = [
    "set",
    "join",
    "inner",
    "left",
    "right",
    "cross",
    "natural",
    "on",
    "using",
    "where",
    "straight_join",
    "partition",
    "order",
    "limit",
];

/// Words that begin a query in parentheses.
const DERIVED: [&str; 4] = ["select", "with", "values", "table"];

/// A place among tokens.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    database: Database,
}

impl<'a> Cursor<'a> {
    /// The beginning.
    pub(super) fn new(tokens: &'a [Token<'a>], database: Database) -> Self {
        Self { tokens, at: 0, database }
    }

    /// Returns the server whose SQL it is.
    pub(super) fn database(&self) -> Database {
        self.database
    }

    /// The token here.
    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    /// The tokens from here on.
    pub(super) fn rest(&self) -> &'a [Token<'a>] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    /// Returns true if this keyword is here.
    pub(super) fn is(&self, keyword: &str) -> bool {
        self.peek().is_some_and(|token| token.is(keyword))
    }

    /// Returns true if one of these keywords is here.
    pub(super) fn is_any(&self, keywords: &[&str]) -> bool {
        self.peek().is_some_and(|token| token.is_any(keywords))
    }

    /// Returns true if this keyword is next.
    pub(super) fn next_is(&self, keyword: &str) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| token.is(keyword))
    }

    /// Returns true if this sign is here.
    pub(super) fn is_sign(&self, sign: u8) -> bool {
        self.peek() == Some(Token::Sign(sign))
    }

    /// Returns true if this keyword comes somewhere.
    pub(super) fn rest_has(&self, keyword: &str) -> bool {
        self.rest().iter().any(|token| token.is(keyword))
    }

    /// Skips this many tokens.
    pub(super) fn skip(&mut self, tokens: usize) {
        self.at = (self.at + tokens).min(self.tokens.len());
    }

    /// Skips this many tokens, and returns the cursor.
    pub(super) fn after(&mut self, tokens: usize) -> &mut Self {
        self.skip(tokens);
        self
    }

    /// Skips this many tokens, and a keyword that need not be there.
    pub(super) fn after_word(&mut self, tokens: usize, keyword: &str) -> &mut Self {
        self.skip(tokens);
        self.skip_words(&[keyword]);
        self
    }

    /// Skips all of these keywords.
    pub(super) fn skip_words(&mut self, keywords: &[&str]) {
        while self.is_any(keywords) {
            self.at += 1;
        }
    }

    /// Skips to this keyword, or to the end.
    pub(super) fn skip_to(&mut self, keyword: &str) {
        while self.at < self.tokens.len() && !self.is(keyword) {
            self.at += 1;
        }
    }

    /// Skips parentheses and their content; returns true if something in them is sought.
    pub(super) fn skip_parentheses(&mut self, sought: impl Fn(Token<'a>) -> bool) -> bool {
        let mut depth = 0_usize;
        let mut found = false;
        while let Some(token) = self.peek() {
            self.at += 1;
            match token {
                Token::Sign(b'(') => depth += 1,
                Token::Sign(b')') => depth = depth.saturating_sub(1),
                _ => found |= sought(token),
            }
            if depth == 0 {
                break;
            }
        }
        found
    }

    /// The name at the end.
    pub(super) fn last_name(&self) -> Option<String> {
        self.rest().last()?.name(self.database)
    }

    /// The name here, and goes on over it.
    pub(super) fn name(&mut self) -> Option<String> {
        let name = self.peek()?.name(self.database)?;
        self.at += 1;
        Some(name)
    }
}

/// A table as a statement names it, and how the rest of the statement calls it.
struct Named {
    schema: Option<String>,
    table: String,
    alias: Option<String>,
}

/// `[schema .] table`.
fn table(cursor: &mut Cursor<'_>) -> Option<Named> {
    cursor.skip_words(&BEFORE);
    let in_parentheses = cursor.is_sign(b'(');
    if in_parentheses {
        cursor.skip(1);
    }
    let mut parts = vec![cursor.name()?];
    while cursor.is_sign(b'.') && parts.len() < 3 {
        cursor.skip(1);
        let Some(part) = cursor.name() else { break };
        parts.push(part);
    }
    if in_parentheses && cursor.is_sign(b')') {
        cursor.skip(1);
    }
    let table = parts.pop()?;
    Some(Named { schema: parts.pop(), table, alias: None })
}

/// The table here, which something is done to.
pub(super) fn one_target(cursor: &mut Cursor<'_>, operation: &'static str) -> Option<Target> {
    table(cursor).map(|named| target(&named, operation))
}

fn target(named: &Named, operation: &'static str) -> Target {
    let Named { schema, table, .. } = named;
    Target {
        operation,
        schema: schema.clone(),
        table: table.clone(),
        is_main: true,
        temporary: false,
        until_commit: false,
    }
}

/// Tables with commas or joins between, each with its alias, until one of these words.
fn references(cursor: &mut Cursor<'_>, until: &[&str]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut expected = true;
    while let Some(token) = cursor.peek() {
        if token.is_any(until) || found.len() >= MOST_TABLES {
            break;
        }
        if expected && cursor.is_sign(b'(') && !DERIVED.iter().any(|word| cursor.next_is(word)) {
            // Joins in parentheses.
            cursor.skip(1);
        } else if expected {
            expected = false;
            if let Some(mut named) = reference(cursor) {
                named.alias = alias(cursor);
                found.push(named);
            }
        } else if cursor.is_sign(b'(') {
            cursor.skip_parentheses(|_| false);
        } else {
            expected = cursor.is_sign(b',') || token.is_any(&["join", "straight_join"]);
            cursor.skip(1);
        }
    }
    found
}

/// A table, but not what stands in parentheses.
fn reference(cursor: &mut Cursor<'_>) -> Option<Named> {
    if cursor.is_sign(b'(') {
        cursor.skip_parentheses(|_| false);
        alias(cursor);
        return None;
    }
    table(cursor)
}

fn alias(cursor: &mut Cursor<'_>) -> Option<String> {
    if cursor.is("as") {
        return cursor.after(1).name();
    }
    let is_alias = cursor.peek().is_some_and(|token| !token.is_any(&NO_ALIAS) && token.name(cursor.database).is_some());
    if is_alias { cursor.name() } else { None }
}

/// `UPDATE a SET …`, and MySQL's `UPDATE a JOIN b … SET b.x = …`: the tables whose columns are set.
pub(super) fn update_targets(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip(1);
    cursor.skip_words(&["low_priority", "ignore"]);
    let named = references(cursor, &["set"]);
    let set = assigned(cursor.after(1));
    let is_set = |named: &Named| set.contains(named.alias.as_ref().unwrap_or(&named.table));
    let all = !named.iter().any(is_set);
    named.iter().filter(|named| all || is_set(named)).map(|named| target(named, "update")).collect()
}

/// The tables in `SET a.x = 1, b.y = 2`; none when a column stands without one.
fn assigned(cursor: &mut Cursor<'_>) -> Vec<String> {
    let mut tables = Vec::new();
    let mut expected = true;
    while let Some(token) = cursor.peek() {
        if token.is_any(&["where", "order", "limit", "from", "returning"]) {
            break;
        }
        if expected {
            expected = false;
            match table(cursor) {
                Some(Named { schema: Some(of), .. }) => tables.push(of),
                _ => return Vec::new(),
            }
        } else if cursor.is_sign(b'(') {
            cursor.skip_parentheses(|_| false);
        } else {
            expected = cursor.is_sign(b',');
            cursor.skip(1);
        }
    }
    tables
}

/// `DELETE FROM a`, and MySQL's `DELETE a, b FROM …` and `DELETE FROM a, b USING …`.
pub(super) fn delete_targets(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip(1);
    cursor.skip_words(&["low_priority", "quick", "ignore"]);
    if cursor.is("from") {
        let named = references(cursor.after(1), &["using", "where", "order", "limit", "returning"]);
        let many = cursor.database == Database::MySql && cursor.is("using");
        let tables = if many { references(cursor.after(1), &["where"]) } else { Vec::new() };
        return named.iter().map(|named| target(meant(named, &tables), "delete")).collect();
    }
    let mut named = Vec::new();
    while let Some(one) = table(cursor).filter(|_| named.len() < MOST_TABLES) {
        named.push(one);
        while cursor.is_sign(b'.') || cursor.is_sign(b'*') {
            cursor.skip(1);
        }
        if !cursor.is_sign(b',') {
            break;
        }
        cursor.skip(1);
    }
    cursor.skip_to("from");
    let tables = references(cursor.after(1), &["where", "order", "limit"]);
    named.iter().map(|named| target(meant(named, &tables), "delete")).collect()
}

/// The table that an alias stands for.
fn meant<'a>(named: &'a Named, tables: &'a [Named]) -> &'a Named {
    let is_it = |table: &&Named| named.schema.is_none() && table.alias.as_ref() == Some(&named.table);
    tables.iter().find(is_it).unwrap_or(named)
}
