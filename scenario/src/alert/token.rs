//! The words of a condition.

use super::Mistake;

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
}

/// A token of a condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A word, in lower case.
    Word(String),
    /// A number, and whether `%` follows.
    Number(f64, bool),
    Operator(Operator),
    Open,
    Close,
    And,
    Or,
    Not,
}

/// A token, and which character it begins with, from 1.
pub(super) type Placed = (Token, usize);

/// Signs, longest first where one begins like another.
const SIGNS: [(&str, Token); 12] = [
    ("<=", Token::Operator(Operator::AtMost)),
    (">=", Token::Operator(Operator::AtLeast)),
    ("==", Token::Operator(Operator::Equal)),
    ("!=", Token::Operator(Operator::Unequal)),
    ("&&", Token::And),
    ("||", Token::Or),
    ("<", Token::Operator(Operator::Less)),
    (">", Token::Operator(Operator::More)),
    ("=", Token::Operator(Operator::Equal)),
    ("!", Token::Not),
    ("(", Token::Open),
    (")", Token::Close),
];

impl Operator {
    /// Returns true if the comparison is true of two numbers.
    pub(super) fn holds(self, left: f64, right: f64) -> bool {
        let (left, right) = (rounded(left), rounded(right));
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
            Self::Equal => left.total_cmp(&right).is_eq(),
            Self::Unequal => left.total_cmp(&right).is_ne(),
        }
    }

    /// Returns its sign.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Equal => "==",
            Self::Unequal => "!=",
        }
    }
}

/// Without what floats add: 0.9 − 0.85 is not more than 0.05. Adding 0 makes −0 the 0 that it equals.
fn rounded(number: f64) -> f64 {
    (number * 1e9).round() / 1e9 + 0.0
}

/// The words of a text, and where they stand.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, Mistake> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let position = position(text, rest);
        let (token, length) = match first {
            '0'..='9' | '.' | '-' | '+' => number(rest, position)?,
            'a'..='z' | 'A'..='Z' | '_' => word(rest),
            _ => sign(rest, position)?,
        };
        tokens.push((token, position));
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Returns the position in a text at which its rest begins, in characters from 1.
pub(super) fn position(text: &str, rest: &str) -> usize {
    text[..text.len() - rest.len()].chars().count() + 1
}

fn number(rest: &str, position: usize) -> Result<(Token, usize), Mistake> {
    let signs = usize::from(rest.starts_with(['-', '+']));
    let digits = rest[signs..].find(|character: char| !character.is_ascii_digit() && character != '.');
    let length = digits.map_or(rest.len(), |digits| digits + signs);
    let number = rest[..length].parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| Mistake { position, message: format!("`{}` is no number", &rest[..length]) })?;
    let is_percent = rest[length..].trim_start().starts_with('%');
    let length = if is_percent { rest.find('%').map_or(length, |at| at + 1) } else { length };
    match rest[length..].chars().next().filter(|next| next.is_alphanumeric()) {
        Some(_) => {
            Err(Mistake { position, message: "a number has no unit but `%`; times are in milliseconds".to_owned() })
        }
        None => Ok((Token::Number(number, is_percent), length)),
    }
}

fn word(rest: &str) -> (Token, usize) {
    let end = rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let length = end.unwrap_or(rest.len());
    let word = rest[..length].to_ascii_lowercase();
    let token = match word.as_str() {
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        _ => Token::Word(word),
    };
    (token, length)
}

fn sign(rest: &str, position: usize) -> Result<(Token, usize), Mistake> {
    let found = SIGNS.into_iter().find(|(sign, _)| rest.starts_with(sign));
    let first = rest.chars().next().unwrap_or_default();
    let shown = crate::untrusted::line(&first.to_string(), 8);
    let unknown = || Mistake { position, message: format!("`{shown}` means nothing here") };
    found.map(|(sign, token)| (token, sign.len())).ok_or_else(unknown)
}
