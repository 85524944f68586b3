//! Judges the record of a recording of tools: calls that it has no answer to, and calls that were not made.

use crate::count_noun;
use crate::evidence::{Evidence, ToolRecord};

/// Maximum number of misses of a recording that are reported in full.
const TOLD_MISSES: usize = 3;

/// The offences that fail the scenario, and the notes that are only remarks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolJudgement {
    pub(super) offences: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Judges how the agent's calls met the recording.
pub(super) fn judge(evidence: &Evidence) -> ToolJudgement {
    let mut judgement = ToolJudgement::default();
    let Some(record) = &evidence.tools else { return judgement };
    judgement.missed(record);
    if record.unused > 0 {
        let calls = count_noun(usize::try_from(record.unused).unwrap_or(usize::MAX), "recorded call");
        judgement.notes.push(format!("the agent did not make {calls} of its tools"));
    }
    judgement
}

impl ToolJudgement {
    fn missed(&mut self, record: &ToolRecord) {
        self.offences.extend(record.misses.iter().take(TOLD_MISSES).map(|miss| format!("replay_miss: {miss}")));
        if let Some(more) = record.misses.len().checked_sub(TOLD_MISSES).filter(|more| *more > 0) {
            let calls = count_noun(more, "more call");
            self.offences.push(format!("replay_miss: {calls} of tools had no answer in the recording"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::evidence::{Evidence, ToolRecord};

    #[test]
    fn misses_fail_a_scenario_and_unused_calls_are_told() {
        let misses = (0..5).map(|miss| format!("m{miss}")).collect();
        let tools = Some(ToolRecord { misses, unused: 1, ..ToolRecord::default() });
        let judgement = judge(&Evidence { tools, ..Evidence::default() });
        assert_eq!(judgement.offences.len(), 4);
        assert_eq!(judgement.offences[3], "replay_miss: 2 more calls of tools had no answer in the recording");
        assert_eq!(judgement.notes, ["the agent did not make 1 recorded call of its tools"]);
        assert_eq!(judge(&Evidence::default()), super::ToolJudgement::default());
    }
}
