//! Answers that are there as a whole: those of scripts and recordings.

use bytes::Bytes;
use scenario::evidence::{Dialect, TokenCount};
use tokio::time::sleep;

use super::reading::{Reading, StreamReader};
use super::refusal::Refusal;
use super::replay::Replay;
use super::request::Asked;
use super::script::Player;
use super::ticket::{Outcome, Ticket};
use super::wire::{Embedding, embeddings, models};

/// An answer that is there as a whole.
pub(super) struct Whole {
    pub(super) body: Bytes,
    pub(super) outcome: Outcome,
}

/// The answer of a script.
pub(super) async fn play(player: &Player, asked: &Asked, ticket: &mut Ticket) -> Result<Whole, Refusal> {
    let dialect = asked.route.dialect;
    if dialect == Dialect::Models {
        let body = models(asked.route.shape, asked.route.looked_up.as_deref()).to_string().into();
        return Ok(Whole { body, outcome: Outcome { status: 200, ..Outcome::default() } });
    }
    let billed = Outcome { status: 200, billed: true, billed_model: asked.model.clone(), ..Outcome::default() };
    if dialect == Dialect::Embeddings {
        let Embedding { body, tokens } = embeddings(&asked.body, &asked.model)?;
        let tokens = TokenCount { input: tokens, estimated: true, ..TokenCount::default() };
        return Ok(Whole { body: body.to_string().into(), outcome: Outcome { tokens: Some(tokens), ..billed } });
    }
    let played = player.play(asked)?;
    ticket.turn = played.turn;
    if let Some(delay) = played.delay {
        sleep(delay).await;
    }
    let body = played.reply.render(dialect, asked.stream);
    let reading = read(dialect, asked.stream, &body);
    let tokens = Some(played.reply.tokens);
    Ok(Whole { body, outcome: Outcome { stream: asked.stream, reading, tokens, turn: played.turn, ..billed } })
}

/// The answer of a recording.
pub(super) fn repeat(replay: &Replay, asked: &Asked, redacted: &str) -> Result<Whole, Refusal> {
    let recorded = replay.find(asked, redacted)?;
    let body = Bytes::copy_from_slice(recorded.response.as_bytes());
    let outcome = Outcome {
        status: recorded.status,
        stream: recorded.stream,
        reading: read(recorded.dialect, recorded.stream, &body),
        billed: asked.route.is_billed() && (200..300).contains(&recorded.status),
        billed_model: asked.model.clone(),
        ..Outcome::default()
    };
    Ok(Whole { body, outcome })
}

fn read(dialect: Dialect, stream: bool, body: &[u8]) -> Option<Reading> {
    if !stream {
        return Reading::of_json(dialect, body);
    }
    let mut reader = StreamReader::new(dialect);
    body.chunks(64 * 1024).for_each(|part| reader.push(part));
    Some(reader.finish())
}
