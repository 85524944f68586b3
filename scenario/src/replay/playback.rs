//! A session while it is replayed: which recorded answer a call of the agent gets.

use serde_json::Value as Json;

use super::answer::ToolResponse;
use super::session::Session;
use crate::evidence::Played;
use crate::spec::sections::ReplayMatching;

/// Maximum number of calls of one kind that are listed.
const MOST_TOLD: usize = 50;

/// The recorded answers of one service, and which of them were given.
#[derive(Debug, Clone)]
pub struct Playback {
    service: String,
    matching: ReplayMatching,
    answers: Vec<ToolResponse>,
    given: Vec<bool>,
    differing: Vec<String>,
    unexpected: Vec<String>,
}

/// A call of the agent, without secrets.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The method.
    pub method: &'a str,
    /// The path.
    pub path: &'a str,
    /// The query.
    pub query: &'a [(String, String)],
    /// The body; `None` when it is too large to compare.
    pub body: Option<&'a str>,
}

impl Playback {
    /// The answers of one service.
    #[must_use]
    pub fn new(session: &Session, service: &str, matching: ReplayMatching) -> Self {
        let answers: Vec<_> = session.tool_responses.iter().filter(|answer| answer.tool == service).cloned().collect();
        let given = vec![false; answers.len()];
        Self { service: service.to_owned(), matching, answers, given, differing: Vec::new(), unexpected: Vec::new() }
    }

    /// True when a call that the session does not have is refused.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.matching == ReplayMatching::Strict
    }

    /// The recorded answer to a call; `None` when there is none left.
    pub fn answer(&mut self, call: Call<'_>) -> Option<&ToolResponse> {
        let left = || self.answers.iter().enumerate().filter(|(index, _)| !self.given[*index]);
        let same = left().find(|(_, answer)| is_same_place(answer, call) && is_same_content(answer, call));
        let found = match (same, self.matching) {
            (Some((index, _)), _) => Some((index, false)),
            (None, ReplayMatching::Strict) => None,
            (None, ReplayMatching::Fifo) => {
                left().find(|(_, answer)| is_same_place(answer, call)).map(|(index, _)| (index, true))
            }
        };
        let shown = || format!("{} {} {}", self.service, call.method, call.path);
        let Some((index, differs)) = found else {
            let shown = shown();
            self.unexpected.push(shown);
            return None;
        };
        if differs {
            let shown = shown();
            self.differing.push(shown);
        }
        self.given[index] = true;
        self.answers.get(index)
    }

    /// Adds the calls of this service.
    pub fn add_to(&self, played: &mut Played) {
        played.is_strict = self.is_strict();
        played.answered += self.given.iter().filter(|given| **given).count() as u64;
        let left = self.answers.iter().zip(&self.given).filter(|(_, given)| !**given);
        tell(&mut played.differing, self.differing.iter().cloned());
        tell(&mut played.unexpected, self.unexpected.iter().cloned());
        tell(&mut played.unconsumed, left.map(|(answer, _)| answer.call()));
    }
}

/// Lists calls up to the maximum, and then the number of further ones.
fn tell(told: &mut Vec<String>, calls: impl Iterator<Item = String>) {
    let mut more = 0;
    for call in calls {
        if told.len() < MOST_TOLD { told.push(call) } else { more += 1 }
    }
    if more > 0 {
        told.push(format!("and {more} more"));
    }
}

fn is_same_place(answer: &ToolResponse, call: Call<'_>) -> bool {
    answer.method.as_deref().is_none_or(|method| method.eq_ignore_ascii_case(call.method))
        && answer.path.as_deref().is_none_or(|path| path == call.path)
}

/// Returns true if a call has the query and the body of a recorded one. One that was written without a path says
/// nothing about them.
fn is_same_content(answer: &ToolResponse, call: Call<'_>) -> bool {
    let Some(body) = call.body else { return false };
    let is_any = answer.path.is_none() && answer.query.is_empty() && answer.request.is_none();
    let is_same_body = match &answer.request {
        None => body.is_empty(),
        Some(Json::String(text)) => text == body,
        Some(json) => serde_json::from_str::<Json>(body).is_ok_and(|sent| sent == *json),
    };
    is_any || (answer.query == call.query && is_same_body)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Call, Playback};
    use crate::evidence::Played;
    use crate::replay::Session;
    use crate::spec::sections::ReplayMatching;

    const SESSION: &str = "
version: 1
id: refund
input: x
tool_responses:
  - { tool: shop, method: GET, path: /orders/7, response: first }
  - { tool: mail, method: POST, path: /send, status: 0 }
  - { tool: shop, method: GET, path: /orders/7, response: second }
  - { tool: shop, method: POST, path: /refunds, request: { order: 7, amount: 5 }, status: 201 }
";

    fn playback(matching: ReplayMatching) -> Playback {
        Playback::new(&Session::parse(SESSION).expect("a session"), "shop", matching)
    }

    fn ask(playback: &mut Playback, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let call = Call { method, path, query: &[], body: Some(body) };
        playback.answer(call).map(|answer| (answer.status, String::from_utf8(answer.body()).expect("a text")))
    }

    fn played(playback: &Playback) -> Played {
        let mut played = Played { session: "refund".to_owned(), ..Played::default() };
        playback.add_to(&mut played);
        played
    }

    #[test]
    fn each_place_answers_in_its_own_order() {
        let mut playback = playback(ReplayMatching::Fifo);
        assert_eq!(ask(&mut playback, "POST", "/refunds", r#"{"amount": 5, "order": 7}"#), Some((201, String::new())));
        assert_eq!(ask(&mut playback, "GET", "/orders/7", ""), Some((200, "first".to_owned())));
        assert_eq!(ask(&mut playback, "GET", "/orders/7", ""), Some((200, "second".to_owned())));
        assert_eq!(ask(&mut playback, "GET", "/orders/7", ""), None);
        let played = played(&playback);
        assert_eq!((played.answered, played.unexpected.as_slice()), (3, &["shop GET /orders/7".to_owned()][..]));
        assert!(played.unconsumed.is_empty() && played.differing.is_empty());
    }

    #[test]
    fn other_arguments_are_told_and_refused_when_strict() {
        let body = r#"{"order": 7, "amount": 500}"#;
        let mut fifo = playback(ReplayMatching::Fifo);
        assert_eq!(ask(&mut fifo, "POST", "/refunds", body), Some((201, String::new())));
        assert_eq!(played(&fifo).differing, ["shop POST /refunds"]);
        let mut strict = playback(ReplayMatching::Strict);
        assert_eq!(ask(&mut strict, "POST", "/refunds", body), None);
        let played = played(&strict);
        assert_eq!(played.unexpected, ["shop POST /refunds"]);
        assert_eq!(played.unconsumed, ["shop GET /orders/7", "shop GET /orders/7", "shop POST /refunds"]);
        assert_eq!(played.differences().len(), 4);
    }

    proptest! {
        #[test]
        fn every_recorded_answer_is_given_at_most_once(order in prop::collection::vec(0..3_usize, 0..20)) {
            let mut playback = playback(ReplayMatching::Fifo);
            let calls = [("GET", "/orders/7"), ("POST", "/refunds"), ("GET", "/nothing")];
            let answered = order.iter().filter(|call| ask(&mut playback, calls[**call].0, calls[**call].1, "").is_some());
            let answered = answered.count();
            let played = played(&playback);
            prop_assert_eq!(played.answered, answered as u64);
            prop_assert_eq!(answered + played.unexpected.len(), order.len());
            prop_assert_eq!(answered + played.unconsumed.len(), 3);
        }
    }
}
