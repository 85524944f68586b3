//! Places in JSON documents, such as `order.items[0].price`.

use serde_json::Value as Json;

/// One step on the way to a place.
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    let pieces = path.split(['.', '[']).map(|piece| piece.trim_end_matches(']')).filter(|piece| !piece.is_empty());
    let starts = path.match_indices(['.', '[']).map(|(at, _)| path.as_bytes()[at] == b'[');
    let first_is_index = path.starts_with('[');
    let kinds = std::iter::once(false).filter(move |_| !first_is_index).chain(starts);
    pieces.zip(kinds).map(|(piece, is_index)| match piece.parse() {
        Ok(index) if is_index => Step::Index(index),
        _ => Step::Key(piece),
    })
}

/// The value at a place.
pub(crate) fn find<'a>(document: &'a Json, path: &str) -> Option<&'a Json> {
    steps(path).try_fold(document, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// The value at a place, to change it.
pub(crate) fn find_mut<'a>(document: &'a mut Json, path: &str) -> Option<&'a mut Json> {
    steps(path).try_fold(document, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

/// Sets the value at a path. An object gets the key when it does not have it; all steps before it must exist.
pub(crate) fn set(document: &mut Json, path: &str, value: Json) -> bool {
    if let Some(place) = find_mut(document, path) {
        let changed = *place != value;
        *place = value;
        return changed;
    }
    let (parent, key) = path.rsplit_once('.').map_or(("", path), |(parent, key)| (parent, key));
    let parent = if parent.is_empty() { Some(document) } else { find_mut(document, parent) };
    match parent {
        Some(Json::Object(object)) if !key.contains('[') => object.insert(key.to_owned(), value).is_none(),
        _ => false,
    }
}

/// Removes the value at a path from its object or list.
pub(crate) fn remove(document: &mut Json, path: &str) -> bool {
    let all: Vec<_> = steps(path).collect();
    let Some((last, before)) = all.split_last() else { return false };
    let parent = before.iter().try_fold(document, |value, step| match step {
        Step::Key(key) => value.get_mut(*key),
        Step::Index(index) => value.get_mut(*index),
    });
    match (parent, last) {
        (Some(Json::Object(object)), Step::Key(key)) => object.shift_remove(*key).is_some(),
        (Some(Json::Array(list)), Step::Index(index)) if *index < list.len() => {
            list.remove(*index);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{find, find_mut, remove, set};

    fn document() -> Json {
        json!({"order": {"items": [{"price": 3}, {"price": 4}], "2": "two"}})
    }

    #[test]
    fn places_are_found_set_and_removed() {
        let mut one = document();
        assert_eq!(find_mut(&mut one, "order.items[1].price"), Some(&mut json!(4)));
        assert_eq!(find(&one, "order.items[1].price"), Some(&json!(4)));
        assert_eq!(find(&one, "order.items.price"), None);
        assert_eq!(find_mut(&mut one, "order.2"), Some(&mut json!("two")));
        assert_eq!(find_mut(&mut one, "order.items[9]"), None);
        assert!(set(&mut one, "order.items[0].price", json!(0)) && set(&mut one, "order.new", json!(1)));
        assert!(!set(&mut one, "missing.new", json!(1)));
        assert!(remove(&mut one, "order.items[0]") && remove(&mut one, "order.2") && !remove(&mut one, "order.2"));
        assert_eq!(one, json!({"order": {"items": [{"price": 4}], "new": 1}}));
        let mut list = json!([1, [2, 3]]);
        assert!(set(&mut list, "[1][0]", json!(5)));
        assert_eq!(list, json!([1, [5, 3]]));
    }
}
