//! Tests of templates.

use http::Request;
use indexmap::IndexMap;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::request::{Received, head};
use super::template::{Constants, Names, Rendering, TooLarge};
use crate::body::IncomingBody;
use crate::memory_budget::Room;

/// Renders as an answer to `POST /orders/a%20b?unit=kg&unit=g` with a JSON body.
fn render<T>(most_bytes: usize, work: impl FnOnce(&mut Rendering<'_>) -> T) -> T {
    let request = Request::post("/orders/a%20b?unit=kg&unit=g").header("X-Id", "h1").body(()).expect("a request");
    let head = head(&request.into_parts().0);
    let mut body = IncomingBody::new(1000, &Room::new(1000));
    assert!(body.push(br#"{"n": 7, "name": "Ann \"A\"", "items": [{"id": 1}, {"id": 2}], "t": "{{ seed }}"}"#));
    let constants = Constants {
        seed: 42,
        replica: 3,
        parameters: IndexMap::from([("cell".to_owned(), json!("c")), ("size".to_owned(), json!(2))]),
    };
    let params = vec![("id".to_owned(), "a%20b".to_owned())];
    let request = Received::new(&head, &body);
    let names = Names { request: &request, params: &params, constants: &constants };
    work(&mut Rendering::new(&names, most_bytes))
}

fn check(source: &str, expected: &str) {
    assert_eq!(render(10_000, |rendering| rendering.text(source)).as_deref(), Ok(expected), "{source}");
}

fn check_json(source: Json, expected: Json) {
    assert_eq!(render(10_000, |rendering| rendering.json(&source)), Ok(expected), "{source}");
}

#[test]
fn every_name_of_the_reference_has_a_value() {
    check("{{ request.method }} {{request.path}}", "POST /orders/a%20b");
    check("{{ request.params.id }}", "a b");
    check("{{ request.query.unit }}", "kg");
    check("{{ request.headers.x-id }} {{ request.headers.X-ID }}", "h1 h1");
    check("{{ request.json.n }} {{ request.json.items[1].id }} {{ request.json.items[-2].id }}", "7 2 1");
    check("{{ request.json.items }}", r#"[{"id":1},{"id":2}]"#);
    check("{{ seed }} {{ replica }} {{ params.cell }} {{ params.size }}", "42 3 c 2");
    check("{{ request.query }} {{ request.headers }}", r#"{"unit":"kg"} {"x-id":"h1"}"#);
    render(10_000, |rendering| {
        assert!(rendering.text("{{ request.body }}").is_ok_and(|body| body.starts_with(r#"{"n": 7, "#)));
    });
}

#[test]
fn names_without_a_value_stay_as_they_are() {
    for source in [
        "{{ request.json.missing }} {{ request.json.items[9] }} {{ request.json.items[-9] }} {{ request.json.n.x }}",
        "{{ request.query.other }} {{ request.headers.other }} {{ request.params.other }} {{ params.other }}",
        "{{ request.method.x }} {{ request.path[0] }} {{ request. }} {{ request }} {{ seed.x }} {{ secrets.X }}",
        "{{ user.name }} {{ }} {{ {% if %} }} {{",
    ] {
        check(source, source);
    }
    check("\\{{ seed }} {{{{ seed }}", "{{ seed }} {{42");
}

#[test]
fn what_a_name_became_is_not_looked_at_again() {
    check("{{ request.json.t }}", "{{ seed }}");
}

#[test]
fn a_lone_name_in_json_keeps_its_type_and_keys_stay() {
    check_json(
        json!({"n": "{{ request.json.n }}", "s": "n={{ request.json.n }}", "{{ seed }}": ["{{ seed }}", 1, null]}),
        json!({"n": 7, "s": "n=7", "{{ seed }}": [42, 1, null]}),
    );
    check_json(
        json!({"id": "{{ request.params.id }}", "name": "{{ request.json.name }}"}),
        json!({"id": "a b", "name": "Ann \"A\""}),
    );
}

#[test]
fn an_answer_does_not_grow_without_end() {
    let source = "{{ request.body }}".repeat(20);
    assert_eq!(render(1000, |rendering| rendering.text(&source)), Err(TooLarge));
    let source = json!(vec!["{{ request.json }}"; 20]);
    assert_eq!(render(1000, |rendering| rendering.json(&source)), Err(TooLarge));
}

proptest! {
    #[test]
    fn no_text_panics_and_text_without_braces_stays(source in "(\\PC|\\{\\{|\\}\\}|request\\.json|\\[|\\]|é){0,40}") {
        let rendered = render(10_000, |rendering| rendering.text(&source));
        if !source.contains("{{") {
            prop_assert_eq!(rendered, Ok(source));
        }
    }
}
