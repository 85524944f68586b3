//! Splits a script into statements, as `psql` and the `mysql` client do.

use super::super::Database;

/// A statement, without comments before it and without its delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    /// Its offset in the script, in bytes.
    pub(super) offset: usize,
    /// The statement.
    pub(super) text: &'a str,
}

/// An instruction in a script that is meant for a client program, and is no SQL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientInstruction {
    /// An instruction to `psql`, or to the `mysql` client.
    #[error("`{0}` is an instruction to a client program, not SQL")]
    Backslash(String),
    /// The `mysql` client is to read a file.
    #[error("`{0}` reads a file of a client program")]
    Source(String),
    /// The `mysql` client is to take another delimiter, which is not there.
    #[error("`DELIMITER` is not followed by a delimiter")]
    Delimiter,
    /// `psql` is to send or to print rows.
    #[error("`COPY … {direction} {stream}` needs a client program; write INSERT instead")]
    Copy {
        /// `FROM` or `TO`, as it was written.
        direction: String,
        /// `stdin` or `stdout`.
        stream: String,
    },
}

/// A script that is not only SQL.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{instruction}")]
pub(super) struct SplitError {
    /// Its offset in the script, in bytes.
    pub(super) offset: usize,
    /// The instruction that stands in its place.
    #[source]
    pub(super) instruction: ClientInstruction,
}

/// The line of a byte of the script, from 1.
pub(super) fn line_at(script: &str, offset: usize) -> usize {
    1 + script.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count()
}

/// The statements of a script.
pub(super) fn split(database: Database, script: &str) -> Result<Vec<Statement<'_>>, SplitError> {
    let mut splitter = Splitter { database, script, at: 0, delimiter: ";", begun: None };
    let mut statements = Vec::new();
    while let Some(statement) = splitter.next_statement()? {
        statements.push(statement);
    }
    Ok(statements)
}

struct Splitter<'a> {
    database: Database,
    script: &'a str,
    at: usize,
    delimiter: &'a str,
    begun: Option<Begun<'a>>,
}

/// State of the statement that is being read.
struct Begun<'a> {
    offset: usize,
    /// Its first words, in lower case; four are enough for `create or replace function`.
    words: Vec<String>,
    last_word: &'a str,
    parentheses: usize,
    /// Depth in `BEGIN ATOMIC … END`, the body of a function in standard SQL.
    blocks: usize,
}

impl<'a> Splitter<'a> {
    /// The next statement that is not empty.
    fn next_statement(&mut self) -> Result<Option<Statement<'a>>, SplitError> {
        while self.at < self.script.len() {
            if self.at_delimiter() {
                let end = self.at;
                self.at += self.delimiter.len();
                if let Some(begun) = self.begun.take() {
                    return Ok(Some(self.statement(begun.offset, end)));
                }
                continue;
            }
            self.take_token()?;
        }
        Ok(self.begun.take().map(|begun| self.statement(begun.offset, self.script.len())))
    }

    fn statement(&self, offset: usize, end: usize) -> Statement<'a> {
        Statement { offset, text: self.script[offset..end].trim_end() }
    }

    fn at_delimiter(&self) -> bool {
        let nested = self.database == Database::Postgres
            && self.begun.as_ref().is_some_and(|begun| begun.parentheses > 0 || begun.blocks > 0);
        !nested && self.rest().starts_with(self.delimiter)
    }

    fn rest(&self) -> &'a str {
        &self.script[self.at..]
    }

    /// Passes over one blank, comment, quoted text, word or sign.
    fn take_token(&mut self) -> Result<(), SplitError> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or_default();
        if first.is_whitespace() || first == '\u{feff}' {
            self.at += first.len_utf8();
        } else if let Some(length) = comment(self.database, rest) {
            self.at += length;
        } else if first == '\\' {
            return Err(self.refuse(ClientInstruction::Backslash(first_line(rest).to_owned())));
        } else if let Some(length) = quoted(self.database, rest) {
            self.begin();
            self.at += length;
        } else if is_word(first) {
            return self.take_word();
        } else {
            self.take_sign(first);
        }
        Ok(())
    }

    fn refuse(&self, instruction: ClientInstruction) -> SplitError {
        SplitError { offset: self.at, instruction }
    }

    fn begin(&mut self) -> &mut Begun<'a> {
        let offset = self.at;
        self.begun.get_or_insert_with(|| Begun { offset, words: Vec::new(), last_word: "", parentheses: 0, blocks: 0 })
    }

    fn take_sign(&mut self, sign: char) {
        let begun = self.begin();
        match sign {
            '(' => begun.parentheses += 1,
            ')' => begun.parentheses = begun.parentheses.saturating_sub(1),
            _ => {}
        }
        self.at += sign.len_utf8();
    }

    fn take_word(&mut self) -> Result<(), SplitError> {
        let rest = self.rest();
        let word = word(rest, self.delimiter);
        if self.database == Database::MySql && self.begun.is_none() {
            match word.to_ascii_lowercase().as_str() {
                "delimiter" => return self.take_delimiter(),
                "source" => return Err(self.refuse(ClientInstruction::Source(first_line(rest).to_owned()))),
                _ => {}
            }
        }
        let database = self.database;
        let begun = self.begin();
        if database == Database::Postgres {
            begun.notice(word).map_err(|instruction| SplitError { offset: begun.offset, instruction })?;
        }
        begun.last_word = word;
        self.at += word.len();
        Ok(())
    }

    /// `DELIMITER //`: an instruction to the `mysql` client that scripts with stored programs cannot do without.
    fn take_delimiter(&mut self) -> Result<(), SplitError> {
        let line = self.rest().lines().next().unwrap_or_default();
        let Some(delimiter) = line.split_whitespace().nth(1) else {
            return Err(self.refuse(ClientInstruction::Delimiter));
        };
        self.delimiter = delimiter;
        self.at += line.len();
        Ok(())
    }
}

impl Begun<'_> {
    /// Follows `COPY … FROM stdin` and `BEGIN ATOMIC` bodies of Postgres.
    fn notice(&mut self, word: &str) -> Result<(), ClientInstruction> {
        let lower = word.to_ascii_lowercase();
        let copies = self.words.first().is_some_and(|first| first == "copy");
        if copies && matches!(&*lower, "stdin" | "stdout") && matches_any(self.last_word, &["from", "to"]) {
            return Err(ClientInstruction::Copy { direction: self.last_word.to_owned(), stream: lower });
        }
        match &*lower {
            "begin" if self.makes_routine() => self.blocks += 1,
            "case" if self.blocks > 0 => self.blocks += 1,
            "end" => self.blocks = self.blocks.saturating_sub(1),
            _ => {}
        }
        if self.words.len() < 4 {
            self.words.push(lower);
        }
        Ok(())
    }

    /// Returns true if the statement is `CREATE [OR REPLACE] FUNCTION` or `PROCEDURE`.
    fn makes_routine(&self) -> bool {
        let words: Vec<_> = self.words.iter().map(String::as_str).collect();
        matches!(
            words.as_slice(),
            ["create", "function" | "procedure", ..] | ["create", "or", "replace", "function" | "procedure", ..]
        )
    }
}

fn matches_any(word: &str, words: &[&str]) -> bool {
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end()
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

/// The word at the start of `rest`. A delimiter such as `$$` ends it, although names may contain dollars.
fn word<'a>(rest: &'a str, delimiter: &str) -> &'a str {
    let goes_on = |(at, character): &(usize, char)| {
        (is_word(*character) || *character == '$') && !(*at > 0 && rest[*at..].starts_with(delimiter))
    };
    let length = rest.char_indices().take_while(goes_on).map(|(_, character)| character.len_utf8()).sum();
    &rest[..length]
}

/// The length of the comment at the start of `rest`. What MySQL runs although it looks like a comment is none.
fn comment(database: Database, rest: &str) -> Option<usize> {
    let line = || Some(rest.find('\n').unwrap_or(rest.len()));
    match database {
        Database::Postgres if rest.starts_with("--") => line(),
        Database::Postgres if rest.starts_with("/*") => Some(nested_comment(rest)),
        Database::MySql if rest.starts_with('#') => line(),
        Database::MySql if rest.starts_with("--") => {
            rest[2..].chars().next().is_none_or(|next| next.is_whitespace() || next.is_control()).then(line)?
        }
        Database::MySql if rest.starts_with("/*") && !rest.starts_with("/*!") && !rest.starts_with("/*M!") => {
            Some(block(rest))
        }
        _ => None,
    }
}

/// The length of `/* … */` in MySQL.
fn block(rest: &str) -> usize {
    rest[2..].find("*/").map_or(rest.len(), |end| end + 4)
}

/// The length of a comment that may contain comments.
fn nested_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(found) = rest[at..].find(['/', '*']) {
        at += found;
        match rest.as_bytes().get(at..at + 2) {
            Some(b"/*") => (at, depth) = (at + 2, depth + 1),
            Some(b"*/") if depth == 1 => return at + 2,
            Some(b"*/") => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of the quoted text at the start of `rest`; to the end of the script when it does not end.
fn quoted(database: Database, rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mysql = database == Database::MySql;
    match bytes {
        [b'\'', ..] => Some(quoted_until(bytes, 0, mysql)),
        [b'"', ..] => Some(quoted_until(bytes, 0, mysql)),
        [b'`', ..] if mysql => Some(quoted_until(bytes, 0, false)),
        [b'e' | b'E', b'\'', ..] if !mysql => Some(quoted_until(bytes, 1, true)),
        [b'$', ..] if !mysql => dollar_quoted(rest),
        // Statements that only some versions run are kept together, whatever they contain.
        [b'/', b'*', ..] if mysql => Some(block(rest)),
        _ => None,
    }
}

/// Returns the end of the quote that opens at `start`. A doubled quote needs no care: it ends one text and begins
/// another.
fn quoted_until(bytes: &[u8], start: usize, escapes: bool) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'\\' if escapes => 2,
            byte if *byte == quote => return at + 1,
            _ => 1,
        };
    }
    bytes.len()
}

/// The length of `$tag$ … $tag$`.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag = &rest[..rest[1..].find('$')? + 2];
    let inner = &tag[1..tag.len() - 1];
    let named = inner.chars().all(is_word) && !inner.starts_with(|first: char| first.is_ascii_digit());
    named.then(|| rest[tag.len()..].find(tag).map_or(rest.len(), |end| tag.len() + end + tag.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(database: Database, script: &str, expected: &[&str]) {
        let found = split(database, script).unwrap();
        assert_eq!(found.iter().map(|statement| statement.text).collect::<Vec<_>>(), expected, "{script}");
        for statement in found {
            assert!(script[statement.offset..].starts_with(statement.text));
        }
    }

    fn refusal(database: Database, script: &str) -> (usize, String) {
        let error = split(database, script).unwrap_err();
        (line_at(script, error.offset), error.to_string())
    }

    #[test]
    fn semicolons_in_quotes_and_comments_end_nothing() {
        use Database::{MySql, Postgres};
        check(Postgres, "a; b;; -- c;\n;/* ; /* ; */ ; */ d ;", &["a", "b", "d"]);
        check(Postgres, "s ';' \";\" 'it''s;' E'\\';' '\\'; x", &["s ';' \";\" 'it''s;' E'\\';' '\\'", "x"]);
        check(Postgres, "do $$ a; $$; do $x$ $$; $x$; s $1;", &["do $$ a; $$", "do $x$ $$; $x$", "s $1"]);
        check(Postgres, "é 'ü;'; /* nothing */ -- at all", &["é 'ü;'"]);
        check(Postgres, "s 'open; a; b", &["s 'open; a; b"]);
        check(
            MySql,
            "s '\\';' `;` \"\\\";\"; # c;\nx -- y;\n;s 1--1;",
            &["s '\\';' `;` \"\\\";\"", "x -- y;", "s 1--1"],
        );
        check(MySql, "/*!40101 SET a=1; */; /* ; */ x", &["/*!40101 SET a=1; */", "x"]);
    }

    #[test]
    fn bodies_and_rules_of_postgres_stay_whole() {
        let function =
            "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 3; END";
        check(Database::Postgres, &format!("{function}; BEGIN; END"), &[function, "BEGIN", "END"]);
        check(
            Database::Postgres,
            "CREATE RULE r AS ON INSERT TO t DO (a; b); c",
            &["CREATE RULE r AS ON INSERT TO t DO (a; b)", "c"],
        );
    }

    #[test]
    fn the_delimiter_of_mysql_can_be_changed() {
        let script = "a;\nDELIMITER $$\nCREATE PROCEDURE p() BEGIN x; y; END$$\ndelimiter ;\nb;";
        check(Database::MySql, script, &["a", "CREATE PROCEDURE p() BEGIN x; y; END", "b"]);
        check(Database::MySql, "DELIMITER //\r\na; b //\r\nc//", &["a; b", "c"]);
        assert_eq!(refusal(Database::MySql, "a;\nDELIMITER \n").0, 2);
    }

    #[test]
    fn instructions_to_client_programs_are_refused_with_their_line() {
        use Database::{MySql, Postgres};
        let check = |database, script, line, part: &str| {
            let found = refusal(database, script);
            assert!(found.0 == line && found.1.contains(part), "{found:?}");
        };
        check(Postgres, "SELECT 1;\n\\i other.sql\n", 2, "`\\i other.sql`");
        check(Postgres, "a;\n\nCOPY t (x)\nFROM stdin;\n1\n\\.\n", 3, "COPY … FROM stdin");
        check(MySql, "\nsource a.sql", 2, "source a.sql");
        check(MySql, "SELECT 1\\G", 1, "\\G");
        super::split(Postgres, "COPY t FROM '/tmp/x'; SELECT stdin FROM t").unwrap();
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split_without_loss_of_order(script in "[a$'\"`;/*\\-#\\\\ \n(eE!MäDELIMITER]{0,40}") {
            for database in [Database::Postgres, Database::MySql] {
                if let Ok(statements) = split(database, &script) {
                    let ends = statements.iter().map(|one| one.offset + one.text.len());
                    let starts = statements.iter().skip(1).map(|one| one.offset);
                    assert!(ends.zip(starts).all(|(end, start)| end < start));
                }
            }
        }
    }
}
