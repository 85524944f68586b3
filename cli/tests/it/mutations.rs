//! Mutations for real: an agent that understands the question however it is written, and one that does not.

use std::fs;

use serde_json::{Value as Json, json};

use crate::judge;
use crate::place::{IMAGE, Place};
use crate::root;

/// Runs a copy of the example whose agent gets this word; the place, the exit code, and the experiment.
fn run(word: &str, more: &[&str]) -> (Place, i32, Json) {
    let place = Place::new("");
    let (from, to) = (root().join("specs/mutations"), place.path().join("mutations"));
    fs::create_dir(&to).expect("a folder");
    for file in ["spec.yaml", "agent.py"] {
        let text = fs::read_to_string(from.join(file)).expect("the example");
        let command = "command: python3 agent.py";
        fs::write(to.join(file), text.replace(command, &format!("{command} {word}"))).expect("a copy");
    }
    let folder = to.display().to_string();
    let usual = ["run", "--backend", "local", "--format", "json", &folder];
    let (code, stdout, stderr) = place.run(&[&usual, more].concat());
    let report: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    (place, code, report["experiments"][0].clone())
}

/// The number of mutations of each kind that passed, and of all.
fn kinds(mutations: &Json) -> Vec<String> {
    let kinds = mutations["kinds"].as_array().expect("kinds").iter();
    let word = |kind: &Json| format!("{} {}/{}", kind["kind"], kind["passed"], kind["planned"]).replace('"', "");
    kinds.map(word).collect()
}

#[test]
fn a_robust_agent_passes_all_mutations_and_nobody_passes_none() {
    let (_, code, report) = run("", &[]);
    let mutations = &report["mutations"];
    assert_eq!((code, &mutations["robustness"], &mutations["failed"]), (0, &json!(1.0), &json!([])), "{report:#}");
    assert_eq!(report["overall"]["score"], json!(1.0));
    let (_, code, report) = run("", &["--agent", "noop"]);
    assert_eq!((code, &report["mutations"]["robustness"]), (1, &json!(0.0)));
}

#[test]
fn an_agent_that_reads_word_for_word_breaks_and_the_prompts_can_be_seen() {
    let (place, code, report) = run("literal", &[]);
    let mutations = &report["mutations"];
    assert_eq!((code, &mutations["verdict"]), (1, &json!("fail")), "{report:#}");
    let expected = [
        "typos 1/2",
        "case 0/2",
        "homoglyphs 1/2",
        "encoding_attacks 0/2",
        "whitespace 2/2",
        "format_poisoning 2/2",
        "prompt_injection 1/2",
        "multi_turn_attack 2/2",
        "custom 2/2",
    ];
    assert_eq!(kinds(mutations), expected);
    // (0.8 + 1.5 + 1.5 · 2 + 1.6 · 2 + 1.5 + 1.4 · 2 + 1.0 · 2) / 23
    assert_eq!(mutations["robustness"], json!(0.6435));
    let experiment = report["experiment_id"].as_str().expect("an id");
    let scenario = mutations["failed"][1]["scenario"].as_str().expect("a scenario");
    let (_, shown, stderr) = place.run(&["show", &format!("{experiment}/{scenario}")]);
    assert!(shown.contains("| WHEN IS THE SHOP OPEN ON SUNDAY? PLEASE NAME THE HOURS."), "{shown}{stderr}");
    let (_, again, _) = place.run(&["rescore", experiment]);
    assert!(again.contains("nothing changed"), "{again}");
}

#[test]
fn a_prompt_that_a_model_wrote_reaches_the_agent_and_is_judged_again() {
    let spec = format!(
        "version: 1\nid: written\nbase: {IMAGE}\ntask: {{prompt: Say hello}}\nagent: {{type: cli, command: cat}}\n\
         invariants: {{echoes: {{description: x, check: {{type: output_not_empty}}}}}}\n\
         mutations: {{types: [paraphrase], count: 1, model: paragon-fast}}\n"
    );
    let place = Place::new(&spec);
    let (code, _, stderr) = place.run_spec(&["--backend", "local"]);
    assert!(code == 4 && stderr.contains("`mutations.model` asks the model `paragon-fast`"), "{code}: {stderr}");
    judge::provide(&place.data(), 0.8);
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local"]);
    assert!(code == 0 && stdout.contains("mutations passed: robustness 1.0000"), "{stdout}{stderr}");
    let (_, shown, _) = place.run(&["show", "latest/mutation-paraphrase-0--default-r0", "--format", "json"]);
    let shown: Json = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"));
    let prompt = shown["evidence"]["prompt"].as_str().expect("a prompt");
    assert!(prompt.contains("it reads well"), "{prompt}");
    assert_eq!(shown["evidence"]["judge_usage"]["calls"], json!(1), "its tokens are not the agent's");
    assert_eq!(shown["evidence"]["usage"]["calls"], json!(0));
    let (_, again, _) = place.run(&["rescore", "latest"]);
    assert!(again.contains("nothing changed"), "{again}");
}
