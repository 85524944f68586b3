//! Answers that a service gave before, for faults that give them again.

use std::collections::HashMap;

use super::answer::Answer;

/// The most requests, and the most routes, whose answers are remembered.
const MOST_REMEMBERED: usize = 1000;

/// A request, as the answers to it are remembered.
#[derive(Debug)]
pub(crate) struct RequestKey {
    /// Its method and path.
    path: String,
    /// Its path and query.
    whole: String,
    /// The route that takes it, if one does.
    route: Option<String>,
}

/// The answers of one service: the first to each method and path, and the last ones of each route.
#[derive(Debug, Default)]
pub(crate) struct AnswerMemory {
    first: HashMap<String, Answer>,
    last: HashMap<String, LastAnswers>,
}

/// The last successful answers of a route to two different requests.
#[derive(Debug)]
struct LastAnswers {
    newest: (String, Answer),
    other: Option<(String, Answer)>,
}

impl RequestKey {
    /// A request that a route with this number took.
    pub(super) fn of_route(method: &str, path: &str, query: &[(String, String)], route: Option<usize>) -> Self {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let (whole, route) = (format!("{path}?{query}"), route.map(|route| route.to_string()));
        Self { path: format!("{method} {path}"), whole, route }
    }

    /// A request of a service whose routes are not known: segments of the path that have a digit count as parameters.
    pub(crate) fn of_path(method: &str, path: &str, query: &str) -> Self {
        let parameter = |segment: &str| segment.contains(|character: char| character.is_ascii_digit());
        let steps: Vec<_> = path.split('/').map(|step| if parameter(step) { "{}" } else { step }).collect();
        let route = Some(format!("{method} {}", steps.join("/")));
        Self { path: format!("{method} {path}"), whole: format!("{path}?{query}"), route }
    }

    /// The same request of one of several services whose answers are remembered together.
    pub(crate) fn at(self, service: &str) -> Self {
        let Self { path, whole, route } = self;
        Self { path: format!("{service} {path}"), whole, route: route.map(|route| format!("{service} {route}")) }
    }
}

impl AnswerMemory {
    /// Remembers an answer as the first to its method and path, unless there was one before; gives that one.
    pub(super) fn first(&mut self, key: &RequestKey, answer: &Answer) -> Option<Answer> {
        if let Some(first) = self.first.get(&key.path) {
            return Some(first.clone());
        }
        if self.first.len() < MOST_REMEMBERED {
            self.first.insert(key.path.clone(), answer.clone());
        }
        None
    }

    /// The last answer of the same route to a request with another path or query.
    pub(super) fn other(&self, key: &RequestKey) -> Option<Answer> {
        let last = self.last.get(key.route.as_ref()?)?;
        let is_other = |(whole, _): &&(String, Answer)| *whole != key.whole;
        let found = std::iter::once(&last.newest).chain(&last.other).find(is_other);
        found.map(|(_, answer)| answer.clone())
    }

    /// Remembers a successful answer as the last of its route.
    pub(super) fn remember(&mut self, key: &RequestKey, answer: &Answer) {
        let Some(route) = key.route.as_ref().filter(|_| answer.status.is_success()) else { return };
        let newest = (key.whole.clone(), answer.clone());
        let has_room = self.last.len() < MOST_REMEMBERED;
        match self.last.get_mut(route) {
            Some(last) => {
                let before = std::mem::replace(&mut last.newest, newest);
                if before.0 != key.whole {
                    last.other = Some(before);
                }
            }
            None if has_room => {
                self.last.insert(route.clone(), LastAnswers { newest, other: None });
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::{AnswerMemory, RequestKey};

    #[test]
    fn the_last_answer_to_another_request_of_the_same_route_is_found() {
        let mut memory = AnswerMemory::default();
        let key = |path: &str| RequestKey::of_path("GET", path, "");
        let other = |memory: &AnswerMemory, path: &str| memory.other(&key(path)).map(|answer| answer.body);
        for (path, status) in [("/orders/1", 200), ("/orders/2", 200), ("/orders/2", 200), ("/orders/3", 404)] {
            let status = http::StatusCode::from_u16(status).expect("a status");
            memory.remember(&key(path), &Answer::text(status, path));
        }
        assert_eq!(other(&memory, "/orders/2").as_deref(), Some("/orders/1".as_bytes()));
        assert_eq!(other(&memory, "/orders/9").as_deref(), Some("/orders/2".as_bytes()), "404 is no entity");
        assert_eq!(other(&memory, "/orders"), None, "another route");
        assert_eq!(memory.other(&RequestKey::of_path("POST", "/orders/1", "")).map(|answer| answer.body), None);
    }
}
