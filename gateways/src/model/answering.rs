//! Whole answers: those of scripts and recordings.

use bytes::Bytes;
use http::HeaderMap;
use scenario::dialect::{Answer, ReadLimits};
use scenario::evidence::{Dialect, TokenCount};
use scenario::spec::sections::LlmMode;
use tokio::time::sleep;

use super::fault::{self, Cut};
use super::limits::READ;
use super::refusal::Refusal;
use super::replay::Replay;
use super::request::ModelRequest;
use super::rewriting::{Rewritten, rewrite};
use super::script::Player;
use super::ticket::{Outcome, Ticket};
use super::wire::{Embedding, embeddings, models};
use crate::faults::Fault;

/// A whole answer.
pub(super) struct Whole {
    pub(super) body: Bytes,
    pub(super) outcome: Outcome,
    /// Place where it breaks off.
    pub(super) cut: Option<Cut>,
    /// The headers of the provider, for an answer that a fault changed.
    pub(super) headers: Option<HeaderMap>,
}

impl Whole {
    fn new(body: Bytes, outcome: Outcome) -> Self {
        Self { body, outcome, cut: None, headers: None }
    }
}

/// The answer of a script, after the fault that changes it. `take_back` is called for one that changes nothing.
pub(super) async fn play(
    player: &Player,
    asked: &ModelRequest,
    ticket: &mut Ticket,
    fault: Option<&Fault<LlmMode>>,
    take_back: impl FnOnce(&mut Ticket),
) -> Result<Whole, Refusal> {
    let dialect = asked.route.dialect;
    if dialect == Dialect::Models {
        let body = models(asked.route.shape, asked.route.looked_up.as_deref()).to_string().into();
        return Ok(Whole::new(body, Outcome { status: 200, ..Outcome::default() }));
    }
    let billed = Outcome { status: 200, billed: true, billed_model: asked.model.clone(), ..Outcome::default() };
    if dialect == Dialect::Embeddings {
        let Embedding { body, tokens } = embeddings(&asked.body, &asked.model)?;
        let tokens = TokenCount { input: tokens, estimated: true, ..TokenCount::default() };
        let outcome = Outcome { tokens: Some(tokens), ..billed };
        return Ok(Whole::new(body.to_string().into(), outcome));
    }
    let mut played = player.play(asked)?;
    ticket.turn = played.turn;
    match fault {
        Some(fault) if fault::change(fault, &mut played.reply) => player.offer_again(asked, played.turn),
        Some(_) => take_back(ticket),
        None => {}
    }
    if let Some(delay) = played.delay {
        sleep(delay).await;
    }
    let mut body = played.reply.render(dialect, asked.stream);
    let cut = fault.and_then(|fault| fault::cut_of(&fault.mode, &body, asked.stream));
    if let Some(cut) = cut {
        body.truncate(cut.bytes);
    }
    let answer = read(dialect, asked.stream, &body, READ);
    let tokens = Some(played.reply.tokens);
    let outcome = Outcome { stream: asked.stream, answer, tokens, turn: played.turn, ..billed };
    Ok(Whole { cut, ..Whole::new(body, outcome) })
}

/// The answer of a recording, after the fault that changes it. `take_back` is called for one that changes nothing.
pub(super) fn repeat(
    replay: &Replay,
    asked: &ModelRequest,
    redacted: &str,
    fault: Option<&Fault<LlmMode>>,
    number: u64,
    take_back: impl FnOnce(),
) -> Result<Whole, Refusal> {
    let found = replay.find(asked, redacted)?;
    let recorded = found.recorded;
    let body = Bytes::copy_from_slice(recorded.response.as_bytes());
    let outcome = Outcome {
        status: recorded.status,
        stream: recorded.stream,
        answer: read(recorded.dialect, recorded.stream, &body, READ),
        billed: asked.route.is_billed() && (200..300).contains(&recorded.status),
        billed_model: asked.model.clone(),
        ..Outcome::default()
    };
    let Some(fault) = fault else { return Ok(Whole::new(body, outcome)) };
    let is_read = (200..300).contains(&recorded.status);
    let rewritten = is_read.then(|| rewrite(fault, asked, recorded.stream, &body, number)).flatten();
    let Some(rewritten) = rewritten else {
        take_back();
        return Ok(Whole::new(body, outcome));
    };
    replay.offer_again(found);
    Ok(changed(rewritten, recorded.dialect, outcome))
}

/// Makes an answer that a fault changed, with the bytes that the agent gets and the cost.
pub(super) fn changed(rewritten: Rewritten, dialect: Dialect, outcome: Outcome) -> Whole {
    let Rewritten { body, cut, original } = rewritten;
    let answer = read(dialect, outcome.stream, &body, READ);
    let outcome = Outcome { answer, billed_answer: Some(original), ..outcome };
    Whole { cut, ..Whole::new(body, outcome) }
}

/// Reads a whole answer; `None` when the body is none.
pub(super) fn read(dialect: Dialect, stream: bool, body: &[u8], limits: ReadLimits) -> Option<Answer> {
    match stream {
        true => Some(Answer::read_stream(dialect, body, limits)),
        false => Answer::read_whole(dialect, body, limits),
    }
}
