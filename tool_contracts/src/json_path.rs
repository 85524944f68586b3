//! Paths into JSON: `$`, then `.name`, `['name']`, `[3]` and `[*]`. No filters, no slices, no `..`.

use std::fmt;

use serde_json::Value as Json;

/// A path into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
    All,
}

/// A text that is not a path of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a path: {problem}")]
pub struct InvalidPath {
    /// The text.
    pub text: String,
    /// The problem with it.
    pub problem: &'static str,
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// When the text uses more than names, indexes and `[*]`.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        let problem = |problem| InvalidPath { text: text.to_owned(), problem };
        let mut rest = text.strip_prefix('$').ok_or_else(|| problem("it begins with `$`"))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = next_step(rest).map_err(problem)?;
            steps.push(step);
            rest = after;
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The path of a member of the root.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let steps = vec![Step::Name(name.to_owned())];
        let plain = Self::parse(&format!("$.{name}")).ok().filter(|path| path.steps == steps);
        let quoted = || format!("$['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"));
        Self { text: plain.map_or_else(quoted, |path| path.text), steps }
    }

    /// The path as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The member of the root that the path goes through; `None` when it does not begin with a name.
    #[must_use]
    pub fn first_name(&self) -> Option<&str> {
        match self.steps.first() {
            Some(Step::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// True when the path leads to one value at most.
    #[must_use]
    pub fn is_single(&self) -> bool {
        !self.steps.contains(&Step::All)
    }

    /// True when both lead to the same place, however they were written.
    #[must_use]
    pub fn leads_where(&self, other: &Self) -> bool {
        self.steps == other.steps
    }

    /// The values at the path, in their order; none when it leads nowhere.
    #[must_use]
    pub fn nodes<'a>(&self, root: &'a Json) -> Vec<&'a Json> {
        let mut nodes = vec![root];
        for step in &self.steps {
            nodes = nodes.into_iter().flat_map(|node| step.nodes(node)).collect();
        }
        nodes
    }

    /// The one value at the path, or the first of several.
    #[must_use]
    pub fn first<'a>(&self, root: &'a Json) -> Option<&'a Json> {
        if !self.is_single() {
            return self.nodes(root).into_iter().next();
        }
        self.steps.iter().try_fold(root, |node, step| match step {
            Step::Name(name) => node.get(name.as_str()),
            Step::Index(index) => node.get(*index),
            Step::All => None,
        })
    }
}

impl Step {
    fn nodes<'a>(&self, node: &'a Json) -> Vec<&'a Json> {
        match (self, node) {
            (Self::Name(name), Json::Object(map)) => map.get(name).into_iter().collect(),
            (Self::Index(index), Json::Array(items)) => items.get(*index).into_iter().collect(),
            (Self::All, Json::Array(items)) => items.iter().collect(),
            (Self::All, Json::Object(map)) => map.values().collect(),
            _ => Vec::new(),
        }
    }
}

fn next_step(text: &str) -> Result<(Step, &str), &'static str> {
    if let Some(rest) = text.strip_prefix('.') {
        return name_step(rest);
    }
    let inside = text.strip_prefix('[').ok_or("`.` or `[` is expected after each part")?;
    if let Some(rest) = inside.strip_prefix("*]") {
        return Ok((Step::All, rest));
    }
    match inside.chars().next() {
        Some(quote @ ('\'' | '"')) => quoted_step(&inside[1..], quote),
        _ => index_step(inside),
    }
}

fn name_step(text: &str) -> Result<(Step, &str), &'static str> {
    let is_first = |sign: char| sign.is_ascii_alphabetic() || sign == '_' || !sign.is_ascii();
    if !text.starts_with(is_first) {
        return Err("a name is expected after `.`");
    }
    let end = text.find(|sign: char| !(is_first(sign) || sign.is_ascii_digit())).unwrap_or(text.len());
    Ok((Step::Name(text[..end].to_owned()), &text[end..]))
}

fn quoted_step(text: &str, quote: char) -> Result<(Step, &str), &'static str> {
    let mut name = String::new();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' => name.push(signs.next().ok_or("a quoted name is not closed")?.1),
            _ if sign == quote => {
                let rest = text[at + 1..].strip_prefix(']').ok_or("a bracket is not closed")?;
                return Ok((Step::Name(name), rest));
            }
            _ => name.push(sign),
        }
    }
    Err("a quoted name is not closed")
}

fn index_step(text: &str) -> Result<(Step, &str), &'static str> {
    let (digits, rest) = text.split_once(']').ok_or("a bracket is not closed")?;
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let index = digits.parse().ok().filter(|_| is_plain);
    Ok((Step::Index(index.ok_or("an index, a quoted name or `*` is expected in brackets")?), rest))
}

impl fmt::Display for JsonPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::JsonPath;

    fn found(path: &str) -> Vec<serde_json::Value> {
        let root = json!({"a": {"b c": [1, {"x": 2}, null]}, "m": {"p": 3, "q": 4}});
        JsonPath::parse(path).expect("a path").nodes(&root).into_iter().cloned().collect()
    }

    #[test]
    fn paths_lead_to_values() {
        assert_eq!(found("$.a['b c'][1].x"), [json!(2)]);
        assert_eq!(found("$.a[\"b c\"][*]"), [json!(1), json!({"x": 2}), json!(null)]);
        assert_eq!(found("$.m[*]"), [json!(3), json!(4)]);
        assert_eq!(found("$.m[0]"), [] as [serde_json::Value; 0]);
        assert_eq!(found("$").len(), 1);
    }

    #[test]
    fn names_become_paths_that_lead_to_them() {
        for (name, text) in
            [("body", "$.body"), ("b c", "$['b c']"), ("it's", "$['it\\'s']"), ("a.b", "$['a.b']"), ("", "$['']")]
        {
            let path = JsonPath::of_name(name);
            assert_eq!(path.text(), text);
            assert_eq!(JsonPath::parse(text).as_ref(), Ok(&path));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in
            ["x.y", "", "$x", "$.", "$..a", "$.a[", "$[1:2]", "$[?(@.a)]", "$['a", "$[-1]", "$[01]", "$.a-b", "$.*"]
        {
            assert!(JsonPath::parse(text).is_err(), "{text}");
        }
    }
}
