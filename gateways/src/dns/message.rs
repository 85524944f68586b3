//! Messages of DNS: reads questions, and writes answers.

use std::net::Ipv4Addr;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{DNSClass, RData, Record, RecordType};

/// The largest message that is read; a question needs far less.
pub(super) const MOST_BYTES: usize = 4096;
/// Time for which an answer may be cached, in seconds. It is short, because the address of a name changes once: when
/// the agent starts.
const TTL: u32 = 1;
/// The bytes of a header.
const HEADER: usize = 12;

/// A question that can be answered.
#[derive(Debug)]
pub(super) struct Question {
    request: Message,
    /// The name as it was asked for, without a dot at its end.
    pub(super) name: String,
    /// The kind of record.
    pub(super) kind: RecordType,
}

/// Kind of a message.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A question.
    Question(Question),
    /// Another message, with the answer to it.
    Refused(Vec<u8>),
    /// A message that gets no answer: an answer, or bytes without a header.
    Noise,
}

/// Reads a message.
pub(super) fn read(bytes: &[u8]) -> Incoming {
    let Some((id, is_answer)) = header(bytes) else { return Incoming::Noise };
    if is_answer {
        return Incoming::Noise;
    }
    let refused = |op_code, code| Incoming::Refused(encode(&Message::error_msg(id, op_code, code)));
    let malformed = || refused(OpCode::Query, ResponseCode::FormErr);
    if bytes.len() > MOST_BYTES {
        return malformed();
    }
    let Ok(request) = Message::from_vec(bytes) else { return malformed() };
    if request.metadata.message_type != MessageType::Query {
        return Incoming::Noise;
    }
    if request.metadata.op_code != OpCode::Query {
        return refused(request.metadata.op_code, ResponseCode::NotImp);
    }
    let [query] = request.queries.as_slice() else { return malformed() };
    if query.query_class() != DNSClass::IN {
        return refused(OpCode::Query, ResponseCode::Refused);
    }
    let mut name = query.name().to_ascii();
    if name.ends_with('.') {
        name.pop();
    }
    let kind = query.query_type();
    Incoming::Question(Question { name, kind, request })
}

/// The number of a message, and whether it is an answer.
fn header(bytes: &[u8]) -> Option<(u16, bool)> {
    let header = bytes.get(..HEADER)?;
    Some((u16::from_be_bytes([header[0], header[1]]), header[2] & 0x80 != 0))
}

impl Question {
    /// True when it is for an address of the kind that names here have.
    pub(super) fn asks_address(&self) -> bool {
        matches!(self.kind, RecordType::A | RecordType::ANY)
    }

    /// The answer of a server that failed.
    pub(super) fn server_failure(&self) -> Vec<u8> {
        let mut answer = self.response();
        answer.metadata.response_code = ResponseCode::ServFail;
        encode(&answer)
    }

    /// The answer; without an address the name does not exist.
    pub(super) fn answer(&self, address: Option<Ipv4Addr>) -> Vec<u8> {
        let mut answer = self.response();
        answer.metadata.authoritative = true;
        match address {
            None => answer.metadata.response_code = ResponseCode::NXDomain,
            Some(address) if self.asks_address() => {
                let name = self.request.queries[0].name().clone();
                answer.add_answer(Record::from_rdata(name, TTL, RData::A(A(address))));
            }
            Some(_) => {}
        }
        encode(&answer)
    }

    /// An answer that says nothing yet.
    fn response(&self) -> Message {
        let mut answer = Message::response(self.request.metadata.id, OpCode::Query);
        answer.metadata.recursion_desired = self.request.metadata.recursion_desired;
        answer.queries.clone_from(&self.request.queries);
        if self.request.edns.is_some() {
            let mut edns = Edns::new();
            edns.set_max_payload(1232);
            answer.set_edns(edns);
        }
        answer
    }
}

/// The bytes of a message; none when it cannot be written, and then nothing is sent.
fn encode(message: &Message) -> Vec<u8> {
    message.to_vec().unwrap_or_default()
}
