//! Classifies statements by their first words.

use std::sync::Arc;

use scenario::spec::sections::StatementKind;

use super::super::super::Database;
use super::lexer::{Dialect, Token};
use super::reads;
use super::scan::{Sketch, statements};
use super::targets::{Cursor, MOST_TABLES, delete_targets, one_target, update_targets};
use super::{Effect, Statement, Target};

/// First words of statements that report a number of rows without writing any, or run code that is not guessed.
const TELL_ROWS: [&str; 7] = ["select", "set", "do", "call", "create", "alter", "drop"];
/// Before these MySQL ends a transaction by itself, even when they fail.
const COMMIT: [&str; 21] = [
    "create",
    "alter",
    "drop",
    "rename",
    "truncate",
    "grant",
    "revoke",
    "analyze",
    "optimize",
    "check",
    "repair",
    "flush",
    "lock",
    "unlock",
    "begin",
    "start",
    "install",
    "uninstall",
    "import",
    "cache",
    "reset",
];

/// Classifies a statement. The effects of code that it calls (`CALL`, `DO`, a function) are not guessed.
pub(super) fn classify(dialect: Dialect, sketch: &Sketch<'_>) -> Statement {
    let mut cursor = Cursor::new(&sketch.head, dialect.database);
    let explained = skip_explain(&mut cursor);
    skip_set_statement(&mut cursor);
    let is_with = cursor.is("with");
    let mut statement = match (&sketch.main, is_with) {
        (Some(main), true) => plain(dialect, &mut Cursor::new(main, dialect.database), sketch),
        _ => plain(dialect, &mut cursor, sketch),
    };
    statement.unclear |= sketch.is_unclear || (is_with && sketch.main.is_none());
    let has_code = matches!(statement.effect, Effect::Prepare(..));
    if !has_code && !is_definition(sketch) {
        let inner = sketch.inner.iter().flat_map(|tokens| inner_targets(dialect.database, tokens));
        statement.targets.extend(inner);
    }
    if dialect.wants_reads {
        statement.reads = reads::tables(&sketch.head, dialect.database);
    }
    match explained {
        Explained::No => statement,
        Explained::Only => Statement { reads: statement.reads, ..Statement::default() },
        Explained::AndDone => {
            statement.targets.iter_mut().for_each(|target| target.is_main = false);
            let effect = match statement.effect {
                Effect::Execute(name) => Effect::ExplainedExecute(name),
                _ => Effect::Explained,
            };
            Statement { effect, kind: StatementKind::Other, ..statement }
        }
    }
}

/// Kind of an explanation: none, only explained, or also executed.
enum Explained {
    No,
    Only,
    AndDone,
}

/// `EXPLAIN` only tells, `EXPLAIN ANALYZE` (and MariaDB's `ANALYZE`) also does.
fn skip_explain(cursor: &mut Cursor<'_>) -> Explained {
    let first = cursor.is_any(&["explain", "describe", "desc"]);
    let analyze = cursor.is("analyze") && cursor.database() == Database::MySql;
    if !first && !analyze {
        return Explained::No;
    }
    cursor.skip(1);
    let mut does = analyze;
    loop {
        if cursor.is_any(&["analyze", "analyse"]) {
            does = true;
            cursor.skip(1);
        } else if cursor.is_any(&["verbose", "extended", "partitions"]) {
            cursor.skip(1);
        } else if cursor.is("format") {
            cursor.skip(3);
        } else if cursor.is_sign(b'(') {
            does |= cursor.skip_parentheses(|token| token.is_any(&["analyze", "analyse"]));
        } else {
            break;
        }
    }
    if does { Explained::AndDone } else { Explained::Only }
}

/// MariaDB's `SET STATEMENT … FOR …`.
fn skip_set_statement(cursor: &mut Cursor<'_>) {
    if cursor.database() == Database::MySql && cursor.is("set") && cursor.next_is("statement") {
        cursor.skip_to("for");
        cursor.skip(1);
    }
}

/// A statement that defines code which runs later.
fn is_definition(sketch: &Sketch<'_>) -> bool {
    let words = ["rule", "function", "procedure", "trigger", "view", "policy", "event"];
    let first = sketch.head.first();
    first.is_some_and(|first| first.is_any(&["create", "alter"]))
        && sketch.head.iter().take(6).any(|token| token.is_any(&words))
        && !sketch.head.iter().take(6).any(|token| token.is("table"))
}

/// A statement inside another one: Postgres tells no number of rows for it.
fn inner_targets(database: Database, tokens: &[Token<'_>]) -> Vec<Target> {
    let mut cursor = Cursor::new(tokens, database);
    let found = match () {
        () if cursor.is("insert") && cursor.next_is("into") => one_target(cursor.after(2), "insert"),
        () if cursor.is("delete") && cursor.next_is("from") => one_target(cursor.after(2), "delete"),
        () if cursor.is("merge") && cursor.next_is("into") => one_target(cursor.after(2), "merge"),
        () if cursor.is("update") => one_target(cursor.after(1), "update"),
        () => None,
    };
    found.map(|target| Target { is_main: false, ..target }).into_iter().collect()
}

fn plain(dialect: Dialect, cursor: &mut Cursor<'_>, sketch: &Sketch<'_>) -> Statement {
    let Some(Token::Word(first)) = cursor.peek() else {
        // Queries can stand in parentheses.
        let kind = if cursor.is_sign(b'(') { StatementKind::Select } else { StatementKind::Other };
        return Statement { kind, ..Statement::default() };
    };
    let first = String::from_utf8_lossy(first).to_lowercase();
    let kind = kind_of(&first);
    let targets = match first.as_str() {
        "insert" | "replace" => insert(cursor, &first),
        "update" => update_targets(cursor),
        "delete" => delete_targets(cursor),
        "merge" => one_target(cursor.after_word(1, "into"), "merge").into_iter().collect(),
        "truncate" => list(cursor.after_word(1, "table"), "truncate"),
        "copy" => copy(cursor),
        "load" => load(cursor),
        "select" => select_into(dialect, sketch),
        "create" => create(cursor),
        "drop" => drop_tables(cursor),
        "alter" => alter(cursor),
        "rename" => rename(cursor),
        _ => {
            let statement = Statement { tells_rows: TELL_ROWS.contains(&first.as_str()), ..Statement::default() };
            let commits = COMMIT.contains(&first.as_str());
            let effect = effect(dialect, cursor, &first);
            let kind = match effect {
                Effect::Begin => StatementKind::Begin,
                Effect::Commit => StatementKind::Commit,
                Effect::Rollback | Effect::RollbackTo => StatementKind::Rollback,
                _ => kind,
            };
            return Statement { effect, commits, kind, ..statement };
        }
    };
    let is_temporary = sketch.head.get(1).is_some_and(|second| second.is("temporary"));
    Statement {
        targets,
        tells_rows: TELL_ROWS.contains(&first.as_str()),
        commits: COMMIT.contains(&first.as_str()) && !is_temporary,
        kind,
        ..Statement::default()
    }
}

/// The kind of a statement with this first word, as far as it tells.
fn kind_of(first: &str) -> StatementKind {
    match first {
        "select" | "table" | "values" | "fetch" | "show" | "copy" => StatementKind::Select,
        "insert" | "replace" | "load" => StatementKind::Insert,
        "update" | "merge" => StatementKind::Update,
        "delete" => StatementKind::Delete,
        "create" | "alter" | "drop" | "truncate" | "rename" | "grant" | "revoke" | "comment" => StatementKind::Ddl,
        _ => StatementKind::Other,
    }
}

fn insert(cursor: &mut Cursor<'_>, first: &str) -> Vec<Target> {
    cursor.skip(1);
    cursor.skip_words(&["low_priority", "delayed", "high_priority", "ignore", "into"]);
    one_target(cursor, if first == "replace" { "replace" } else { "insert" }).into_iter().collect()
}

fn copy(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip(1);
    cursor.skip_words(&["binary"]);
    if cursor.is_sign(b'(') {
        return Vec::new();
    }
    let Some(target) = one_target(cursor, "copy") else { return Vec::new() };
    if cursor.is_sign(b'(') {
        cursor.skip_parentheses(|_| false);
    }
    if cursor.is("to") { Vec::new() } else { vec![target] }
}

fn load(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip_to("into");
    cursor.skip(1);
    cursor.skip_words(&["table"]);
    one_target(cursor, "load").into_iter().collect()
}

/// Postgres's `SELECT … INTO table`; to MySQL it is a variable or a file.
fn select_into(dialect: Dialect, sketch: &Sketch<'_>) -> Vec<Target> {
    let Some(tokens) = sketch.into.as_ref().filter(|_| dialect.database == Database::Postgres) else {
        return Vec::new();
    };
    let mut cursor = Cursor::new(tokens, dialect.database);
    let temporary = cursor.is_any(&["temp", "temporary"]) || (cursor.next_is("temp") || cursor.next_is("temporary"));
    cursor.skip_words(&["local", "global", "temp", "temporary", "unlogged", "table"]);
    one_target(&mut cursor, "create").map(|target| Target { temporary, ..target }).into_iter().collect()
}

fn create(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip(1);
    let mut temporary = false;
    while cursor.is_any(&["or", "replace", "global", "local", "temp", "temporary", "unlogged", "foreign"]) {
        temporary |= cursor.is_any(&["temp", "temporary"]);
        cursor.skip(1);
    }
    if !cursor.is("table") {
        return Vec::new();
    }
    cursor.skip(1);
    cursor.skip_words(&["if", "not", "exists"]);
    let target = one_target(cursor, "create");
    let until_commit = cursor.rest().windows(2).any(|pair| pair[0].is("commit") && pair[1].is("drop"));
    target.map(|target| Target { temporary, until_commit, ..target }).into_iter().collect()
}

fn drop_tables(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip(1);
    cursor.skip_words(&["temporary", "foreign"]);
    let is_schema = cursor.is_any(&["schema", "database"]);
    if !is_schema && !cursor.is_any(&["table", "tables"]) {
        return Vec::new();
    }
    cursor.skip(1);
    cursor.skip_words(&["if", "exists"]);
    let dropped = list(cursor, "drop");
    if !is_schema {
        return dropped;
    }
    let all = |target: Target| Target { schema: Some(target.table), table: "*".to_owned(), ..target };
    dropped.into_iter().map(all).collect()
}

fn alter(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip(1);
    cursor.skip_words(&["online", "ignore", "foreign"]);
    if !cursor.is("table") {
        return Vec::new();
    }
    cursor.skip(1);
    cursor.skip_words(&["if", "exists"]);
    one_target(cursor, "alter").into_iter().collect()
}

/// MySQL's `RENAME TABLE a TO b, c TO d`.
fn rename(cursor: &mut Cursor<'_>) -> Vec<Target> {
    cursor.skip(1);
    if !cursor.is_any(&["table", "tables"]) {
        return Vec::new();
    }
    cursor.skip(1);
    cursor.skip_words(&["if", "exists"]);
    let mut renamed = Vec::new();
    while let Some(target) = one_target(cursor, "alter") {
        renamed.push(target);
        if renamed.len() >= MOST_TABLES || !(cursor.is("to") || cursor.is_sign(b',')) {
            break;
        }
        cursor.skip(1);
    }
    renamed
}

/// Tables with commas between.
fn list(cursor: &mut Cursor<'_>, operation: &'static str) -> Vec<Target> {
    let mut targets = Vec::new();
    while let Some(target) = one_target(cursor, operation) {
        targets.push(target);
        if cursor.is_sign(b'*') {
            cursor.skip(1);
        }
        if targets.len() >= MOST_TABLES || !cursor.is_sign(b',') {
            break;
        }
        cursor.skip(1);
    }
    targets
}

fn effect(dialect: Dialect, cursor: &mut Cursor<'_>, first: &str) -> Effect {
    match first {
        "begin" if cursor.next_is("not") => Effect::None,
        "begin" => Effect::Begin,
        "start" if cursor.next_is("transaction") => Effect::Begin,
        "commit" | "end" if !cursor.next_is("prepared") => Effect::Commit,
        "rollback" | "abort" if cursor.next_is("prepared") => Effect::None,
        "rollback" | "abort" => match cursor.rest_has("to") {
            true => Effect::RollbackTo,
            false => Effect::Rollback,
        },
        "use" => cursor.after(1).name().map_or(Effect::None, Effect::Use),
        "call" => Effect::Call,
        "discard" => Effect::Discard,
        "prepare" if !cursor.next_is("transaction") => prepare(dialect, cursor),
        "execute" if cursor.next_is("immediate") => Effect::None,
        "execute" => prepared_name(cursor.after(1)).map_or(Effect::None, Effect::Execute),
        "deallocate" => deallocate(cursor.after_word(1, "prepare")),
        "fetch" | "move" => cursor.last_name().map_or(Effect::None, Effect::Fetch),
        _ => Effect::None,
    }
}

/// The name of a prepared statement; MySQL does not tell capitals from small letters there.
fn prepared_name(cursor: &mut Cursor<'_>) -> Option<String> {
    let name = cursor.name()?;
    Some(if cursor.database() == Database::MySql { name.to_lowercase() } else { name })
}

fn deallocate(cursor: &mut Cursor<'_>) -> Effect {
    match cursor.is("all") && cursor.database() == Database::Postgres {
        true => Effect::DeallocateAll,
        false => prepared_name(cursor).map_or(Effect::None, Effect::Deallocate),
    }
}

/// `PREPARE name [(types)] AS statement`, or MySQL's `PREPARE name FROM 'statement'`.
fn prepare(dialect: Dialect, cursor: &mut Cursor<'_>) -> Effect {
    let Some(name) = prepared_name(cursor.after(1)) else { return Effect::None };
    if cursor.is_sign(b'(') {
        cursor.skip_parentheses(|_| false);
    }
    let statement = if cursor.is("as") && !cursor.rest_has("prepare") {
        let sketch = Sketch::of(cursor.after(1).rest());
        Arc::new(classify(dialect, &sketch))
    } else if let Some(Token::Quoted(_, text)) = cursor.after(1).peek().filter(|_| dialect.database == Database::MySql)
    {
        statements(dialect, text, 1).pop_front().unwrap_or_default()
    } else {
        // The text is in a variable: what the name stood for before is gone.
        return Effect::Deallocate(name);
    };
    // A statement that prepares another one is none that a server takes.
    if matches!(statement.effect, Effect::Prepare(..)) {
        Effect::Deallocate(name)
    } else {
        Effect::Prepare(name, statement)
    }
}
