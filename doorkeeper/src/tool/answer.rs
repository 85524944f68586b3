//! The message that an answer of MCP carries: as JSON, or among the events of a stream.

use serde_json::Value as Json;

use super::http::Answer;

/// The message that answers the request with this id; `None` when there is none.
pub(super) fn message(answer: &Answer, id: u64) -> Option<Json> {
    let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
    if kind.starts_with("text/event-stream") {
        let text = String::from_utf8_lossy(&answer.body);
        return events(&text)
            .iter()
            .filter_map(|event| serde_json::from_str(event).ok())
            .find_map(|json| answering(json, id));
    }
    answering(serde_json::from_slice(&answer.body).ok()?, id)
}

/// A message, or one of a list, when it answers the request with this id.
fn answering(message: Json, id: u64) -> Option<Json> {
    if let Json::Array(messages) = message {
        return messages.into_iter().find_map(|message| answering(message, id));
    }
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    (is_answer && message.get("id") == Some(&id.into())).then_some(message)
}

/// The data of the events of a stream.
fn events(text: &str) -> Vec<String> {
    let mut events = vec![String::new()];
    // A stream may begin with a mark of its byte order.
    for line in text.trim_start_matches('\u{feff}').split('\n').flat_map(|line| line.trim_end_matches('\r').split('\r'))
    {
        if line.is_empty() {
            events.push(String::new());
        } else if let (Some(data), Some(event)) = (line.strip_prefix("data:"), events.last_mut()) {
            if !event.is_empty() {
                event.push('\n');
            }
            event.push_str(data.strip_prefix(' ').unwrap_or(data));
        }
    }
    events.retain(|event| !event.is_empty());
    events
}

#[cfg(test)]
mod tests {
    use super::events;

    #[test]
    fn events_are_told_apart_by_empty_lines() {
        let text = "\u{feff}: hello\r\nevent: message\r\nid: 1\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: b\n\nretry: 5\n\ndata: c";
        assert_eq!(events(text), ["{\"a\":\n1}", "b", "c"]);
        assert_eq!(events(""), [""; 0]);
    }
}
