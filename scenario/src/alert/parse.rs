//! From text to a condition.

use super::token::{Operator, Placed, Token, position, tokens};
use super::{Amount, DEEPEST, Direction, Expression, MOST_BYTES, Mistake};
use crate::metric::Metric;
use crate::spec::diagnostic::closest;

/// Words that are no metrics.
const WORDS: [&str; 3] = ["regressed", "drop", "rise"];

/// Reads a condition: parts with `or` between them, made of parts with `and` between them.
pub(super) fn parse(text: &str) -> Result<Expression, Mistake> {
    if text.len() > MOST_BYTES {
        let message = format!("the condition has more than {MOST_BYTES} bytes");
        return Err(Mistake { position: 1, message });
    }
    let end = position(text, "");
    let mut parser = Parser { tokens: tokens(text)?.into_iter().peekable(), end, depth: 0 };
    let expression = parser.any()?;
    match parser.tokens.next() {
        None => Ok(expression),
        Some((token, position)) => {
            Err(Mistake { position, message: format!("expected `and`, `or` or the end, found {}", shown(&token)) })
        }
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Placed>>,
    /// The end of the text.
    end: usize,
    depth: usize,
}

impl Parser {
    fn any(&mut self) -> Result<Expression, Mistake> {
        let mut parts = vec![self.all()?];
        while self.take(&Token::Or) {
            parts.push(self.all()?);
        }
        Ok(several(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, Mistake> {
        let mut parts = vec![self.one()?];
        while self.take(&Token::And) {
            parts.push(self.one()?);
        }
        Ok(several(parts, Expression::All))
    }

    fn one(&mut self) -> Result<Expression, Mistake> {
        let (token, position) = self.next("a metric")?;
        match token {
            Token::Not => {
                let inner = self.deeper(position, Self::one)?;
                Ok(Expression::Not(Box::new(inner)))
            }
            Token::Open => {
                let inner = self.deeper(position, Self::any)?;
                self.close(position)?;
                Ok(inner)
            }
            Token::Word(word) => self.named(&word, position),
            other => {
                Err(Mistake { position, message: format!("expected a metric, found {}; {}", shown(&other), known()) })
            }
        }
    }

    /// Reads an expression that begins with a word: a comparison, a change, or `regressed`.
    fn named(&mut self, word: &str, position: usize) -> Result<Expression, Mistake> {
        let direction = match word {
            "regressed" => return Ok(Expression::Regressed),
            "drop" => Direction::Drop,
            "rise" => Direction::Rise,
            name => {
                let metric = metric(name, position)?;
                let (operator, amount) = self.comparison(metric.name)?;
                return Ok(Expression::Compared(metric, operator, amount));
            }
        };
        let what = format!("`in` and a metric, such as `{word} in pass_rate > 5%`");
        let (token, place) = self.next(&what)?;
        if token != Token::Word("in".to_owned()) {
            return Err(Mistake { position: place, message: format!("expected {what}, found {}", shown(&token)) });
        }
        let (token, place) = self.next("a metric")?;
        let Token::Word(name) = token else {
            return Err(Mistake { position: place, message: format!("expected a metric; {}", known()) });
        };
        let metric = metric(&name, place)?;
        if !matches!(self.tokens.peek(), Some((Token::Operator(_), _))) {
            // Any change in that direction.
            let none = Amount { number: 0.0, is_percent: false };
            return Ok(Expression::Changed(direction, metric, Operator::More, none));
        }
        let (operator, amount) = self.comparison(metric.name)?;
        Ok(Expression::Changed(direction, metric, operator, amount))
    }

    fn comparison(&mut self, metric: &str) -> Result<(Operator, Amount), Mistake> {
        let (token, position) = self.next("`<`, `<=`, `>`, `>=`, `==` or `!=`")?;
        let Token::Operator(operator) = token else {
            let message =
                format!("`{metric}` is to be compared with a number, such as `{metric} > 0`; found {}", shown(&token));
            return Err(Mistake { position, message });
        };
        let (token, position) = self.next("a number, such as `0.9` or `90%`")?;
        let Token::Number(number, is_percent) = token else {
            let message = format!("expected a number, such as `0.9` or `90%`, found {}", shown(&token));
            return Err(Mistake { position, message });
        };
        Ok((operator, Amount { number, is_percent }))
    }

    fn deeper(
        &mut self,
        position: usize,
        read: fn(&mut Self) -> Result<Expression, Mistake>,
    ) -> Result<Expression, Mistake> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Mistake { position, message: format!("the condition is nested more than {DEEPEST} deep") });
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn close(&mut self, opened: usize) -> Result<(), Mistake> {
        let what = format!("`)` for the `(` at character {opened}");
        match self.next(&what)? {
            (Token::Close, _) => Ok(()),
            (other, position) => {
                Err(Mistake { position, message: format!("expected {what}, found {}", shown(&other)) })
            }
        }
    }

    fn take(&mut self, token: &Token) -> bool {
        self.tokens.next_if(|(next, _)| next == token).is_some()
    }

    fn next(&mut self, expected: &str) -> Result<Placed, Mistake> {
        let ended =
            || Mistake { position: self.end, message: format!("the condition ends where {expected} is expected") };
        self.tokens.next().ok_or_else(ended)
    }
}

/// One part alone, or several together.
fn several(mut parts: Vec<Expression>, together: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            together(parts)
        }
        None => together(parts),
    }
}

/// The names of all metrics of which conditions can be made.
fn names() -> impl Iterator<Item = &'static str> {
    Metric::of_scores().map(|metric| metric.name)
}

fn metric(name: &str, position: usize) -> Result<Metric, Mistake> {
    Metric::of_scores().find(|metric| metric.name == name).ok_or_else(|| {
        let hint = closest(name, names().chain(WORDS));
        let hint = hint.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Mistake { position, message: format!("`{name}` is no metric; {hint}{}", known()) }
    })
}

/// Lists the words that a condition may use.
fn known() -> String {
    let names: Vec<_> = names().collect();
    format!("there are {}, and `regressed`, `drop in` and `rise in`", names.join(", "))
}

fn shown(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Number(number, is_percent) => format!("`{}`", Amount { number: *number, is_percent: *is_percent }),
        Token::Operator(operator) => format!("`{}`", operator.sign()),
        Token::Open => "`(`".to_owned(),
        Token::Close => "`)`".to_owned(),
        Token::And => "`and`".to_owned(),
        Token::Or => "`or`".to_owned(),
        Token::Not => "`not`".to_owned(),
    }
}
