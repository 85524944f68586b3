//! What an answer says: its tools, what it counted, why it ended. Answers of scripts, recordings and upstreams are all read
//! from the bytes that were sent, so that the record is what the agent saw.

mod answer;
mod chat;
mod messages;
mod responses;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use answer::{Reading, beginning};
pub(super) use stream::StreamReader;
