//! A rule applied to the replicas of a cell, several of which may run at once.

use std::collections::BTreeSet;

use super::{Decision, Rule};
use crate::statistics::Share;

/// So many replicas of a cell may be open before those that have ended, for it to be known which of the others cannot matter.
const MOST_OPEN: usize = 32;

/// A planned replica, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replica {
    /// It ended and passed.
    Passed,
    /// It ended and did not pass.
    Failed,
    /// It could not be judged, or will not be run any more, so it is left out.
    LeftOut,
    /// It has not ended.
    Open,
}

/// Where the replicas of a cell stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// What was decided; `None` when nothing was.
    pub decision: Option<Decision>,
    /// Those that count: the judged ones from the first replica up to the decision, or to the first one that has not ended.
    pub counted: Share,
    /// How many replicas those are, with the ones that could not be judged.
    pub followed: usize,
    /// How many of all planned ones can matter: those after them have no say, however the open ones end.
    pub needed: usize,
    /// Whether nothing more is to come: it is decided, or all have ended.
    pub is_over: bool,
}

impl Course {
    /// Follows the replicas of a cell in the order of the plan.
    #[must_use]
    pub fn follow(rule: &Rule, replicas: &[Replica]) -> Self {
        let mut counted = Share::default();
        for (index, replica) in replicas.iter().enumerate() {
            match replica {
                Replica::Passed | Replica::Failed => counted.add(*replica == Replica::Passed),
                Replica::LeftOut => continue,
                Replica::Open => {
                    let needed = needed(rule, replicas, index, counted);
                    return Self { decision: None, counted, followed: index, needed, is_over: false };
                }
            }
            if let Some(decision) = rule.decide(counted) {
                let followed = index + 1;
                return Self { decision: Some(decision), counted, followed, needed: followed, is_over: true };
            }
        }
        let all = replicas.len();
        Self { decision: None, counted, followed: all, needed: all, is_over: true }
    }
}

/// How many replicas can matter, from the first open one on: all ways in which open ones can end are followed as far as there is
/// one that has ended. When every way has come to a decision by then, nothing after that counts.
fn needed(rule: &Rule, replicas: &[Replica], first_open: usize, counted: Share) -> usize {
    let is_open = |replica: &Replica| *replica == Replica::Open;
    let ended = replicas.iter().rposition(|replica| !is_open(replica)).map_or(0, |last| last + 1);
    let open = replicas.iter().take(ended).skip(first_open).filter(|replica| is_open(replica)).count();
    if open > MOST_OPEN {
        return replicas.len();
    }
    let mut ways = BTreeSet::from([(counted.judged, counted.passed)]);
    for (index, replica) in replicas.iter().enumerate().take(ended).skip(first_open) {
        ways = ways.into_iter().flat_map(|way| next(way, *replica)).filter(|way| is_undecided(rule, *way)).collect();
        if ways.is_empty() {
            return index + 1;
        }
    }
    replicas.len()
}

/// The counts that can come after these: an open replica can pass, fail, or not be judged.
fn next((judged, passed): (usize, usize), replica: Replica) -> Vec<(usize, usize)> {
    let (pass, fail, left_out) = ((judged + 1, passed + 1), (judged + 1, passed), (judged, passed));
    match replica {
        Replica::Passed => vec![pass],
        Replica::Failed => vec![fail],
        Replica::LeftOut => vec![left_out],
        Replica::Open => vec![pass, fail, left_out],
    }
}

fn is_undecided(rule: &Rule, (judged, passed): (usize, usize)) -> bool {
    rule.decide(Share { passed, judged }).is_none()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Course, Decision, Replica, Rule};

    fn sprt() -> Rule {
        Rule { bar: 0.9, margin: Some(0.2), alpha: 0.05, beta: 0.05 }
    }

    fn replicas(words: &str) -> Vec<Replica> {
        let replica = |letter| match letter {
            'p' => Replica::Passed,
            'f' => Replica::Failed,
            'e' => Replica::LeftOut,
            _ => Replica::Open,
        };
        words.chars().map(replica).collect()
    }

    fn follow(words: &str) -> Course {
        Course::follow(&sprt(), &replicas(words))
    }

    #[test]
    fn the_first_decision_in_the_order_of_the_plan_counts() {
        let course = follow("fffpppppppppppppppppp");
        assert_eq!((course.decision, course.followed), (Some(Decision::Missed), 3));
        let course = follow("ppppppppppppffff");
        assert_eq!((course.decision, course.followed, course.counted.passed), (Some(Decision::Reached), 12, 12));
    }

    #[test]
    fn what_could_not_be_judged_is_left_out_and_not_waited_for() {
        let course = follow("feff....");
        assert_eq!((course.decision, course.followed, course.counted.judged), (Some(Decision::Missed), 4, 3));
    }

    #[test]
    fn an_open_replica_holds_the_decision_up() {
        let course = follow("ff.ff...");
        assert_eq!((course.decision, course.followed, course.is_over), (None, 2, false));
        assert_eq!(course.needed, 4, "however it ends, the next two decide");
        assert_eq!(follow("p.pp....").needed, 8);
    }

    #[test]
    fn it_is_undecided_when_all_have_ended_without_a_decision() {
        let course = follow("fpfpe");
        assert_eq!((course.decision, course.is_over, course.followed, course.counted.judged), (None, true, 5, 4));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_order_in_which_replicas_end_never_changes_the_decision(
            ends in prop::collection::vec(prop_oneof![3 => Just(Replica::Passed), 1 => Just(Replica::Failed), 1 => Just(Replica::LeftOut)], 1..24),
            order in Just((0..24_usize).collect::<Vec<_>>()).prop_shuffle(),
            margin in prop::option::of(0.1..0.4_f64),
        ) {
            let rule = Rule { bar: 0.8, margin, alpha: 0.1, beta: 0.1 };
            let whole = Course::follow(&rule, &ends);
            let mut seen = vec![Replica::Open; ends.len()];
            let mut decided = None;
            for index in order.into_iter().filter(|index| *index < ends.len()) {
                seen[index] = ends[index];
                let course = Course::follow(&rule, &seen);
                // A decision stays, and what is called not needed has no part in it.
                decided = decided.or(course.decision);
                prop_assert_eq!(decided, course.decision);
                prop_assert!(whole.decision.is_none() || course.needed >= whole.followed);
                prop_assert!(course.needed == ends.len() || whole.decision.is_some());
            }
            prop_assert_eq!(Course::follow(&rule, &seen), whole);
        }
    }
}
