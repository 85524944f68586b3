//! Finds the route that takes a request.

use memchr::memmem;
use scenario::spec::sections::{BodyMatcher, Route};
use serde_json::Value as Json;

use super::request::Received;
use crate::json_match::includes;

/// The parameters in the path of a request, by name.
pub(super) type PathParams = Vec<(String, String)>;

/// The first route that takes the request, and the parameters in its path.
pub(super) fn find<'r>(
    routes: impl IntoIterator<Item = &'r Route>,
    request: &Received<'_>,
) -> Option<(usize, PathParams)> {
    routes.into_iter().enumerate().find_map(|(index, route)| Some((index, takes(route, request)?)))
}

/// The parameters in the path, when the route takes the request.
fn takes(route: &Route, request: &Received<'_>) -> Option<PathParams> {
    let method = route.method.as_ref().is_none_or(|method| method.as_str() == request.head.method);
    let params = if method { route.path.matches(&request.head.path)? } else { return None };
    let query = route
        .query
        .iter()
        .all(|(name, wanted)| request.head.query.iter().any(|(key, value)| *key == **name && is_wanted(wanted, value)));
    let headers = || {
        route.headers.iter().all(|(name, wanted)| {
            request.head.headers.iter().any(|(key, value)| key.eq_ignore_ascii_case(name) && is_wanted(wanted, value))
        })
    };
    let body = || route.body.as_ref().is_none_or(|body| has(body, request));
    (query && headers() && body()).then_some(params)
}

/// Returns true if a value is the wanted one: `true` wants any, a number its text. Nothing else can be wanted, which
/// the validator makes sure of.
fn is_wanted(wanted: &Json, value: &str) -> bool {
    match wanted {
        Json::Bool(true) => true,
        Json::String(text) => text == value,
        Json::Number(number) => number.to_string() == value,
        _ => false,
    }
}

/// Returns true if the body is as the matcher wants it. Of a body larger than the part that is kept, `contains` looks
/// at the beginning, and `json` does not hold.
fn has(matcher: &BodyMatcher, request: &Received<'_>) -> bool {
    let contains = |text: &String| memmem::find(request.body(), text.as_bytes()).is_some();
    let json = |wanted: &Json| request.json().is_some_and(|found| includes(found, wanted));
    matcher.contains.as_ref().is_none_or(contains) && matcher.json.as_ref().is_none_or(json)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::find;
    use crate::body::IncomingBody;
    use crate::http_mock::request::{Received, head};
    use crate::http_mock::testing::mock;
    use crate::memory_budget::Room;

    /// Returns the route that takes the request `POST /orders?size=2&tag=a&tag=b`, which has some headers.
    fn taken(routes: &str, body: &str) -> Option<usize> {
        let request = Request::post("/orders?size=2&tag=a&tag=b&empty=")
            .header("X-Api-Version", "2")
            .header("accept", "text/html")
            .header("accept", "text/plain");
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let mut incoming = IncomingBody::new(64, &Room::new(1000));
        assert!(incoming.push(body.as_bytes()));
        let head = head(&parts);
        find(&mock(&format!("routes: {routes}")).routes, &Received::new(&head, &incoming)).map(|(index, _)| index)
    }

    fn check(route: &str, body: &str, takes: bool) {
        assert_eq!(taken(&format!("[{route}]"), body).is_some(), takes, "{route} {body}");
    }

    #[test]
    fn the_first_route_that_takes_a_request_answers_it() {
        let routes =
            "[{path: /, method: POST}, {path: /orders, method: GET}, {path: '/{x}', method: POST}, {path: /orders}]";
        assert_eq!(taken(routes, ""), Some(2));
        assert_eq!(taken("[]", ""), None);
    }

    #[test]
    fn query_parameters_are_compared_decoded_and_any_of_a_name_counts() {
        check("{path: /orders, query: {size: 2}}", "", true);
        check("{path: /orders, query: {size: '2', tag: b}}", "", true);
        check("{path: /orders, query: {size: true, empty: true}}", "", true);
        check("{path: /orders, query: {size: 3}}", "", false);
        check("{path: /orders, query: {Size: 2}}", "", false);
        check("{path: /orders, query: {other: true}}", "", false);
    }

    #[test]
    fn names_of_headers_have_no_case_and_values_do() {
        check("{path: /orders, headers: {x-api-version: 2}}", "", true);
        check("{path: /orders, headers: {X-API-Version: '2', Accept: text/plain}}", "", true);
        check("{path: /orders, headers: {Accept: true}}", "", true);
        check("{path: /orders, headers: {Accept: TEXT/PLAIN}}", "", false);
        check("{path: /orders, headers: {Authorization: true}}", "", false);
    }

    #[test]
    fn a_body_contains_a_text_or_the_fields_of_json() {
        check("{path: /orders, body: {contains: needle}}", "hay needle hay", true);
        check("{path: /orders, body: {contains: needle}}", "hay", false);
        check("{path: /orders, body: {json: {a: 1}}}", r#" {"a": 1.0, "b": 2}"#, true);
        check("{path: /orders, body: {json: {a: 1}, contains: x}}", r#"{"a": 1}"#, false);
        check("{path: /orders, body: {json: {a: 1}}}", "a=1", false);
        check("{path: /orders, body: {json: {a: 1}}}", "", false);
    }

    #[test]
    fn a_body_that_was_cut_is_no_json_and_contains_its_beginning() {
        let body = format!("{{\"a\": 1, \"b\": \"{}\"}}", "x".repeat(100));
        check("{path: /orders, body: {json: {a: 1}}}", &body, false);
        check("{path: /orders, body: {contains: '\"a\": 1'}}", &body, true);
    }
}
