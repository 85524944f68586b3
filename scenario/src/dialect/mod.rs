//! Model dialects: requests and answers of OpenAI's chat completions and responses and of Anthropic's messages, read into
//! one typed conversation.
//!
//! This is the only reader of model conversations. The model gateway reads answers with it while they pass, and pages read
//! recorded calls. An answer is read the same way whole and streamed ([`Answer::read_whole`], [`StreamReader`]): each dialect
//! has a file with the shapes of its bodies and events, and all of them fill one assembly, which is bounded by
//! [`ReadLimits`].
//!
//! Only what is understood is read. Nothing here fails: a body that is no conversation gives none, and an odd part of one is
//! kept as JSON.

mod answer;
mod assembly;
mod chat;
mod conversation;
mod events;
mod limits;
mod message;
mod messages;
mod responses;
mod results;
mod stream;
#[cfg(test)]
mod tests;
mod text_search;

pub use answer::Answer;
pub use conversation::Conversation;
pub use limits::ReadLimits;
pub use message::{Message, Part, ProposedCall, ReportedResult};
pub use results::{SentResult, tool_results};
pub use stream::StreamReader;
pub use text_search::contains_text;
