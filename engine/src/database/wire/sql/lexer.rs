//! The tokens of SQL, one after the other: whatever the text is, it takes one pass and no memory.
//!
//! A parser that builds a tree is no choice here: the text is the agent's, and a tree of a million levels would end the
//! worker when it is dropped.

use super::super::super::Database;

/// Dialect of SQL, which decides how a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Dialect {
    /// Server whose SQL it is.
    pub(in super::super) database: Database,
    /// True when a backslash in an ordinary text takes the next letter with it.
    pub(in super::super) backslashes: bool,
    /// The version in the form of MySQL's comments with code, such as 80036; 0 when it is not known.
    pub(in super::super) version: u32,
    /// True for MariaDB.
    pub(in super::super) mariadb: bool,
    /// True when the tables that statements read are wanted too.
    pub(in super::super) wants_reads: bool,
}

impl Dialect {
    /// Postgres as it is by default.
    pub(in super::super) fn postgres() -> Self {
        Self { database: Database::Postgres, backslashes: false, version: 0, mariadb: false, wants_reads: false }
    }

    /// MySQL or MariaDB as they are by default.
    pub(in super::super) fn mysql(version: u32, mariadb: bool) -> Self {
        Self { database: Database::MySql, backslashes: true, version, mariadb, wants_reads: false }
    }
}

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword, name or number without quotes.
    Word(&'a [u8]),
    /// A text in quotes, with the quote.
    Quoted(u8, &'a [u8]),
    /// Any other letter.
    Sign(u8),
}

impl Token<'_> {
    /// Returns true if it is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword.as_bytes()))
    }

    /// Returns true if it is one of these keywords.
    pub(super) fn is_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(keyword))
    }

    /// The name that it stands for, when it can be one. Postgres folds what has no quotes.
    pub(super) fn name(&self, database: Database) -> Option<String> {
        match (self, database) {
            (Token::Word(word), Database::Postgres) => Some(shown(word).to_lowercase()),
            (Token::Word(word), Database::MySql) => Some(shown(word)),
            (Token::Quoted(b'\'', _), _) => None,
            (Token::Quoted(quote, text), _) => {
                let quote = char::from(*quote).to_string();
                Some(shown(text).replace(&quote.repeat(2), &quote))
            }
            (Token::Sign(_), _) => None,
        }
    }
}

/// The longest name that is shown; no database has longer ones.
const LONGEST_NAME: usize = 200;

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_NAME)]).into_owned()
}

/// Reads a text from its beginning.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    dialect: Dialect,
    /// True inside a comment that MySQL takes for code.
    in_code_comment: bool,
}

impl<'a> Lexer<'a> {
    /// Reads `text`.
    pub(super) fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Self { text, at: 0, dialect, in_code_comment: false }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is_postgres(&self) -> bool {
        self.dialect.database == Database::Postgres
    }

    /// Passes over blanks and comments.
    fn skip(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (blank, _) if blank.is_ascii_whitespace() || blank == 0x0b => self.at += 1,
                (b'-', b'-') if self.is_postgres() || self.peek(2) <= b' ' => self.skip_line(),
                (b'#', _) if !self.is_postgres() => self.skip_line(),
                (b'/', b'*') => self.skip_comment(),
                (b'*', b'/') if self.in_code_comment => {
                    self.in_code_comment = false;
                    self.at += 2;
                }
                _ => return,
            }
            if self.at >= self.text.len() {
                return;
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at.min(self.text.len())..];
        let end = match self.is_postgres() {
            true => memchr::memchr2(b'\n', b'\r', rest),
            false => memchr::memchr(b'\n', rest),
        };
        self.at += end.unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) {
        if !self.is_postgres() && self.skip_into_code() {
            return;
        }
        // Code for another version may have one comment inside.
        let deepest = match (self.is_postgres(), self.peek(2), self.peek(3)) {
            (true, ..) => usize::MAX,
            (_, b'!', _) | (_, b'M', b'!') => 2,
            _ => 1,
        };
        self.at += 2;
        let mut depth = 1;
        while depth > 0 && self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => (depth, self.at) = (depth - 1, self.at + 2),
                (b'/', b'*') if depth < deepest => (depth, self.at) = (depth + 1, self.at + 2),
                _ => self.at += 1,
            }
        }
    }

    /// Enters `/*! … */`, `/*!80000 … */` or `/*M! … */`, where the server takes it for code.
    fn skip_into_code(&mut self) -> bool {
        let start = match (self.peek(2), self.peek(3)) {
            (b'!', _) => 3,
            (b'M', b'!') if self.dialect.mariadb => 4,
            _ => return false,
        };
        let digits: Vec<u8> = (0..6).map(|index| self.peek(start + index)).take_while(u8::is_ascii_digit).collect();
        let version = std::str::from_utf8(&digits).ok().and_then(|text| text.parse::<u32>().ok());
        let length = if digits.len() >= 5 { digits.len() } else { 0 };
        let version = version.filter(|_| length > 0).unwrap_or(0);
        // MariaDB passes over code for versions of MySQL that it never was.
        let foreign = self.dialect.mariadb && start == 3 && (50_700..=99_999).contains(&version);
        if foreign || (self.dialect.version > 0 && version > self.dialect.version) {
            return false;
        }
        self.at += start + length;
        self.in_code_comment = true;
        true
    }

    /// Reads a text in quotes; the opening one is at the current place.
    fn quoted(&mut self, backslashes: bool) -> Token<'a> {
        let quote = self.peek(0);
        let start = self.at + 1;
        self.at = start;
        while self.at < self.text.len() {
            match self.peek(0) {
                b'\\' if backslashes => self.at += 2,
                letter if letter == quote && self.peek(1) == quote => self.at += 2,
                letter if letter == quote => break,
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.text.len());
        self.at = end + 1;
        Token::Quoted(quote, &self.text[start.min(end)..end])
    }

    /// Postgres's `$tag$ … $tag$`.
    fn dollar_quoted(&mut self) -> Option<Token<'a>> {
        let rest = &self.text[self.at..];
        let length = rest[1..].iter().take_while(|letter| is_word(**letter) && **letter != b'$').count();
        if rest.get(1).is_some_and(u8::is_ascii_digit) || rest.get(length + 1) != Some(&b'$') {
            return None;
        }
        let (tag, body) = rest.split_at(length + 2);
        let end = memchr::memmem::find(body, tag).unwrap_or(body.len());
        self.at += tag.len() + end + tag.len();
        Some(Token::Quoted(b'\'', &body[..end]))
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip();
        if self.at >= self.text.len() {
            return None;
        }
        let letter = self.peek(0);
        match letter {
            b'\'' => Some(self.quoted(self.dialect.backslashes)),
            b'"' => Some(self.quoted(!self.is_postgres() && self.dialect.backslashes)),
            b'`' if !self.is_postgres() => Some(self.quoted(false)),
            b'$' if self.is_postgres() => self.dollar_quoted().or_else(|| self.sign()),
            _ if is_word(letter) => self.word(),
            _ => self.sign(),
        }
    }
}

impl<'a> Lexer<'a> {
    fn sign(&mut self) -> Option<Token<'a>> {
        self.at += 1;
        Some(Token::Sign(self.text[self.at - 1]))
    }

    fn word(&mut self) -> Option<Token<'a>> {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|letter| is_word(**letter)).count();
        let word = &rest[..length];
        self.at += length;
        // `E'…'` has backslashes whatever the settings are.
        if self.is_postgres() && word.eq_ignore_ascii_case(b"e") && self.peek(0) == b'\'' {
            return Some(self.quoted(true));
        }
        Some(Token::Word(word))
    }
}

fn is_word(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'$' || letter >= 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(dialect: Dialect, text: &str) -> String {
        let show = |token: Token<'_>| match token {
            Token::Word(word) => String::from_utf8_lossy(word).into_owned(),
            Token::Quoted(quote, text) => format!("{}{}", char::from(quote), String::from_utf8_lossy(text)),
            Token::Sign(sign) => char::from(sign).to_string(),
        };
        Lexer::new(text.as_bytes(), dialect).map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn postgres_is_read_by_its_own_rules() {
        let check = |text: &str, expected: &str| assert_eq!(tokens(Dialect::postgres(), text), expected, "{text}");
        check("a'b\\'c", "a 'b\\ c");
        check("E'b\\';' ; x", "'b\\'; ; x");
        check("/* a /* b */ ; */ c -- d\n e", "c e");
        check("$x$ ; $y$ $x$ $1 a$b$", "' ; $y$  $ 1 a$b$");
        check("\"a\"\"b\".c", "\"a\"\"b . c");
        check("'open", "'open");
    }

    #[test]
    fn mysql_is_read_by_its_own_rules() {
        let mysql = Dialect::mysql(90_100, false);
        let check = |text: &str, expected: &str| assert_eq!(tokens(mysql, text), expected, "{text}");
        check("'b\\'c' # d\n e --f", "'b\\'c e - - f");
        check("/*!50000 a */ b /*!99999 c */ /* d */ /*!e*/", "a b e");
        check("`a``b` -- x", "`a``b");
        check("a -- b\r c\n d # e\r f", "a d");
        check("/*!99999 a /* b */ c */ d /* e /* f */ g", "d g");
        let mariadb = Dialect::mysql(101_100, true);
        assert_eq!(tokens(mariadb, "/*!80000 a */ /*M!100100 b */ /*!50100 c*/"), "b c");
        let plain = Dialect { backslashes: false, ..mysql };
        assert_eq!(tokens(plain, "'b\\' c"), "'b\\ c");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(text in prop::collection::vec(any::<u8>(), 0..300), postgres: bool) {
            let dialect = if postgres { Dialect::postgres() } else { Dialect::mysql(90_100, false) };
            prop_assert!(Lexer::new(&text, dialect).count() <= text.len());
        }

        #[test]
        fn any_quotes_are_read_to_the_end(text in "[-'\"`$*/!#e\\\\ ;0-9a]{0,60}", postgres: bool) {
            let dialect = if postgres { Dialect::postgres() } else { Dialect::mysql(90_100, true) };
            prop_assert!(Lexer::new(text.as_bytes(), dialect).count() <= text.len());
        }
    }
}
