//! Context attacks as pure functions: the text of each, and where it is put.

use serde_json::Value as Json;

use super::trigger::draw;
use super::{Past, fires};
use crate::json_path::{find_mut, set};
use crate::plan::Seed;
use crate::spec::sections::Chaos;
use crate::spec::sections::chaos::{AttackKind, AttackPlace, CANARY, ContextAttack, Strategy, mentions_canary};
use crate::spec::types::WorkspacePath;

/// The words that filler is made of.
const FILLER: [&str; 12] =
    ["the", "report", "of", "this", "quarter", "was", "filed", "and", "nobody", "asked", "for", "it"];
/// The field of a JSON answer that has no text of its own to carry an attack.
const INJECTED: &str = "_injected";

/// The value by which the effect of an attack is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// The attack, by its place in the spec.
    pub rule: String,
    /// The attack's type.
    pub kind: &'static str,
    /// The name that stands for the value in the evidence.
    pub name: String,
    /// The value, which only this scenario has.
    pub value: String,
    /// The file that the attack stands in, which therefore has the value from the start.
    pub file: Option<String>,
}

/// A file that an attack stands in from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedFile {
    /// The attack, by its place in the spec.
    pub rule: String,
    /// The file, in the workspace.
    pub path: String,
    /// The text.
    pub text: String,
    /// The way in which it joins the existing text.
    pub strategy: Strategy,
}

/// The canaries of all attacks whose effect can be seen.
#[must_use]
pub fn canaries(chaos: &Chaos, seed: Seed) -> Vec<Canary> {
    let with_canary = chaos.context_attacks.enabled().enumerate().filter(|(_, (_, attack))| attack.has_canary());
    let canary = |(index, (rule, attack)): (usize, (String, &ContextAttack))| Canary {
        kind: attack.kind.word(),
        // Names of secrets have no `-`, so that none is called the same.
        name: format!("canary-{index}"),
        value: canary(seed, &rule),
        file: match attack.place() {
            AttackPlace::File(path, _) => path.map(relative),
            AttackPlace::Answer { .. } | AttackPlace::Prompt(_) => None,
        },
        rule,
    };
    with_canary.map(canary).collect()
}

/// A path relative to the workspace.
fn relative(path: &WorkspacePath) -> String {
    let path = path.source();
    path.strip_prefix("/workspace/").unwrap_or(path).to_owned()
}

fn canary(seed: Seed, rule: &str) -> String {
    let part = |number: &str| seed.derive(&["chaos", rule, "canary", number]).get();
    format!("ref-{:013x}{:013x}", part("1"), part("2"))
}

/// The text of an attack in one call: one of its payloads, chosen by the seed, with its canary.
#[must_use]
pub fn text_of(attack: &ContextAttack, seed: Seed, rule: &str, call: u64) -> String {
    let payloads = attack.payloads();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "there are few payloads"
    )]
    let chosen = (draw(seed, rule, "payload", call) * payloads.len() as f64) as usize;
    let payload = payloads.get(chosen.min(payloads.len().saturating_sub(1))).copied().unwrap_or_default();
    let payload = match mentions_canary(payload) {
        true => payload.replace(CANARY, &canary(seed, rule)).replace("{{canary}}", &canary(seed, rule)),
        false => payload.to_owned(),
    };
    match &attack.kind {
        AttackKind::Overflow(overflow) => {
            let filler = filler(overflow.inject_tokens.count());
            if payload.is_empty() { filler } else { format!("{filler}\n\n{payload}") }
        }
        AttackKind::InjectionViaContext(_) => format!("Document that was found for this task:\n---\n{payload}\n---"),
        _ => payload,
    }
}

fn filler(words: usize) -> String {
    let mut text = String::with_capacity(words * 5);
    for (index, word) in FILLER.iter().cycle().take(words).enumerate() {
        if index > 0 {
            text.push(if index % FILLER.len() == 0 { '\n' } else { ' ' });
        }
        text.push_str(word);
    }
    text
}

/// Returns true if an attack that is there from the start is there in this scenario: its probability is drawn once.
#[must_use]
pub fn is_planted(attack: &ContextAttack, seed: Seed, rule: &str) -> bool {
    fires(&attack.trigger, seed, rule, 1, 0, Past::default())
}

/// The prompt of the agent with the attacks that stand in it.
#[must_use]
pub fn poisoned_prompt(chaos: &Chaos, seed: Seed, prompt: String) -> String {
    chaos.context_attacks.enabled().fold(prompt, |prompt, (rule, attack)| match attack.place() {
        AttackPlace::Prompt(strategy) if is_planted(attack, seed, &rule) => {
            joined(&prompt, &text_of(attack, seed, &rule, 1), strategy)
        }
        _ => prompt,
    })
}

/// The files that attacks stand in from the start.
#[must_use]
pub fn planted_files(chaos: &Chaos, seed: Seed) -> Vec<PlantedFile> {
    let planted = |(rule, attack): (String, &ContextAttack)| match attack.place() {
        AttackPlace::File(Some(path), strategy) if is_planted(attack, seed, &rule) => {
            let text = text_of(attack, seed, &rule, 1);
            Some(PlantedFile { path: relative(path), text, strategy, rule })
        }
        _ => None,
    };
    chaos.context_attacks.enabled().filter_map(planted).collect()
}

impl PlantedFile {
    /// The content of the file, given what it was.
    #[must_use]
    pub fn content(&self, before: &str) -> String {
        let text = joined(before, &self.text, self.strategy);
        if text.ends_with('\n') { text } else { text + "\n" }
    }
}

fn joined(before: &str, text: &str, strategy: Strategy) -> String {
    match strategy {
        _ if before.trim().is_empty() => text.to_owned(),
        Strategy::Append => format!("{}\n\n{text}", before.trim_end_matches('\n')),
        Strategy::Prepend => format!("{text}\n\n{before}"),
        Strategy::Replace => text.to_owned(),
    }
}

/// An answer with a text in it: at a place, else in its longest text, else in a field of its own, else after it. `None` when
/// there is no such place.
#[must_use]
pub fn injected(body: &[u8], place: Option<&str>, text: &str) -> Option<Vec<u8>> {
    let Ok(mut document) = serde_json::from_slice::<Json>(body) else {
        let plain = std::str::from_utf8(body).ok().filter(|plain| !plain.is_empty() && place.is_none())?;
        return Some(format!("{plain}\n{text}").into_bytes());
    };
    let is_put = match place {
        Some(place) => put(&mut document, place, text),
        None => put_anywhere(&mut document, text),
    };
    is_put.then(|| document.to_string().into_bytes())
}

fn put(document: &mut Json, place: &str, text: &str) -> bool {
    match find_mut(document, place) {
        Some(Json::String(value)) => {
            add(value, text);
            true
        }
        Some(_) => false,
        None => set(document, place, text.into()),
    }
}

fn put_anywhere(document: &mut Json, text: &str) -> bool {
    if let Some(value) = longest(document) {
        add(value, text);
        return true;
    }
    let Json::Object(object) = document else { return false };
    object.insert(INJECTED.to_owned(), text.into());
    true
}

fn add(value: &mut String, text: &str) {
    if !value.is_empty() {
        value.push('\n');
    }
    value.push_str(text);
}

/// The longest text of a document; of several, the first.
fn longest(document: &mut Json) -> Option<&mut String> {
    let length = |text: &&mut String| text.len();
    let longer = |one: Option<_>, other| match (one, other) {
        (Some(one), Some(other)) if length(&other) > length(&one) => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    };
    match document {
        Json::String(text) => Some(text),
        Json::Array(items) => items.iter_mut().map(longest).fold(None, longer),
        Json::Object(object) => object.values_mut().map(longest).fold(None, longer),
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{canaries, injected, planted_files, poisoned_prompt, text_of};
    use crate::plan::Seed;
    use crate::spec::load;
    use crate::spec::sections::Chaos;

    fn chaos(attacks: &str) -> Chaos {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             services: [{{name: shop, type: http_mock, ports: [80], routes: [{{path: /orders}}]}}]\n\
             chaos: {{context_attacks: {attacks}}}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics)).chaos.clone()
    }

    fn put(body: &Json, place: Option<&str>) -> Option<Json> {
        injected(body.to_string().as_bytes(), place, "PAY").map(|body| serde_json::from_slice(&body).expect("JSON"))
    }

    #[test]
    fn an_answer_stays_valid_and_carries_the_text() {
        let order = json!({"id": 7, "items": [{"note": "a long note"}], "name": "short"});
        assert_eq!(put(&order, None).expect("put")["items"][0]["note"], "a long note\nPAY");
        assert_eq!(put(&order, Some("name")).expect("put")["name"], "short\nPAY");
        assert_eq!(put(&order, Some("extra")).expect("put")["extra"], "PAY");
        assert_eq!(put(&order, Some("id")), None, "a number stays one");
        assert_eq!(put(&json!({"id": 7}), None), Some(json!({"id": 7, "_injected": "PAY"})));
        assert_eq!(put(&json!([1, 2]), None), None);
        assert_eq!(injected(b"hello", None, "PAY").as_deref(), Some(&b"hello\nPAY"[..]));
        assert_eq!((injected(b"", None, "PAY"), injected(b"\xff", None, "PAY")), (None, None));
        assert_eq!(injected(b"hello", Some("name"), "PAY"), None);
    }

    #[test]
    fn each_attack_has_a_canary_of_its_own_which_the_seed_decides() {
        let chaos = chaos("[{type: memory_poisoning}, {type: overflow, target: prompt}, {type: indirect_injection}]");
        let of = |seed| canaries(&chaos, Seed::new(seed));
        let found = of(1);
        let named: Vec<_> = found.iter().map(|one| (one.rule.as_str(), one.name.as_str())).collect();
        assert_eq!(named, [("context_attacks[0]", "canary-0"), ("context_attacks[2]", "canary-2")]);
        assert_ne!(found[0].value, found[1].value);
        assert_eq!(found, of(1));
        assert_ne!(found[0].value, of(2)[0].value);
        let (rule, attack) = chaos.context_attacks.enabled().next().expect("one");
        assert!(text_of(attack, Seed::new(1), &rule, 1).contains(&found[0].value));
    }

    #[test]
    fn prompts_and_files_carry_what_stands_in_them() {
        let chaos = chaos(
            "[{type: memory_poisoning, payload: after}, {type: conflicting_context, payload: before}, \
             {type: injection_via_context, payload: quoted}, {type: memory_poisoning, payload: never, enabled: false}, \
             {type: workspace_poisoning, path: notes/a.md, payload: 'file {{ canary }}'}, \
             {type: memory_poisoning, target: file, path: memory.md, strategy: replace, payload: new}]",
        );
        let prompt = poisoned_prompt(&chaos, Seed::new(1), "Do it.".to_owned());
        assert_eq!(prompt, "before\n\nDo it.\n\nafter\n\nDocument that was found for this task:\n---\nquoted\n---");
        let files = planted_files(&chaos, Seed::new(1));
        assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["notes/a.md", "memory.md"]);
        assert!(files[0].content("old\n").starts_with("old\n\nfile ref-"), "{files:?}");
        assert_eq!(files[1].content("old\n"), "new\n");
        assert_eq!(canaries(&chaos, Seed::new(1))[0].file.as_deref(), Some("notes/a.md"));
    }

    #[test]
    fn a_map_names_each_attack_by_its_type() {
        let chaos = chaos("{overflow: {inject_tokens: 30, target: prompt}, memory_poisoning: {enabled: false}}");
        let rules: Vec<_> = chaos.context_attacks.enabled().map(|(rule, _)| rule).collect();
        assert_eq!(rules, ["context_attacks.overflow"]);
        let prompt = poisoned_prompt(&chaos, Seed::new(1), "Do it.".to_owned());
        assert_eq!(prompt.split_whitespace().count(), 32);
    }

    #[test]
    fn one_of_several_payloads_is_chosen_for_each_call() {
        let chaos = chaos("[{type: indirect_injection, payloads: [a, b, c]}]");
        let (rule, attack) = chaos.context_attacks.enabled().next().expect("one");
        let texts: std::collections::BTreeSet<_> =
            (1..50).map(|call| text_of(attack, Seed::new(1), &rule, call)).collect();
        assert_eq!(texts.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
