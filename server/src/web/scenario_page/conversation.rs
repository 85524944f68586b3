//! Calls of the model as a conversation: of each call what is new in it, and the answer.

use std::cell::Cell;
use std::collections::BTreeMap;

use maud::{Markup, html};
use scenario::dialect::{Conversation, Message, Part};
use scenario::evidence::{Evidence, ModelCall};
use scenario::trace::{Moment, Source};
use scenario::untrusted;

use super::Shown;
use super::moment_html::{answered, fault};
use crate::web::json;
use crate::web::numbers::{bytes, count, count_noun, duration, money};
use crate::web::untrusted_html::{Marks, beginning};

/// The number of earlier calls that are searched for the same conversation: an agent may have several at once.
const LOOKED_BACK: usize = 8;
/// The most new messages of a call that are shown.
const NEW: usize = 40;
/// The most earlier messages that are shown.
const EARLIER: usize = 20;
/// The size limits of a text, and of all new texts of a call, in bytes.
const MOST: (usize, usize) = (8 * 1024, 32 * 1024);
/// The same of what was said before.
const MOST_EARLIER: (usize, usize) = (1024, 8 * 1024);
/// The most parts of a message that are shown.
const PARTS: usize = 40;

/// The conversations of the calls on a page, each read once.
pub(super) struct Talks(BTreeMap<usize, Option<Conversation>>);

impl Talks {
    /// The conversations of these moments, and of calls that come before them.
    pub(super) fn of(evidence: Option<&Evidence>, moments: &[&Moment<'_>]) -> Self {
        let calls = evidence.and_then(|evidence| evidence.model.as_ref()).map_or(&[][..], |model| &model.calls);
        let mut read = BTreeMap::new();
        for moment in moments {
            let Source::Model(index) = moment.source else { continue };
            for index in index.saturating_sub(LOOKED_BACK)..=index {
                if let Some(call) = calls.get(index) {
                    read.entry(index).or_insert_with(|| Conversation::read_call(call));
                }
            }
        }
        Self(read)
    }

    /// A call in one line, and all that is known of it.
    pub(super) fn told(&self, shown: &Shown, index: usize) -> Option<(Markup, Markup)> {
        let call = shown.evidence.as_deref()?.model.as_ref()?.calls.get(index)?;
        let talk = self.0.get(&index).and_then(Option::as_ref);
        let details = html! {
            (numbers(call, talk))
            @if let Some(talk) = talk { (conversation(shown, talk, self.said_before(index, talk))) }
            (raw(call, talk, shown.marks()))
        };
        Some((label(call), details))
    }

    /// Counts the messages of a call that were said before.
    fn said_before(&self, index: usize, talk: &Conversation) -> usize {
        let earlier = self.0.range(index.saturating_sub(LOOKED_BACK)..index).filter_map(|(_, one)| one.as_ref());
        earlier.filter_map(|earlier| talk.said_before(earlier)).max().unwrap_or(0).min(talk.sent.len())
    }
}

fn label(call: &ModelCall) -> Markup {
    html! {
        strong { (untrusted::line(&call.request_model, 60)) } " " (answered(call.status))
        span.quiet { ", " (count_noun(call.tokens.input, "token")) " in, " (count(call.tokens.output)) " out" }
        (fault(call.fault.as_ref()))
        @if let Some(problem) = &call.problem { " " span.bad { (untrusted::line(problem, 100)) } }
    }
}

fn numbers(call: &ModelCall, talk: Option<&Conversation>) -> Markup {
    let tokens = &call.tokens;
    let tools = talk.map_or(&[][..], |talk| &talk.tools);
    html! {
        dl.pairs {
            dt { "Took" } dd { (duration(call.duration_ms)) @if call.stream { ", streamed" } }
            dt { "Tokens" } dd {
                (count(tokens.input)) " in, " (count(tokens.output)) " out"
                @if tokens.cache_read > 0 { ", " (count(tokens.cache_read)) " from the provider's cache" }
                @if tokens.estimated { ", estimated" }
            }
            @if let Some(cost) = call.cost_usd { dt { "Cost" } dd { (money(cost)) } }
            @if let Some(model) = &call.response_model { dt { "Answered by" } dd { (untrusted::line(model, 80)) } }
            @if let Some(turn) = call.turn { dt { "Turn of the script" } dd { (count(turn as u64 + 1)) } }
            @if !call.finish_reasons.is_empty() {
                dt { "Ended because" } dd { (untrusted::line(&call.finish_reasons.join(", "), 100)) }
            }
            @if !tools.is_empty() { dt { "Tools offered" } dd { (untrusted::line(&tools.join(", "), 500)) } }
        }
    }
}

/// Where messages are shown, and how much of them: a call may say as much as it wants.
struct Room<'a> {
    shown: &'a Shown,
    most: usize,
    left: Cell<usize>,
}

impl<'a> Room<'a> {
    fn new(shown: &'a Shown, (most, in_all): (usize, usize)) -> Self {
        Self { shown, most, left: Cell::new(in_all) }
    }

    /// The beginning of a text, as far as there is room, and the way to all of it.
    fn cut(&self, text: &str, show: impl Fn(&str) -> Markup) -> Markup {
        let (kept, left_out) = beginning(text, self.most.min(self.left.get()));
        self.left.set(self.left.get() - kept.len());
        html! {
            @if !kept.is_empty() { (show(kept)) }
            @if left_out > 0 { p.quiet { (bytes(left_out as u64)) " more; all of it is in " (whole(self.shown)) "." } }
        }
    }
}

/// Renders earlier messages, new messages and the answer.
fn conversation(shown: &Shown, talk: &Conversation, said_before: usize) -> Markup {
    let (earlier, new) = talk.sent.split_at(said_before);
    let hidden = earlier.len().saturating_sub(EARLIER);
    let (before, now) = (Room::new(shown, MOST_EARLIER), Room::new(shown, MOST));
    // The answer has room of its own: what was asked cannot take it away.
    let answered = Room::new(shown, MOST);
    html! {
        div.talk {
            @if !earlier.is_empty() {
                details.earlier {
                    summary { (count_noun(earlier.len() as u64, "earlier message")) }
                    @if hidden > 0 { (left_out(shown, hidden)) }
                    @for one in &earlier[hidden..] { (message(&before, one, "")) }
                }
            }
            @for one in new.iter().take(NEW) { (message(&now, one, "")) }
            @if new.len() > NEW { (left_out(shown, new.len() - NEW)) }
            @for one in talk.answered().iter().take(NEW) { (message(&answered, one, "answer")) }
        }
    }
}

fn left_out(shown: &Shown, many: usize) -> Markup {
    html! { p.quiet { (count_noun(many as u64, "more message")) "; all of it is in " (whole(shown)) "." } }
}

/// The way to all that was observed.
fn whole(shown: &Shown) -> Markup {
    let attempt = shown.query.attempt.map(|attempt| format!("&attempt={attempt}")).unwrap_or_default();
    html! { a href={ (shown.api()) "/evidence?run=" (shown.found.run.id.number) (attempt) } { "the evidence" } }
}

fn message(room: &Room<'_>, message: &Message, class: &str) -> Markup {
    let kind = match message.role.as_str() {
        "system" | "developer" => "system",
        "assistant" => "assistant",
        "tool" | "function" => "tool",
        _ => "user",
    };
    html! {
        div class={ "said " (kind) " " (class) } {
            p.role { (untrusted::line(&message.role, 40)) @if class == "answer" { span.quiet { " answers" } } }
            @for one in message.parts.iter().take(PARTS) { (part(room, one)) }
            @if message.parts.is_empty() { p.quiet { "Nothing." } }
            @if message.parts.len() > PARTS {
                p.quiet { (message.parts.len() - PARTS) " more parts; all of it is in " (whole(room.shown)) "." }
            }
        }
    }
}

fn part(room: &Room<'_>, part: &Part) -> Markup {
    let marks = room.shown.marks();
    let code = |text: &str| html! { pre tabindex="0" { code { (marks.text(text)) } } };
    match part {
        Part::Text(text) => room.cut(text, |text| html! { div.text tabindex="0" { (marks.text(text)) } }),
        Part::Thought(text) => room.cut(text, |text| {
            html! { div.text.thought tabindex="0" { span.quiet { "Thought: " } (marks.text(text)) } }
        }),
        Part::Call(call) => html! {
            p.part { "Calls " code { (untrusted::line(&call.name, 80)) } }
            (room.cut(&pretty(&call.arguments), code))
        },
        Part::Result(result) => html! {
            p.part {
                "Result of " code { (untrusted::line(result.tool_or_id(), 80)) }
                @if result.is_error { " " span.bad { "error" } }
            }
            @if result.content.is_empty() { p.quiet { "Empty." } } @else { (room.cut(&pretty(&result.content), code)) }
        },
        Part::Other(json) => room.cut(&pretty(json), code),
    }
}

/// JSON with its structure, and anything else as it is.
fn pretty(text: &str) -> String {
    let read: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let written = read.filter(|value| value.is_object() || value.is_array());
    written.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| text.to_owned())
}

/// Renders the raw request: behind a toggle where it could be parsed, and open where not.
fn raw(call: &ModelCall, talk: Option<&Conversation>, marks: Marks<'_>) -> Markup {
    let request = html! { p.part { "Request" } (json::body(&call.request, marks)) };
    let answer = html! { p.part { "Answer" } (json::body(&call.response, marks)) };
    match talk.map(|talk| talk.answer.is_some()) {
        Some(true) => html! { details.raw { summary { "As it was sent" } (request) (answer) } },
        Some(false) => html! { (answer) details.raw { summary { "As it was sent" } (request) } },
        None => html! { (request) (answer) },
    }
}
