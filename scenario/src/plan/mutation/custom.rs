//! `custom`: the templates of the spec, with the prompt in its place.

use serde_json::Value as Json;

use crate::plan::Mutation;
use crate::spec::sections::{MutationKind, Mutations};
use crate::spec::template::{Bindings, Reference};

/// The text of a custom mutation; `None` for every other kind.
pub(in crate::plan) fn from_template(
    mutation: Mutation,
    settings: Option<&Mutations>,
    prompt: &str,
    bindings: &dyn Bindings,
) -> Option<String> {
    if mutation.kind != MutationKind::Custom {
        return None;
    }
    let templates = settings?.templates.as_ref()?;
    let template = templates.get(usize::try_from(mutation.index).ok()?)?;
    Some(template.render(&WithPrompt { prompt, bindings }))
}

/// The bindings of a scenario, with the prompt as it was before it is mutated.
struct WithPrompt<'a> {
    prompt: &'a str,
    bindings: &'a dyn Bindings,
}

impl Bindings for WithPrompt<'_> {
    fn value(&self, reference: &Reference) -> Option<Json> {
        match reference {
            Reference::TaskPrompt => Some(self.prompt.into()),
            other => self.bindings.value(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::plan::{PlanOptions, Values, expand};
    use crate::spec::load;

    const SPEC: &str = "
version: 1
id: greeting
base: debian
agent: {type: noop}
task: {prompt: 'Say {{ params.word }}.'}
parallelism: {matrix: {word: [hello, bye]}}
invariants: {polite: {description: It greets, check: {type: contains, value: hello}}}
mutations:
  count: 1
  types: [typos, custom]
  templates: ['{{ task.prompt }} In one word ({{ params.word }})!', 'Politely: {{ task.prompt }}']
";

    #[test]
    fn each_template_is_one_mutation_of_each_prompt() {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let secrets = BTreeMap::new();
        let custom = plan.scenarios.iter().filter(|scenario| scenario.id.as_str().starts_with("mutation-custom"));
        let prompts: Vec<_> = custom.map(|scenario| Values::with_secrets(&spec, scenario, &secrets).prompt()).collect();
        assert_eq!(
            prompts,
            [
                "Say hello. In one word (hello)!",
                "Politely: Say hello.",
                "Say bye. In one word (bye)!",
                "Politely: Say bye."
            ]
        );
    }

    #[test]
    fn templates_come_besides_the_count_and_without_types_are_used_too() {
        let counts = |settings: &str| -> Vec<String> {
            let settings: super::Mutations = crate::checks::testing::read(settings);
            settings.counts().iter().map(|(kind, count)| format!("{kind} {count}")).collect()
        };
        let templates = "templates: ['{{ task.prompt }} A', '{{ task.prompt }} B']";
        assert_eq!(
            counts(&format!("{{count: 3, types: [custom, typos, case], {templates}}}")),
            ["custom 2", "typos 2", "case 1"]
        );
        let all = counts(&format!("{{count: 13, {templates}}}"));
        assert_eq!((all.len(), all.last().map(String::as_str)), (14, Some("custom 2")));
        assert_eq!(counts("{count: 13}").len(), 13, "without templates there is nothing to write");
    }
}
