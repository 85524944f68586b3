//! Answers of services that are wrong in a certain way.

use serde_json::{Value as Json, json};

use super::trigger::draw;
use crate::json_path::{find_mut, remove, set};
use crate::plan::Seed;
use crate::spec::sections::WrongData;
use crate::spec::types::JsonPath;

/// An answer with wrong values; `None` when nothing changed, because it has none of the places.
#[must_use]
pub fn damaged(answer: &Json, fault: &WrongData) -> Option<Json> {
    let mut wrong = answer.clone();
    for (path, value) in fault.set.iter() {
        set(&mut wrong, path, value.clone());
    }
    if let Some([one, other]) = fault.swap.as_deref() {
        let values = (find_mut(&mut wrong, one).cloned(), find_mut(&mut wrong, other).cloned());
        if let (Some(first), Some(second)) = values {
            set(&mut wrong, one, second);
            set(&mut wrong, other, first);
        }
    }
    if let Some(place) = fault.zero.as_ref().and_then(|path| find_mut(&mut wrong, path)) {
        *place = match place {
            Json::Number(_) => json!(0),
            Json::String(_) => json!(""),
            Json::Bool(_) => json!(false),
            Json::Array(_) => json!([]),
            Json::Object(_) => json!({}),
            Json::Null => Json::Null,
        };
    }
    (wrong != *answer).then_some(wrong)
}

/// An answer without some of its fields; `None` when nothing is missing.
#[must_use]
pub fn dropped(
    answer: &Json,
    paths: &[JsonPath],
    share: Option<f64>,
    seed: Seed,
    rule: &str,
    call: u64,
) -> Option<Json> {
    let mut rest = answer.clone();
    for path in paths {
        remove(&mut rest, path);
    }
    if let (true, Json::Object(object)) = (paths.is_empty(), &mut rest) {
        let share = share.unwrap_or(0.5);
        object.retain(|key, _| draw(seed, rule, key, call) >= share);
    }
    (rest != *answer).then_some(rest)
}

/// An answer whose values have other types; `None` when nothing changed.
#[must_use]
pub fn violated(answer: &Json, paths: &[JsonPath]) -> Option<Json> {
    let mut wrong = answer.clone();
    if paths.is_empty() {
        match &mut wrong {
            Json::Object(object) => object.values_mut().for_each(change_type),
            other => change_type(other),
        }
    }
    for path in paths {
        if let Some(place) = find_mut(&mut wrong, path) {
            change_type(place);
        }
    }
    (wrong != *answer).then_some(wrong)
}

fn change_type(value: &mut Json) {
    *value = match std::mem::take(value) {
        Json::Null => json!("null"),
        Json::Bool(flag) => json!(flag.to_string()),
        Json::Number(number) => json!(number.to_string()),
        Json::String(text) => json!(text.len()),
        Json::Array(list) => json!({ "items": list }),
        Json::Object(object) => json!([object]),
    };
}

/// Returns a body, padded with blanks to this number of bytes.
#[must_use]
pub fn resized(body: &[u8], bytes: usize) -> Vec<u8> {
    let mut large = body.to_vec();
    large.resize(bytes.max(body.len()), b' ');
    large
}

/// Gibberish in place of a text: the same for the same call.
#[must_use]
pub fn gibberish(seed: Seed, rule: &str, call: u64) -> String {
    const SYLLABLES: [&str; 12] =
        ["zx", "qv", "\u{fffd}", "}{", "%%", "gl", "\u{7}", "ork", "##", "\u{200b}", "0x", "]["];
    let pick = |index: u64| {
        let drawn = seed.derive(&["chaos", rule, "gibberish", &call.to_string(), &index.to_string()]).get();
        SYLLABLES[usize::try_from(drawn % 12).unwrap_or(0)]
    };
    (0..24).map(pick).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{damaged, dropped, gibberish, resized, violated};
    use crate::checks::testing::read;
    use crate::plan::Seed;
    use crate::spec::types::JsonPath;

    fn wrong(keys: &str) -> Option<Json> {
        damaged(&json!({"total": 40, "paid": 10, "note": "x", "items": [1]}), &read(&format!("{{{keys}}}")))
    }

    fn paths(texts: &[&str]) -> Vec<JsonPath> {
        texts.iter().map(|text| JsonPath::new(text).expect("a path")).collect()
    }

    #[test]
    fn values_are_set_swapped_and_zeroed() {
        assert_eq!(wrong("set: {total: 4}").expect("a change")["total"], 4);
        let swapped = wrong("swap: [total, paid]").expect("a change");
        assert_eq!((&swapped["total"], &swapped["paid"]), (&json!(10), &json!(40)));
        assert_eq!(wrong("zero: total").expect("a change")["total"], 0);
        assert_eq!(wrong("zero: items").expect("a change")["items"], json!([]));
        assert_eq!(wrong("zero: missing"), None, "what changes nothing is no fault");
        assert_eq!(wrong("set: {total: 40}"), None);
    }

    #[test]
    fn fields_are_dropped_by_place_or_by_share() {
        let answer = json!({"a": 1, "b": {"c": 2, "d": 3}});
        let drop = |paths: &[JsonPath], share| dropped(&answer, paths, share, Seed::new(1), "r", 1);
        assert_eq!(drop(&paths(&["b.c"]), None), Some(json!({"a": 1, "b": {"d": 3}})));
        assert_eq!(drop(&paths(&["x"]), None), None);
        assert_eq!(drop(&[], Some(1.0)), Some(json!({})));
        assert_eq!(drop(&[], Some(0.0)), None);
    }

    #[test]
    fn types_change_and_bodies_grow() {
        let answer = json!({"a": 1, "b": "two", "c": [3]});
        assert_eq!(violated(&answer, &[]), Some(json!({"a": "1", "b": 3, "c": {"items": [3]}})));
        assert_eq!(violated(&answer, &paths(&["a"])), Some(json!({"a": "1", "b": "two", "c": [3]})));
        assert_eq!(resized(b"ab", 5), b"ab   ");
        assert_eq!(resized(b"ab", 1), b"ab");
    }

    #[test]
    fn gibberish_is_the_same_for_the_same_call() {
        let text = |call| gibberish(Seed::new(1), "r", call);
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }
}
