//! Scores that are given afterwards: rules, runs that somebody wants to be scored, and what came of it.

mod requests;
mod rules;
mod written;

pub use requests::ScoreRequest;
pub use rules::{NewScoreRule, ScoreRule};
pub use written::{NewScore, Score, ScoreFilter};
