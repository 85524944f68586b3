//! `llm_faults`: faults of the model.

use serde::Serialize;

use super::trigger::Trigger;
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, choice, finish_tagged, section, tagged};
use crate::spec::shape::Shape;
use crate::spec::types::Whole;
use crate::spec::yaml::Node;

/// A time in milliseconds, up to a day.
type Milliseconds = Whole<0, 86_400_000>;

/// A fault of the model: when and what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LlmFault {
    /// The calls of the model that are faulted.
    pub trigger: Trigger,
    /// The effect on the calls.
    pub mode: LlmMode,
}

tagged! {
    /// A fault of the model. `mode` says what happens. A call that gets no answer uses up no turn of a script and no tokens; the
    /// same request sent again right after a changed answer gets the same turn again.
    pub enum LlmMode by "mode" {
        /// No answer comes, and after a while the connection is closed.
        Timeout(LlmTimeout) = "timeout",
        /// The answer ends after some words, as if it had reached its limit of tokens.
        TruncatedResponse(TruncatedResponse) = "truncated_response",
        /// A stream breaks off.
        CutStream(CutStream) = "cut_stream",
        /// A stream stops, and stays open.
        HangStream(HangStream) = "hang_stream",
        /// The answer is 429, in the provider's shape.
        RateLimit(LlmRateLimit) = "rate_limit",
        /// The answer is an error, in the provider's shape.
        Error(LlmError) = "error",
        /// The connection is reset instead of an answer.
        BackendDown(BackendDown) = "backend_down",
        /// The answer is the provider's error for a request that is too long.
        ContextLengthExceeded(ContextLengthExceeded) = "context_length_exceeded",
        /// The answer was withheld by a filter.
        ContentFilter(ContentFilter) = "content_filter",
        /// The answer says nothing.
        Empty(EmptyReply) = "empty",
        /// The answer is gibberish.
        Garbage(Garbage) = "garbage",
        /// The answer says the same in another form, as another version of the model would.
        ResponseDrift(ResponseDrift) = "response_drift",
        /// The arguments of tools that the answer calls are broken.
        ToolArguments(BrokenArguments) = "tool_arguments",
        /// The answer comes late. Rules after this one still apply.
        Delay(LlmDelay) = "delay",
        /// The beginning of the answer comes late, after its head. Rules after this one still apply.
        SlowFirstToken(SlowFirstToken) = "slow_first_token",
        /// The events of a stream come slowly. Rules after this one still apply.
        SlowStream(SlowStream) = "slow_stream",
    }
}

section! {
    /// Nothing is answered for `delay_ms`, then the connection is closed.
    pub struct LlmTimeout {
        /// How long nothing is answered.
        delay_ms: Milliseconds = Whole::new(300_000),
    }
}

section! {
    /// The text of the answer ends after so many words. The answer says that it reached its limit of tokens, and counts what is
    /// left.
    pub struct TruncatedResponse {
        /// How many words are left.
        max_tokens: Whole<0, 1_000_000> = Whole::new(10),
    }
}

section! {
    /// A streamed answer breaks off without its end. An answer that is not streamed breaks off in the middle of its body.
    pub struct CutStream {
        /// How many events of the stream are sent.
        after_chunks: Whole<0, 1_000_000> = Whole::new(2),
    }
}

section! {
    /// A streamed answer stops for `delay_ms` and breaks off then. So does an answer that is not streamed, in the middle of its
    /// body.
    pub struct HangStream {
        /// How many events of the stream are sent.
        after_chunks: Whole<0, 1_000_000> = Whole::new(2),
        /// How long nothing comes.
        delay_ms: Milliseconds = Whole::new(300_000),
    }
}

section! {
    /// The answer is 429 with `Retry-After`, in the provider's shape.
    pub struct LlmRateLimit {
        /// How many seconds `Retry-After` says.
        retry_after: Whole<0, 86_400> = Whole::new(1),
    }
}

section! {
    /// The answer is an error, in the provider's shape.
    pub struct LlmError {
        /// The status.
        error_code: Whole<400, 599> = Whole::new(500),
        /// The message.
        message: String = "The server had an error while processing your request.".to_owned(),
    }
}

section! {
    /// The connection is reset: no answer, no turn, no tokens.
    pub struct BackendDown {}
}

section! {
    /// The answer is 400 with the provider's error for a conversation that is too long.
    pub struct ContextLengthExceeded {}
}

section! {
    /// The answer has no text, and says that a filter withheld it.
    pub struct ContentFilter {}
}

section! {
    /// The answer has neither text nor tools.
    pub struct EmptyReply {}
}

section! {
    /// The text of the answer is replaced by gibberish, and it calls no tools.
    pub struct Garbage {}
}

section! {
    /// The text of the answer changes its form, as it does with another version of a model.
    pub struct ResponseDrift {
        /// What changes.
        drift_type: DriftType = DriftType::JsonFieldRename,
        /// Whether `verbosity_shift` makes the text longer or shorter.
        direction: Direction = Direction::Expand,
    }
}

choice! {
    /// What another version of a model does differently.
    pub enum DriftType {
        /// One field of a JSON answer has another name.
        JsonFieldRename = "json_field_rename",
        /// The text says everything twice, or half of it.
        VerbosityShift = "verbosity_shift",
        /// A JSON answer becomes prose.
        FormatChange = "format_change",
        /// The text begins with a refusal, and goes on.
        RefusalRephrase = "refusal_rephrase",
        /// The text has another tone.
        ToneShift = "tone_shift",
    }
}

choice! {
    /// Whether a text becomes longer or shorter.
    pub enum Direction {
        /// It says everything twice.
        Expand = "expand",
        /// It says the first half.
        Compress = "compress",
    }
}

section! {
    /// The arguments of every tool that the answer calls are broken.
    pub struct BrokenArguments {
        /// How they are broken.
        how: ArgumentDamage = ArgumentDamage::Truncate,
    }
}

choice! {
    /// How arguments of tools are broken.
    pub enum ArgumentDamage {
        /// The JSON ends in the middle.
        Truncate = "truncate",
        /// Texts are scrambled; the JSON stays valid.
        Garble = "garble",
        /// Every key has another name.
        RenameKeys = "rename_keys",
        /// There are none.
        Strip = "strip",
    }
}

section! {
    /// The answer comes late. Rules after this one still apply.
    pub struct LlmDelay {
        /// The delay.
        delay_ms: Milliseconds = Whole::new(5000),
    }
}

section! {
    /// The status and the headers come at once. The first event of a stream comes late, and so does the body of an answer that is
    /// not streamed. Rules after this one still apply.
    pub struct SlowFirstToken {
        /// The delay.
        delay_ms: Milliseconds = Whole::new(5000),
    }
}

section! {
    /// There is a pause before every event of a stream, and one before the body of an answer that is not streamed. Rules after
    /// this one still apply.
    pub struct SlowStream {
        /// The pause.
        chunk_delay_ms: Whole<0, 3_600_000> = Whole::new(500),
    }
}

impl Readable for LlmFault {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let trigger = Trigger::read_fields(&mut map, reader);
        let mode = LlmMode::read_variant(&mut map, reader);
        finish_tagged(&map, reader, "mode", LlmMode::variants());
        Some(Self { trigger: trigger?, mode: mode? })
    }

    fn shape() -> Shape {
        LlmMode::tagged_shape(Trigger::section().fields)
    }
}
