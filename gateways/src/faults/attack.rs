//! Context attacks as rules: those on answers are decided for each call, the others stand from the start.

use scenario::chaos::is_planted;
use scenario::plan::Seed;
use scenario::spec::ToolMatcher;
use scenario::spec::sections::chaos::{AttackPlace, ContextAttack};
use scenario::spec::sections::{Chaos, ToolTarget};
use scenario::spec::types::ToolGlob;

use super::ledger::Ledger;
use super::rule::{Rule, RuleSet};

/// Makes the rules for the attacks of a scenario. Attacks that are there from the start count as done.
pub(super) fn rules(chaos: &Chaos, seed: Seed, ledger: &mut Ledger) -> RuleSet<Option<ToolMatcher>, ContextAttack> {
    let rules = chaos.context_attacks.enabled().map(|(id, attack)| {
        let (target, matcher) = target(attack);
        Rule { id, target, matcher, trigger: attack.trigger.clone(), mode: attack.clone() }
    });
    let rules = RuleSet::new(rules, seed, ledger);
    rules.fire_at_start(ledger, |rule| rule.matcher.is_none() && is_planted(&rule.mode, seed, &rule.id));
    rules
}

/// The place of an attack in words, and the calls whose answers carry it.
fn target(attack: &ContextAttack) -> (String, Option<ToolMatcher>) {
    match attack.place() {
        AttackPlace::Answer { tool, match_url, .. } => {
            let tool = tool.cloned().or_else(|| ToolGlob::new("*"));
            let target = tool.map(|tool| ToolTarget { tool, match_url: match_url.cloned() });
            let words = target.as_ref().map(|target| target.tool.to_string()).unwrap_or_default();
            (words, target.and_then(|target| ToolMatcher::new(&target)))
        }
        AttackPlace::Prompt(_) => ("prompt".to_owned(), None),
        AttackPlace::File(path, _) => (format!("file {}", path.map_or("", |path| path.source())), None),
    }
}
