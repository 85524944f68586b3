//! The place of a value in a document: `invariants.email_sent.check.assertions[1].field`.

use std::fmt;

/// A way from the root of a document to one of its values.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct Path(Vec<Segment>);

/// A step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// Into a map.
    Key(String),
    /// Into a list.
    Index(usize),
}

impl Path {
    /// The steps, from the root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns this path with one more key.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        let mut longer = self.clone();
        longer.push(Segment::Key(key.into()));
        longer
    }

    /// Returns this path with one more index.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut longer = self.clone();
        longer.push(Segment::Index(index));
        longer
    }

    /// The first key, which names the section.
    #[must_use]
    pub fn section(&self) -> Option<&str> {
        match self.0.first() {
            Some(Segment::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// Appends a segment.
    pub fn push(&mut self, segment: Segment) {
        self.0.push(segment);
    }

    /// Takes the last step back.
    pub fn pop(&mut self) {
        self.0.pop();
    }
}

impl<const N: usize> From<[&str; N]> for Path {
    fn from(keys: [&str; N]) -> Self {
        Self(keys.into_iter().map(|key| Segment::Key(key.to_owned())).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Key(key) if is_plain(key) && depth == 0 => formatter.write_str(key)?,
                Segment::Key(key) if is_plain(key) => write!(formatter, ".{key}")?,
                Segment::Key(key) => write!(formatter, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_path_reads_like_an_expression() {
        let path = Path::from(["invariants", "email_sent", "check", "assertions"]).index(1).key("field");
        assert_eq!(path.to_string(), "invariants.email_sent.check.assertions[1].field");
        assert_eq!(Path::from(["setup", "env"]).key("a key").to_string(), "setup.env[\"a key\"]");
    }
}
