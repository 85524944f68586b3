//! Scripted models: turns, and rules that answer before them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use scenario::dialect::{contains_text, tool_results};
use scenario::evidence::{Dialect, TokenCount};
use scenario::plan::Values;
use scenario::spec::sections::{Advance, Exhausted, Model, ToolCall, Turn};
use scenario::spec::template::Text;
use serde_json::{Value as Json, json};

use super::refusal::Refusal;
use super::request::ModelRequest;
use super::wire::{Finish, Reply, ReplyTool};

/// Number of choices that an answer may have.
const MOST_CHOICES: u64 = 128;

/// The turns of a scripted model in one scenario, with templates replaced and variants chosen.
#[derive(Debug, Clone)]
pub struct Script {
    turns: Vec<ScriptedTurn>,
    rules: Vec<(String, ScriptedTurn)>,
    advance: Advance,
    on_exhausted: Exhausted,
    /// Variant of each turn, for turns that have variants.
    pub(super) variants: Vec<Option<usize>>,
}

#[derive(Debug, Clone)]
struct ScriptedTurn {
    content: Option<String>,
    tools: Vec<(String, Json)>,
    prompt_tokens: u64,
    completion_tokens: u64,
    delay: Option<Duration>,
}

impl Script {
    /// Returns the turn after this many results of tools: a turn that calls several waits for all of them.
    fn after(&self, results: usize) -> usize {
        let mut left = results;
        let is_over = |turn: &&ScriptedTurn| {
            let needed = turn.tools.len().max(1);
            let is_over = left >= needed;
            left = left.saturating_sub(needed);
            is_over
        };
        self.turns.iter().take_while(is_over).count()
    }

    /// The script of a spec. `variants` are those of the scenario: of `turns`, then of `match`.
    #[must_use]
    pub fn new(model: &Model, variants: &[usize], values: &Values<'_>) -> Self {
        let chosen = |index: usize| variants.get(index).copied().unwrap_or(0);
        let turns = model.turns.iter().enumerate();
        let rules = model.rules.iter().enumerate();
        Self {
            turns: turns.clone().map(|(index, turn)| ScriptedTurn::new(turn, chosen(index), values)).collect(),
            rules: rules
                .map(|(index, rule)| {
                    let turn = ScriptedTurn::new(&rule.turn, chosen(model.turns.len() + index), values);
                    (rule.contains.render(values), turn)
                })
                .collect(),
            advance: model.advance,
            on_exhausted: model.on_exhausted,
            variants: turns.map(|(index, turn)| (!turn.variants.is_empty()).then(|| chosen(index))).collect(),
        }
    }
}

impl ScriptedTurn {
    fn new(turn: &Turn, variant: usize, values: &Values<'_>) -> Self {
        let tokens = |count: i64| u64::try_from(count).unwrap_or(0);
        let variant = turn.variants.get(variant).or(turn.variants.first());
        let (content, tools, prompt_tokens, completion_tokens) = match variant {
            Some(variant) => (&variant.content, &variant.tool_calls, variant.prompt_tokens, variant.completion_tokens),
            None => (&turn.content, &turn.tool_calls, turn.prompt_tokens, turn.completion_tokens),
        };
        Self {
            content: content.as_ref().map(|text: &Text| text.render(values)),
            tools: tools.iter().map(|tool| rendered(tool, values)).collect(),
            prompt_tokens: tokens(prompt_tokens.get()),
            completion_tokens: tokens(completion_tokens.get()),
            delay: turn.delay.map(scenario::spec::types::Timespan::get),
        }
    }
}

fn rendered(tool: &ToolCall, values: &Values<'_>) -> (String, Json) {
    let arguments = tool.arguments.as_ref().map_or_else(|| json!({}), |value| value.render(values).to_json());
    (tool.name.to_string(), arguments)
}

/// A script while it is played.
#[derive(Debug)]
pub(super) struct Player {
    script: Script,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The next turn, with `advance: call`.
    next: usize,
    /// Number of times that each turn was given, and after them, that each rule was.
    given: Vec<u64>,
    /// Number of answers that were given.
    answers: u64,
    /// The last request whose answer a fault changed, and its turn: the same request right after it gets that turn again.
    faulted: Option<(u64, usize)>,
}

/// Answer of a script, and its delay.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) reply: Reply,
    /// The turn; `None` when a rule answered.
    pub(super) turn: Option<usize>,
    pub(super) delay: Option<Duration>,
}

impl Player {
    pub(super) fn new(script: Script) -> Self {
        let given = vec![0; script.turns.len() + script.rules.len()];
        Self { script, progress: Mutex::new(Progress { given, ..Progress::default() }) }
    }

    pub(super) fn variants(&self) -> Vec<Option<usize>> {
        self.script.variants.clone()
    }

    /// The turns that were never given.
    pub(super) fn unused(&self) -> Vec<usize> {
        let progress = self.progress();
        (0..self.script.turns.len()).filter(|turn| progress.given[*turn] == 0).collect()
    }

    /// The answer to a request. Rules are asked first, and use up no turn.
    pub(super) fn play(&self, asked: &ModelRequest) -> Result<Played, Refusal> {
        let choices = choices(asked)?;
        let rule = self.script.rules.iter().position(|(text, _)| contains_text(&asked.body, text));
        let mut progress = self.progress();
        let (place, turn, name, scripted) = match rule {
            Some(rule) => (self.script.turns.len() + rule, None, format!("match{rule}"), &self.script.rules[rule].1),
            None => {
                let same = progress.faulted.take().filter(|(request, _)| *request == fingerprint(asked));
                let turn = match same {
                    Some((_, turn)) => turn,
                    None => self.turn(&progress, asked)?,
                };
                if self.script.advance == Advance::Call && same.is_none() {
                    progress.next += 1;
                }
                (turn, Some(turn), turn.to_string(), &self.script.turns[turn])
            }
        };
        let again = progress.given[place];
        progress.given[place] += 1;
        let number = progress.answers;
        progress.answers += 1;
        drop(progress);
        let key = |index: usize| match again {
            0 => format!("{name}_{index}"),
            again => format!("{name}_{index}_r{again}"),
        };
        let tools = scripted.tools.iter().enumerate();
        let reply = Reply {
            number,
            id: None,
            model: asked.model.clone(),
            content: scripted.content.clone(),
            tools: tools
                .map(|(index, (name, arguments))| ReplyTool {
                    key: key(index),
                    id: None,
                    name: name.clone(),
                    arguments: arguments.clone(),
                    broken: None,
                })
                .collect(),
            tokens: TokenCount::default(),
            choices,
            include_usage: asked.body["stream_options"]["include_usage"] == true,
            finish: Finish::Natural,
        };
        let tokens = tokens(scripted, &reply, asked);
        Ok(Played { reply: Reply { tokens, ..reply }, turn, delay: scripted.delay })
    }

    /// Offers the same turn again when a request whose answer a fault changed is repeated right away.
    pub(super) fn offer_again(&self, asked: &ModelRequest, turn: Option<usize>) {
        self.progress().faulted = turn.map(|turn| (fingerprint(asked), turn));
    }

    /// The turn that is next.
    fn turn(&self, progress: &Progress, asked: &ModelRequest) -> Result<usize, Refusal> {
        let (turns, dialect) = (self.script.turns.len(), asked.route.dialect);
        let next = match self.script.advance {
            Advance::Call => progress.next,
            Advance::Transcript => self.script.after(tool_results(dialect, &asked.body).len()),
        };
        match (next < turns, self.script.on_exhausted) {
            (true, _) => Ok(next),
            (false, Exhausted::RepeatLast) if turns > 0 => Ok(turns - 1),
            _ => Err(exhausted(turns)),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number that tells requests apart.
fn fingerprint(asked: &ModelRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    asked.body.to_string().hash(&mut hasher);
    hasher.finish()
}

/// The refusal of a script that has no more to say.
fn exhausted(turns: usize) -> Refusal {
    let message = match turns {
        0 => "no `match` rule of the script answers this request, and it has no `turns`".to_owned(),
        turns => format!("all {turns} turns of the script were used; add a turn, or set `on_exhausted: repeat_last`"),
    };
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, EXHAUSTED, message)
}

/// The code of a script that has no more to say.
pub(super) const EXHAUSTED: &str = "script_exhausted";

fn choices(asked: &ModelRequest) -> Result<usize, Refusal> {
    let choices = match (&asked.body["n"], asked.route.dialect) {
        (Json::Null, _) | (_, Dialect::Responses | Dialect::Messages) => Some(1),
        (given, _) => given.as_u64().filter(|given| (1..=MOST_CHOICES).contains(given)),
    };
    choices
        .and_then(|choices| usize::try_from(choices).ok())
        .ok_or_else(|| Refusal::invalid(format!("`n` must be a number from 1 to {MOST_CHOICES}")))
}

/// Returns the tokens of an answer: as the script says, and estimated where it does not.
fn tokens(turn: &ScriptedTurn, reply: &Reply, asked: &ModelRequest) -> TokenCount {
    let given = |count: u64, estimate: usize| if count > 0 { count } else { (estimate as u64).div_ceil(4) };
    TokenCount {
        input: given(turn.prompt_tokens, asked.size),
        output: given(turn.completion_tokens, reply.characters() * reply.choices),
        cache_read: 0,
        estimated: turn.prompt_tokens == 0 || turn.completion_tokens == 0,
    }
}
