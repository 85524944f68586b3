//! Plays conversations between a client and a server, cut into pieces of any size.

use std::sync::Arc;

use super::ledger::Ledger;
use super::{Conversation, Unfollowable};

/// Messages of one side.
#[derive(Debug, Clone)]
pub(super) enum Turn {
    Client(Vec<u8>),
    Server(Vec<u8>),
}

/// Outcome of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) writes: Vec<String>,
    pub(super) to_server: Vec<u8>,
    pub(super) to_client: Vec<u8>,
}

/// Plays a conversation in pieces of `piece` bytes, and ends it.
pub(super) fn play<C: Conversation>(
    new: impl Fn(Arc<Ledger>) -> C,
    turns: &[Turn],
    piece: usize,
) -> Result<Outcome, Unfollowable> {
    let ledger = Arc::new(Ledger::default());
    let mut conversation = new(Arc::clone(&ledger));
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    for turn in turns {
        let (Turn::Client(bytes) | Turn::Server(bytes)) = turn;
        for part in bytes.chunks(piece) {
            let passed = match turn {
                Turn::Client(_) => conversation.client_said(part)?,
                Turn::Server(_) => conversation.server_said(part)?,
            };
            to_server.extend(passed.to_server);
            to_client.extend(passed.to_client);
        }
    }
    conversation.end();
    let writes = ledger.writes().iter().map(|(table, op, rows)| format!("{op} {table} {rows}")).collect();
    Ok(Outcome { writes, to_server, to_client })
}
