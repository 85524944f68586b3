//! JSON with a largest number of values: a small body must not become a large tree.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

/// Reason why a body is not read.
#[derive(Debug)]
pub enum Unreadable {
    /// The body is no JSON.
    NoJson(serde_json::Error),
    /// The body has more values than are read.
    TooMany,
}

/// Reads JSON with at most this many values. An empty body is `null`, as Keystone's clients send none when they have
/// nothing to say.
pub fn parse(bytes: &[u8], most: usize) -> Result<Json, Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Json::Null);
    }
    let mut left = most;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Tree { left: &mut left }.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| match left {
        0 => Unreadable::TooMany,
        _ => Unreadable::NoJson(error),
    })
}

/// A value, and how many more there may be.
struct Tree<'l> {
    left: &'l mut usize,
}

impl Tree<'_> {
    fn next(&mut self) -> Tree<'_> {
        Tree { left: self.left }
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        *self.left = self.left.saturating_sub(1);
        if *self.left == 0 {
            return Err(D::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.next())? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Json, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            map.insert(key, entries.next_value_seed(self.next())?);
        }
        Ok(Json::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{Unreadable, parse};

    #[test]
    fn json_is_read_as_it_is() {
        let value = json!({"a": [1, -2, 2.5, true, null, "x\n"], "b": {"c": {}}, "big": u64::MAX});
        assert_eq!(parse(value.to_string().as_bytes(), 100).expect("JSON"), value);
        assert_eq!(parse(b" ", 100).expect("nothing"), json!(null));
    }

    #[test]
    fn the_number_of_values_has_a_limit() {
        assert!(parse(b"[1,2,3]", 5).is_ok());
        assert!(matches!(parse(b"[1,2,3]", 4), Err(Unreadable::TooMany)));
        let wide = format!("[{}]", vec!["{}"; 1_000_000].join(","));
        assert!(matches!(parse(wide.as_bytes(), 50_000), Err(Unreadable::TooMany)));
    }

    #[test]
    fn what_is_no_json_is_told_apart() {
        for text in ["{", "[1,]", "nope", "{} {}", "\u{0}"] {
            assert!(matches!(parse(text.as_bytes(), 100), Err(Unreadable::NoJson(_))), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(parse(deep.as_bytes(), 50_000), Err(Unreadable::NoJson(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes, 10);
        }
    }
}
