//! Judges the record of a scenario's model: a script that was too short or too long, a recording that had no answer.

use crate::evidence::{Evidence, ModelRecord};
use crate::spec::Spec;
use crate::spec::sections::Model;
use crate::{count_noun, count_noun_as};

/// Maximum number of misses of a recording that are reported in full.
const TOLD_MISSES: usize = 3;

/// The offences that fail the scenario, and the notes that are only remarks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ModelJudgement {
    pub(super) offences: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Judges how the agent used its model.
pub(super) fn judge(spec: &Spec, evidence: &Evidence) -> ModelJudgement {
    let mut judgement = ModelJudgement::default();
    if let (Some(model), Some(record)) = (&spec.model, &evidence.model) {
        judgement.exhausted(model, record);
        judgement.unused(model, record);
        judgement.missed(record);
    }
    judgement
}

impl ModelJudgement {
    fn exhausted(&mut self, model: &Model, record: &ModelRecord) {
        if record.exhausted {
            let turns = count_noun_as(model.turns.len(), "turn holds", "turns hold");
            self.offences.push(format!(
                "script_exhausted: the agent asked the model for more than the script's {turns}; add turns, or set `on_exhausted: repeat_last`"
            ));
        }
    }

    fn unused(&mut self, model: &Model, record: &ModelRecord) {
        if record.unused_turns.is_empty() {
            return;
        }
        let (count, turns) = (record.unused_turns.len(), count_noun(model.turns.len(), "turn"));
        let numbers: Vec<_> = record.unused_turns.iter().take(20).map(ToString::to_string).collect();
        let more = if count > numbers.len() { ", …" } else { "" };
        let was = if count == 1 { "was" } else { "were" };
        let what = format!("{count} of the script's {turns} {was} not used: {}{more}", numbers.join(", "));
        if model.require_all_turns {
            self.offences.push(format!("{what} (`require_all_turns`)"));
        } else {
            self.notes.push(what);
        }
    }

    fn missed(&mut self, record: &ModelRecord) {
        self.offences.extend(record.misses.iter().take(TOLD_MISSES).map(|miss| format!("replay_miss: {miss}")));
        if let Some(more) = record.misses.len().checked_sub(TOLD_MISSES).filter(|more| *more > 0) {
            self.offences
                .push(format!("replay_miss: {} had no answer in the recording", count_noun(more, "more request")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelJudgement, judge};
    use crate::evidence::{Evidence, ModelRecord};
    use crate::plan::{PlanOptions, expand};
    use crate::result::{RowStatus, ScenarioResult};
    use crate::spec::{Spec, load};

    fn spec(more: &str) -> Spec {
        let text = format!(
            "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             model: {{mode: scripted, turns: [{{content: a}}, {{content: b}}]{more}}}\n\
             invariants: {{x: {{description: x, weight: 1, check: {{type: file_exists, path: x}}}}}}\nscoring: {{pass_threshold: 0}}\n"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
    }

    fn judged(more: &str, record: ModelRecord) -> ModelJudgement {
        judge(&spec(more), &Evidence { model: Some(record), ..Evidence::default() })
    }

    #[test]
    fn a_script_that_was_too_short_fails_the_scenario() {
        let judgement = judged("", ModelRecord { exhausted: true, ..ModelRecord::default() });
        assert!(judgement.offences[0].starts_with("script_exhausted: ") && judgement.notes.is_empty());
        assert_eq!(judged("", ModelRecord::default()), ModelJudgement::default());
    }

    #[test]
    fn unused_turns_are_a_remark_unless_all_are_required() {
        let unused = || ModelRecord { unused_turns: vec![1], ..ModelRecord::default() };
        assert_eq!(judged("", unused()).notes, ["1 of the script's 2 turns was not used: 1"]);
        let required = judged(", require_all_turns: true", unused());
        assert_eq!(
            (required.offences.as_slice(), required.notes.len()),
            (&["1 of the script's 2 turns was not used: 1 (`require_all_turns`)".to_owned()][..], 0)
        );
    }

    #[test]
    fn misses_are_told_and_counted() {
        let misses = (0..5).map(|miss| format!("m{miss}")).collect();
        let judgement = judged("", ModelRecord { misses, ..ModelRecord::default() });
        assert_eq!(judgement.offences.len(), 4);
        assert_eq!(judgement.offences[3], "replay_miss: 2 more requests had no answer in the recording");
    }

    #[test]
    fn an_offence_of_the_model_fails_whatever_could_not_be_judged() {
        let spec = spec("");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let status = |record| {
            let evidence = Evidence { model: Some(record), ..Evidence::default() };
            let result = ScenarioResult::judge(&spec, &plan.scenarios[0], &evidence);
            (result.status, result.offences.len())
        };
        assert_eq!(status(ModelRecord::default()), (RowStatus::Error, 0), "there is no answer to the check's probe");
        assert_eq!(status(ModelRecord { exhausted: true, ..ModelRecord::default() }), (RowStatus::Fail, 1));
    }
}
