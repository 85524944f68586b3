//! Caveats: facts that a reader must know to judge a result. A caveat changes no verdict, and stands beside it wherever
//! that is shown.

use serde::{Deserialize, Serialize};

use super::InvariantResult;
use crate::count_noun;
use crate::evidence::{Answer, Evidence, FaultRecord, RuleCount};
use crate::untrusted;

/// Maximum number of changed paths that are kept.
const KEPT_PATHS: usize = 20;
/// Maximum number of changed paths that are named.
const NAMED_PATHS: usize = 3;
/// Maximum length of a reason.
const MOST_WHY: usize = 400;
/// Maximum length of a name or a path.
const MOST_NAME: usize = 100;

/// The words of Flakestorm, which people know and search for; its `reset_endpoint` is `agent.reset` here.
const SHARED_STATE: &str = "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. Add reset_endpoint to your config for accurate isolation.";

/// A fact that a reader must know to judge a result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caveat {
    /// A check passed in the sandbox that the agent left, of which it had changed the image.
    ModifiedImage {
        /// The invariant.
        invariant: String,
        /// The first paths that were changed.
        changes: Vec<String>,
        /// Number of changed paths.
        total: usize,
    },
    /// A stand-in was used instead of the image that the spec names: programs of the host, or another image.
    StandIn {
        /// The image.
        image: String,
        /// The stand-in that was used.
        used: String,
        /// The backend that made the sandbox: `docker` or `local`.
        backend: String,
    },
    /// Faults were to be injected, and none was: the agent never made a call that a rule is about, or none at the right time.
    Vacuous {
        /// The rules that never fired, and how many calls each was about.
        rules: Vec<String>,
    },
    /// The agent answered the same prompt differently in a sandbox that the rules of a contract share, and nothing resets it.
    SharedState,
    /// The evidence is lost or cannot be read: only the judgement is shown. It is found when a report is made, and is
    /// not kept.
    LostEvidence {
        /// The scenario.
        scenario: String,
        /// The reason why it cannot be read.
        why: String,
    },
}

impl Caveat {
    /// The caveats of a scenario that was judged.
    pub(super) fn of(invariants: &[InvariantResult], evidence: &Evidence) -> Vec<Self> {
        let passed = invariants.iter().filter(|invariant| invariant.verdict.is_passed());
        let modified = passed.filter_map(|invariant| Self::modified_image(&invariant.name, evidence));
        let world = &evidence.world;
        let stood_in = world.images.iter().filter(|image| image.is_stand_in()).map(|image| Self::StandIn {
            image: image.reference.clone(),
            used: image.name.clone(),
            backend: world.backend.clone(),
        });
        let mut caveats: Vec<Self> = Vec::new();
        let vacuous = evidence.faults.as_ref().filter(|faults| faults.is_vacuous()).map(Self::vacuous);
        let shared = evidence.keeps_state.then_some(Self::SharedState);
        for caveat in modified.chain(stood_in).chain(vacuous).chain(shared) {
            if !caveats.contains(&caveat) {
                caveats.push(caveat);
            }
        }
        caveats
    }

    /// A scenario whose faults never fired.
    fn vacuous(faults: &FaultRecord) -> Self {
        Self::Vacuous { rules: Self::rules_of(faults) }
    }

    /// The first rules of a scenario, and how many calls each was about.
    pub(super) fn rules_of(faults: &FaultRecord) -> Vec<String> {
        let rule = |rule: &RuleCount| {
            format!(
                "{} ({} {}) was about {}",
                rule.rule,
                rule.mode,
                name(&rule.target),
                count_noun(rule.matched, "call")
            )
        };
        faults.rules.iter().take(NAMED_PATHS).map(rule).collect()
    }

    /// Returns the caveat of a check that ran in the sandbox, when the agent had changed the image there.
    fn modified_image(invariant: &str, evidence: &Evidence) -> Option<Self> {
        let changes = evidence.answers.get(invariant)?.iter().find_map(|answer| match answer {
            Answer::Command(answer) if !answer.image_changes.is_empty() => Some(&answer.image_changes),
            _ => None,
        })?;
        let kept = changes.iter().take(KEPT_PATHS).cloned().collect();
        Some(Self::ModifiedImage { invariant: invariant.to_owned(), changes: kept, total: changes.len() })
    }

    /// The word for its kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ModifiedImage { .. } => "modified_image",
            Self::StandIn { .. } => "stand_in",
            Self::Vacuous { .. } => "vacuous",
            Self::SharedState => "shared_state",
            Self::LostEvidence { .. } => "lost_evidence",
        }
    }

    /// Returns true if it is about the agent's actions, and not about where it ran.
    #[must_use]
    pub const fn is_about_the_agent(&self) -> bool {
        matches!(self, Self::ModifiedImage { .. })
    }

    /// All of it in one line that is safe to show.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::ModifiedImage { invariant, changes, total } => {
                let paths: Vec<_> = changes.iter().take(NAMED_PATHS).map(|path| name(path)).collect();
                let more =
                    if *total > paths.len() { format!(" and {} more", total - paths.len()) } else { String::new() };
                format!(
                    "`{}` passed on an image that the agent changed ({}{more}); `verify: fresh` would use the original",
                    name(invariant),
                    paths.join(", ")
                )
            }
            Self::StandIn { image, used, backend } => {
                format!("`{}` was not used: `{}` ({}) stood in for it", name(image), name(used), name(backend))
            }
            Self::Vacuous { rules } => {
                let rules: Vec<_> = rules.iter().map(|rule| untrusted::line(rule, MOST_WHY)).collect();
                format!("vacuous: no fault fired, so nothing was put to the test: {}", rules.join("; "))
            }
            Self::SharedState => SHARED_STATE.to_owned(),
            Self::LostEvidence { scenario, why } => {
                let why = untrusted::line(why, MOST_WHY);
                format!(
                    "the evidence of `{}` cannot be read, so what its agent printed is not here: {why}",
                    name(scenario)
                )
            }
        }
    }
}

fn name(text: &str) -> String {
    untrusted::line(text, MOST_NAME)
}

#[cfg(test)]
mod tests {
    use super::Caveat;
    use crate::evidence::{
        Answer, Captured, CommandAnswer, Evidence, Exit, FaultRecord, ImageRecord, RuleCount, World,
    };
    use crate::plan::{PlanOptions, expand};
    use crate::result::ScenarioResult;
    use crate::spec::load;

    const SPEC: &str = "
version: 1
id: test
base: debian
task: {prompt: x}
agent: {type: noop}
invariants:
  tests: {description: x, check: {type: command_exit, command: pytest}}
  lint: {description: x, check: {type: command_exit, command: lint}}
";

    fn judged(exits: [i32; 2], changes: &[&str], images: Vec<ImageRecord>) -> ScenarioResult {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let answer = |exit| {
            let image_changes = changes.iter().map(|path| (*path).to_owned()).collect();
            let exit = Some(Exit::Code(exit));
            vec![Answer::Command(CommandAnswer {
                exit,
                stdout: Captured::default(),
                stderr: Captured::default(),
                image_changes,
            })]
        };
        let evidence = Evidence {
            answers: [("tests".to_owned(), answer(exits[0])), ("lint".to_owned(), answer(exits[1]))].into(),
            world: World { backend: "local".to_owned(), images, ..World::default() },
            ..Evidence::default()
        };
        ScenarioResult::judge(&spec, &plan.scenarios[0], &evidence)
    }

    fn image(reference: &str, name: &str) -> ImageRecord {
        ImageRecord { reference: reference.to_owned(), name: name.to_owned(), digest: "sha256:0".to_owned() }
    }

    #[test]
    fn what_passed_on_a_changed_image_is_named() {
        let result = judged([0, 1], &["/usr/bin/pytest", "/usr/bin/a", "/b", "/c"], Vec::new());
        let [caveat] = result.caveats.as_slice() else { panic!("one: {:?}", result.caveats) };
        assert_eq!(caveat.kind(), "modified_image", "and not what failed there");
        assert_eq!(
            caveat.message(),
            "`tests` passed on an image that the agent changed (/usr/bin/pytest, /usr/bin/a, /b and 1 more); `verify: fresh` would use the original"
        );
        assert!(judged([0, 0], &[], Vec::new()).caveats.is_empty());
    }

    #[test]
    fn what_stood_in_for_an_image_is_named_once() {
        let host = image("debian", "host: Debian 12");
        let result = judged([0, 0], &[], vec![host.clone(), host, image("redis:7", "redis:7")]);
        let messages: Vec<_> = result.caveats.iter().map(Caveat::message).collect();
        assert_eq!(messages, ["`debian` was not used: `host: Debian 12` (local) stood in for it"]);
    }

    #[test]
    fn names_cannot_break_out_of_a_line() {
        let mut result = judged([0, 0], &["/usr/\n::error::x\u{1b}[2J"], vec![image("a\nb", "c\u{202e}")]);
        assert!(!result.caveats.is_empty());
        let (scenario, why) = ("default-r0".to_owned(), "a\nb\u{1b}".to_owned());
        result.caveats.push(Caveat::LostEvidence { scenario, why });
        for message in result.caveats.iter().map(Caveat::message) {
            assert!(!message.contains(['\n', '\u{1b}', '\u{202e}']), "{message}");
        }
    }

    #[test]
    fn results_of_earlier_versions_have_none() {
        let result = judged([0, 0], &["/usr/bin/pytest"], Vec::new());
        let mut value = serde_json::to_value(&result).expect("JSON");
        assert_eq!(value["caveats"][0]["kind"], "modified_image");
        assert_eq!(serde_json::from_value::<ScenarioResult>(value.clone()).expect("a result"), result);
        let fields = value.as_object_mut().expect("an object");
        fields.remove("caveats");
        fields.remove("ran_in");
        let old: ScenarioResult = serde_json::from_value(value).expect("an old result");
        assert!(old.caveats.is_empty() && old.ran_in.is_none());
    }

    #[test]
    fn an_agent_that_keeps_state_is_told_word_for_word() {
        let evidence = Evidence { keeps_state: true, ..Evidence::default() };
        let told: Vec<_> = Caveat::of(&[], &evidence).iter().map(Caveat::message).collect();
        assert_eq!(
            told,
            [
                "Warning: No reset_endpoint configured. Contract matrix cells may share state. Results may be contaminated. Add reset_endpoint to your config for accurate isolation."
            ]
        );
    }

    #[test]
    fn faults_that_never_fired_are_told() {
        let evidence = |fired| Evidence {
            faults: Some(FaultRecord {
                rules: vec![RuleCount {
                    rule: "tool_faults[0]".to_owned(),
                    mode: "error".to_owned(),
                    target: "shop".to_owned(),
                    matched: 2,
                    fired,
                }],
                ..FaultRecord::default()
            }),
            ..Evidence::default()
        };
        let told: Vec<_> = Caveat::of(&[], &evidence(0)).iter().map(Caveat::message).collect();
        let expected =
            "vacuous: no fault fired, so nothing was put to the test: tool_faults[0] (error shop) was about 2 calls";
        assert_eq!(told, [expected]);
        assert_eq!(Caveat::of(&[], &evidence(1)), []);
    }
}
