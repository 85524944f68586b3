//! Comparison of two JSON values.

use serde_json::Value as Json;

use crate::untrusted;

/// Maximum number of differences that are counted.
const COUNTED: usize = 100;
/// Maximum length of a value that is shown.
const SHOWN: usize = 80;

/// The differences between two JSON values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Path of the first difference, such as `$.messages[2].content`.
    pub path: String,
    /// The value there in the first document, shortened.
    pub expected: String,
    /// The value there in the second document, shortened.
    pub found: String,
    /// Number of differences, up to a hundred.
    pub count: usize,
}

/// Compares two JSON values; `None` when they are equal. The order of keys does not matter.
#[must_use]
pub fn difference(expected: &Json, found: &Json) -> Option<Difference> {
    let mut search = Search { path: Vec::new(), first: None, count: 0 };
    search.compare(Some(expected), Some(found));
    let count = search.count;
    search.first.map(|first| Difference { count, ..first })
}

struct Search {
    path: Vec<String>,
    first: Option<Difference>,
    count: usize,
}

impl Search {
    fn compare(&mut self, expected: Option<&Json>, found: Option<&Json>) {
        if self.count >= COUNTED {
            return;
        }
        match (expected, found) {
            (Some(Json::Object(expected)), Some(Json::Object(found))) => {
                for (key, value) in expected {
                    self.within(format!(".{key}"), Some(value), found.get(key));
                }
                for (key, value) in found.iter().filter(|(key, _)| !expected.contains_key(*key)) {
                    self.within(format!(".{key}"), None, Some(value));
                }
            }
            (Some(Json::Array(expected)), Some(Json::Array(found))) => {
                for index in 0..expected.len().max(found.len()) {
                    self.within(format!("[{index}]"), expected.get(index), found.get(index));
                }
            }
            (expected, found) if expected == found => {}
            (expected, found) => self.note(expected, found),
        }
    }

    fn within(&mut self, segment: String, expected: Option<&Json>, found: Option<&Json>) {
        if self.count < COUNTED {
            self.path.push(segment);
            self.compare(expected, found);
            self.path.pop();
        }
    }

    fn note(&mut self, expected: Option<&Json>, found: Option<&Json>) {
        self.count += 1;
        let path = &self.path;
        self.first.get_or_insert_with(|| Difference {
            path: untrusted::line(&format!("${}", path.concat()), 2 * SHOWN),
            expected: shown(expected),
            found: shown(found),
            count: 0,
        });
    }
}

fn shown(value: Option<&Json>) -> String {
    match value {
        None => "nothing".to_owned(),
        // A long text is cut before it is written as JSON, so that a large one costs no more than a small one.
        Some(Json::String(text)) if text.len() > 4 * SHOWN => {
            untrusted::line(&Json::from(&text[..text.floor_char_boundary(4 * SHOWN)]).to_string(), SHOWN)
        }
        Some(Json::Array(items)) if items.len() > SHOWN => format!("a list of {}", items.len()),
        Some(Json::Object(entries)) if entries.len() > SHOWN => format!("a map of {}", entries.len()),
        Some(value) => untrusted::line(&value.to_string(), SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::difference;

    fn check(expected: Json, found: Json, path: &str, shown: (&str, &str), count: usize) {
        let difference = difference(&expected, &found).expect("a difference");
        assert_eq!(difference.path, path);
        assert_eq!((difference.expected.as_str(), difference.found.as_str()), shown);
        assert_eq!(difference.count, count);
    }

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(difference(&json!({"a": 1, "b": [2]}), &json!({"b": [2], "a": 1})), None);
        check(json!({"a": [1, {"b": "x"}]}), json!({"a": [1, {"b": "y"}]}), "$.a[1].b", ("\"x\"", "\"y\""), 1);
        check(json!({"a": 1}), json!({"c": 1}), "$.a", ("1", "nothing"), 2);
        check(json!([1]), json!([1, 2, 3]), "$[1]", ("nothing", "2"), 2);
        check(json!(1), json!("1"), "$", ("1", "\"1\""), 1);
    }

    #[test]
    fn many_and_long_differences_are_bounded() {
        let long =
            difference(&vec!["x".repeat(9999); 500].into(), &vec!["y".repeat(9999); 500].into()).expect("a difference");
        assert!(long.expected.len() < 100 && long.count == 100, "{long:?}");
    }
}
