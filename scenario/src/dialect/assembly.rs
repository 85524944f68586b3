//! Messages while they are put together, from whole bodies and from events of streams alike.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::answer::Answer;
use super::limits::{ReadLimits, beginning};
use super::message::{ASSISTANT, Message, Part, ProposedCall, name_tools};

/// Messages while they are put together. Each part has a place, so that pieces of a stream find theirs.
#[derive(Debug)]
pub(super) struct Assembly {
    /// The answer without its messages.
    pub(super) answer: Answer,
    limits: ReadLimits,
    /// The roles of messages, by their numbers.
    roles: BTreeMap<u64, String>,
    slots: BTreeMap<Place, Slot>,
    /// The number of the next message, where messages have no numbers of their own.
    next: u64,
    text_left: usize,
    calls: usize,
}

/// The place of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The number of its message.
    pub(super) message: u64,
    /// The section of the message, where a dialect has several lists of parts.
    pub(super) section: u8,
    /// The number in its section.
    pub(super) part: u64,
}

/// A part while it is put together.
#[derive(Debug)]
enum Slot {
    Part(Part),
    Call {
        call: ProposedCall,
        /// The arguments, if no pieces of them come.
        given: String,
    },
    /// A block of an unknown kind, and the pieces of its input.
    Open {
        block: Json,
        input: String,
    },
}

impl Assembly {
    pub(super) fn new(limits: ReadLimits) -> Self {
        Self {
            answer: Answer::default(),
            limits,
            roles: BTreeMap::new(),
            slots: BTreeMap::new(),
            next: 0,
            text_left: limits.text_bytes,
            calls: 0,
        }
    }

    pub(super) fn take_id_and_model(&mut self, answer: &Json) {
        let most = self.limits.name_bytes;
        let take = |name: &str| answer[name].as_str().map(|text| beginning(text, most).to_owned());
        self.answer.id = take("id").or(self.answer.id.take());
        self.answer.model = take("model").or(self.answer.model.take());
    }

    pub(super) fn add_finish_reason(&mut self, reason: &Json) {
        if let Some(reason) = reason.as_str()
            && self.answer.finish_reasons.len() < self.limits.calls
        {
            self.answer.finish_reasons.push(beginning(reason, self.limits.name_bytes).to_owned());
        }
    }

    pub(super) fn set_error(&mut self, message: &str) {
        self.answer.error = Some(beginning(message, self.limits.name_bytes).to_owned());
    }

    /// Counts the bytes of a text.
    pub(super) fn count(&mut self, text: &Json) {
        self.answer.text_bytes += text.as_str().map_or(0, str::len) as u64;
    }

    /// The number of the next message.
    pub(super) fn next_message(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Begins a message, or continues it. When no text is kept, only calls make messages.
    pub(super) fn begin_message(&mut self, number: u64, role: &str) {
        if self.text_left > 0 {
            self.roles.entry(number).or_insert_with(|| role.to_owned());
        }
    }

    /// Drops all messages, because the end of a stream repeats them as a whole.
    pub(super) fn begin_again(&mut self) {
        (self.roles, self.slots) = (BTreeMap::new(), BTreeMap::new());
        (self.next, self.calls, self.text_left) = (0, 0, self.limits.text_bytes);
        self.answer.text_bytes = 0;
    }

    /// Adds a piece of a text.
    pub(super) fn add_text(&mut self, place: Place, piece: &Json) {
        self.grow(place, piece, Part::Text);
    }

    /// Adds a piece of a thought.
    pub(super) fn add_thought(&mut self, place: Place, piece: &Json) {
        self.grow(place, piece, Part::Thought);
    }

    fn grow(&mut self, place: Place, piece: &Json, part: fn(String) -> Part) {
        let kept = beginning(piece.as_str().unwrap_or_default(), self.text_left);
        if kept.is_empty() {
            return;
        }
        self.text_left -= kept.len();
        let slot = self.slots.entry(place).or_insert_with(|| Slot::Part(part(String::new())));
        if let Slot::Part(Part::Text(text) | Part::Thought(text)) = slot {
            text.push_str(kept);
        }
    }

    /// Puts a whole part at a place, if there is room for text.
    pub(super) fn put(&mut self, place: Place, part: impl FnOnce() -> Part) {
        if self.text_left == 0 {
            return;
        }
        let part = part();
        let size = match &part {
            Part::Text(text) | Part::Thought(text) | Part::Other(text) => text.len(),
            Part::Result(result) => result.content.len(),
            Part::Call(_) => 0,
        };
        self.text_left = self.text_left.saturating_sub(size);
        self.slots.insert(place, Slot::Part(part));
    }

    /// Puts a block of an unknown kind at a place, whose input may follow in pieces.
    pub(super) fn put_open(&mut self, place: Place, block: &Json) {
        if self.text_left > 0 {
            self.slots.insert(place, Slot::Open { block: block.clone(), input: String::new() });
        }
    }

    /// Adds a call, or a piece of one: the first id counts, names and arguments grow.
    pub(super) fn add_call(&mut self, place: Place, id: &Json, name: &Json, arguments: &str) {
        self.answer.text_bytes += arguments.len() as u64;
        let Some(call) = self.call_at(place) else { return };
        if call.id.is_empty() {
            push(call.id, id.as_str().unwrap_or_default(), call.most.name_bytes);
        }
        let name = name.as_str().unwrap_or_default();
        // Some providers repeat the name with every piece.
        let added = if call.name.as_str() == name { 0 } else { push(call.name, name, call.most.name_bytes) };
        push(call.arguments, arguments, call.most.arguments_bytes);
        self.answer.text_bytes += added as u64;
    }

    /// Sets the arguments of a call for the case that no pieces of them come.
    pub(super) fn set_given(&mut self, place: Place, arguments: &Json) {
        if let Some(Slot::Call { given, .. }) = self.slots.get_mut(&place)
            && arguments.is_object()
        {
            let text = arguments.to_string();
            *given = beginning(&text, self.limits.arguments_bytes).to_owned();
        }
    }

    /// Adds a piece of the arguments to what was begun at a place.
    pub(super) fn add_arguments(&mut self, place: Place, piece: &Json) {
        self.count(piece);
        let piece = piece.as_str().unwrap_or_default();
        match self.slots.get_mut(&place) {
            Some(Slot::Call { call, .. }) => {
                push(&mut call.arguments, piece, self.limits.arguments_bytes);
            }
            Some(Slot::Open { input, .. }) => {
                let most = self.text_left.saturating_add(input.len());
                self.text_left -= push(input, piece, most);
            }
            Some(Slot::Part(_)) | None => {}
        }
    }

    /// The call at a place, which is made if there is none; `None` when there are too many.
    fn call_at(&mut self, place: Place) -> Option<CallMut<'_>> {
        if !self.slots.contains_key(&place) {
            if self.calls >= self.limits.calls {
                return None;
            }
            self.calls += 1;
            self.slots.insert(place, Slot::Call { call: ProposedCall::default(), given: String::new() });
            self.roles.entry(place.message).or_insert_with(|| ASSISTANT.to_owned());
        }
        match self.slots.get_mut(&place) {
            Some(Slot::Call { call: ProposedCall { id, name, arguments }, .. }) => {
                Some(CallMut { id, name, arguments, most: self.limits })
            }
            _ => None,
        }
    }

    /// The messages so far.
    pub(super) fn into_messages(self) -> Vec<Message> {
        self.finish().messages
    }

    /// The whole answer.
    pub(super) fn finish(self) -> Answer {
        let message = |(number, role): (u64, String)| (number, Message { role, parts: Vec::new() });
        let mut messages: BTreeMap<u64, Message> = self.roles.into_iter().map(message).collect();
        for (place, slot) in self.slots {
            if let Some(message) = messages.get_mut(&place.message) {
                message.parts.push(slot.finish());
            }
        }
        let mut messages: Vec<_> = messages.into_values().collect();
        name_tools(&mut messages);
        Answer { messages, ..self.answer }
    }
}

/// A call while it is put together.
struct CallMut<'a> {
    id: &'a mut String,
    name: &'a mut String,
    arguments: &'a mut String,
    most: ReadLimits,
}

impl Slot {
    fn finish(self) -> Part {
        match self {
            Self::Part(part) => part,
            Self::Call { call, given } if call.arguments.is_empty() => {
                Part::Call(ProposedCall { arguments: given, ..call })
            }
            Self::Call { call, .. } => Part::Call(call),
            Self::Open { mut block, input } => {
                if !input.is_empty() && block.is_object() {
                    block["input"] = serde_json::from_str(&input).unwrap_or_else(|_| input.into());
                }
                Part::Other(block.to_string())
            }
        }
    }
}

/// Adds the beginning of a piece as far as there is room, and returns how much that is.
fn push(text: &mut String, piece: &str, most: usize) -> usize {
    let kept = beginning(piece, most.saturating_sub(text.len()));
    text.push_str(kept);
    kept.len()
}
