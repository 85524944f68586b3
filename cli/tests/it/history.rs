//! `list`, `show`, `rescore`, `cancel` and `gc`, on experiments that are kept.

use std::fs;
use std::time::Duration;

use engine::owner::Owner;
use store::{Lane, RunState};

use crate::seeded::{Progress, SPEC, Seeded, minute, uuid};
use crate::{read, touchstone};

/// The first scenario of the spec.
const ENGLISH: &str = "english";

/// The id of the scenario in a language.
fn scenario(seeded: &Seeded, reference: &str, language: &str) -> String {
    let report = seeded.json(&["show", reference, "--format", "json"]);
    let scenarios = report["scenarios"].as_array().expect("scenarios");
    let found = scenarios.iter().find(|scenario| scenario["parameters"]["language"] == language);
    format!("{reference}/{}", found.expect("the scenario")["scenario_id"].as_str().expect("an id"))
}

/// Returns the table without ages and without the padding for them, so that it is the same every day.
fn without_ages(table: &str) -> String {
    let row = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_age = |index: usize| words.get(index + 1).is_some_and(|next| *next == "days");
        let shown = words.iter().enumerate().map(|(index, word)| if is_age(index) { "N" } else { word });
        shown.collect::<Vec<_>>().join(" ")
    };
    table.lines().filter(|line| line.starts_with('│')).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_store_says_what_to_do() {
    let seeded = Seeded::new();
    assert_eq!(seeded.printed(&["list"]), "no experiments yet; `touchstone run SPEC` makes one\n");
    assert_eq!(seeded.json(&["list", "--format", "json"]), serde_json::json!([]));
    let (code, _, stderr) = seeded.run(&["show", "latest"]);
    assert!(code == 2 && stderr.contains("there is no experiment yet"), "{stderr}");
}

#[test]
fn experiments_are_listed_newest_first() {
    let seeded = Seeded::new();
    seeded.experiment(1, ["hello", "hello"], minute(1));
    seeded.experiment(2, ["hello", "nothing"], minute(2));
    let dead = Lane::Own(uuid(0xd, 1));
    seeded.experiment_in(dead, 3, ["hello", "hello"], minute(3), Progress::HalfWay);
    let owner = Owner::register(seeded.data_dir()).expect("an owner");
    seeded.experiment_in(Lane::Own(owner.id()), 4, ["hello", "hello"], minute(4), Progress::Waiting);
    insta::assert_snapshot!(without_ages(&seeded.printed(&["list"])));
    insta::assert_json_snapshot!(seeded.json(&["list", "--format", "json", "--limit", "2"]));
    assert_eq!(seeded.json(&["list", "--format", "json", "--spec", "greeting"]).as_array().map(Vec::len), Some(4));
    assert!(seeded.printed(&["list", "--spec", "other"]).starts_with("no experiments of `other`"));
}

#[test]
fn an_experiment_is_shown_in_every_format() {
    let seeded = Seeded::new();
    seeded.fail_and_finish();
    insta::assert_snapshot!("experiment_text", seeded.printed(&["show", "latest"]));
    for format in ["json", "junit", "markdown"] {
        insta::assert_snapshot!(
            format!("experiment_{format}"),
            seeded.printed(&["show", "latest", "--format", format])
        );
    }
}

impl Seeded {
    /// An experiment of which one scenario needed a second attempt, and the other failed.
    fn fail_and_finish(&self) {
        self.experiment_in(Lane::Shared, 1, ["", ""], minute(1), Progress::Waiting);
        self.fail_once(Lane::Shared, minute(2));
        self.finish_next(Lane::Shared, "hello", minute(3));
        self.finish_next(Lane::Shared, "nothing", minute(4));
    }
}

#[test]
fn an_open_run_shows_what_has_ended_so_far() {
    let seeded = Seeded::new();
    let dead = Lane::Own(uuid(0xd, 1));
    seeded.experiment_in(dead, 1, ["hello", "hello"], minute(1), Progress::HalfWay);
    let text = seeded.printed(&["show", "latest"]);
    assert!(text.contains("interrupted: 1 of 2 scenarios have ended"), "{text}");
    assert!(text.contains("not run 1") && text.contains("attempt 1: running"), "{text}");
}

#[test]
fn a_scenario_is_shown_with_its_verdicts_and_its_evidence() {
    let seeded = Seeded::new();
    seeded.fail_and_finish();
    for language in [ENGLISH, "german"] {
        let name = scenario(&seeded, "latest", language);
        insta::assert_snapshot!(format!("scenario_{language}"), seeded.printed(&["show", &name]));
    }
    let name = scenario(&seeded, "latest", ENGLISH);
    assert_eq!(seeded.printed(&["show", &name, "--output"]), "greeting ␛[31mred\na warning\n");
    let events = seeded.printed(&["show", &name, "--events"]);
    let kinds: Vec<_> = events.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(kinds[0].starts_with("0.000 s english") && kinds[0].ends_with("claimed"), "{events}");
    assert!(kinds[1].starts_with("0.250 s english") && kinds[1].ends_with("agent_started"), "{events}");
    let (code, _, stderr) = seeded.run(&["show", &name, "--format", "junit"]);
    assert!(code == 2 && stderr.contains("text or json"), "{stderr}");
    let (code, _, stderr) = seeded.run(&["show", "latest", "--output"]);
    assert!(code == 2 && stderr.contains("say which scenario"), "{stderr}");
    let json = seeded.json(&["show", &name, "--format", "json"]);
    assert_eq!(json["result"]["agent_stderr"], "a warning\n");
    assert_eq!(
        json["attempts"].as_array().map(Vec::len),
        Some(1 + usize::from(json["attempts"][0]["outcome"] != "judged"))
    );
    let evidence = seeded.printed(&["show", &name, "--evidence"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&evidence).expect("JSON"), json["evidence"]);
    let last = json["attempts"].as_array().and_then(|attempts| attempts.last()).expect("an attempt");
    assert_eq!(last["evidence_bytes"], evidence.len(), "nothing is added");
}

#[test]
fn lost_evidence_is_named_and_the_rest_is_shown() {
    let seeded = Seeded::new();
    let id = seeded.experiment(1, [&"hello ".repeat(10_000), "hello"], minute(1));
    seeded.experiment(2, ["hello", "hello"], minute(2));
    let lost = scenario(&seeded, "latest~1", ENGLISH);
    let name = lost.split('/').nth(1).expect("a scenario");
    let file = seeded.path().join(format!("data/evidence/{id}/1/{name}/1/evidence.json"));
    fs::remove_file(&file).expect("large evidence");
    let loss = format!("the evidence of `{name}` cannot be read");
    for format in ["text", "json", "junit", "markdown"] {
        let shown = seeded.printed(&["show", "latest~1", "--format", format]);
        assert!(shown.contains(&loss) && shown.contains("german"), "{format}: {shown}");
    }
    let shown = seeded.printed(&["show", &lost]);
    assert!(shown.contains(&loss) && shown.contains("attempt 1: judged"), "{shown}");
    let shown = seeded.json(&["show", &lost, "--format", "json"]);
    assert_eq!((&shown["status"], &shown["evidence"]), (&"pass".into(), &serde_json::Value::Null));
    let caveats = shown["result"]["caveats"].as_array().expect("caveats");
    assert!(caveats.iter().any(|caveat| caveat["kind"] == "lost_evidence" && caveat["scenario"] == name), "{shown:#}");
    let (code, compared, stderr) = seeded.run(&["compare", "latest~1", "latest"]);
    assert_eq!(code, 0, "{compared}{stderr}");
    // Whoever asks for the evidence itself is told why there is none.
    let (code, _, stderr) = seeded.run(&["show", &lost, "--evidence"]);
    assert!(code == 4 && stderr.contains("is gone"), "{code}: {stderr}");
}

#[test]
fn references_that_name_nothing_or_too_much_are_refused() {
    let seeded = Seeded::new();
    seeded.experiment(1, ["hello", "hello"], minute(1));
    seeded.experiment(2, ["hello", "hello"], minute(2));
    for (reference, wanted) in [
        ("ffffffff", "there is no experiment `ffffffff`; `touchstone list`"),
        ("0e00", "several experiments"),
        ("latest#2", "has no such run"),
        ("latest/nowhere", "the run has no scenario `nowhere`; it has english"),
        ("hello", "names no experiment"),
        ("latest#x", "is no number of a run"),
    ] {
        let (code, stdout, stderr) = seeded.run(&["show", reference]);
        assert!(code == 2 && stderr.contains(wanted), "{reference}: {stdout}{stderr}");
    }
    assert!(
        seeded.printed(&["show", "000000000002"]).contains(&uuid(0xe, 2).to_string()),
        "the end of an id is enough"
    );
}

#[test]
fn judging_unchanged_evidence_again_changes_nothing() {
    let seeded = Seeded::new();
    let id = seeded.experiment(1, ["hello", "nothing"], minute(1));
    let (code, stdout, _) = seeded.run(&["rescore", "latest", "--dry-run"]);
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.ends_with("nothing changed: 2 scenarios judged again\na dry run: nothing is kept\n"), "{stdout}");
    assert_eq!(seeded.run(&["show", "latest#2"]).0, 2, "nothing was kept");
    let (code, stdout, _) = seeded.run(&["rescore", "latest"]);
    assert!(code == 1 && stdout.ends_with(&format!("kept as {id}#2\n")), "{stdout}");
    for language in [ENGLISH, "german"] {
        let results = ["latest#1", "latest#2"].map(|run| {
            let name = scenario(&seeded, run, language);
            seeded.printed(&["show", &name, "--format", "json"])
        });
        assert_eq!(results[0], results[1], "byte for byte");
    }
    let (old, new) = (seeded.stored(id, 1), seeded.stored(id, 2));
    assert_eq!((old.digest, old.score, new.ended), (new.digest, new.score, 2));
}

#[test]
fn a_changed_spec_changes_the_verdict_that_it_should() {
    let seeded = Seeded::new();
    let id = seeded.experiment(1, ["hello", "nothing"], minute(1));
    let before = seeded.json(&["show", "latest", "--format", "json"]);
    let spec = seeded.spec("changed", &SPEC.replace("contains: hello", "contains: noth"));
    fs::write(spec.join("beside.txt"), "x").expect("a file");
    let spec = spec.to_str().expect("UTF-8");
    let (code, stdout, stderr) = seeded.run(&["rescore", "latest", "--spec", spec]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.contains("2 verdicts changed in 2 of 2 scenarios: english"), "{stdout}");
    assert!(
        stdout.contains(": word passed → failed; german") && stdout.contains(": word failed → passed\n"),
        "{stdout}"
    );
    assert!(!stdout.contains("there passed"), "{stdout}");
    assert_eq!(seeded.json(&["show", "latest#1", "--format", "json"]), before, "the old run stays as it was");
    let (old, new) = (seeded.stored(id, 1), seeded.stored(id, 2));
    assert_ne!(old.digest, new.digest);
    let shown = seeded.printed(&["show", "latest"]);
    assert!(
        shown.contains("#2 the evidence of #1 judged again, by another version of the spec: finished, FAIL"),
        "{shown}"
    );
    let (_, stdout, _) = seeded.run(&["rescore", "latest", "--dry-run"]);
    assert!(stdout.contains("nothing changed"), "the changed spec was kept with its files: {stdout}");
    let (_, stdout, stderr) = seeded.run(&["rescore", "latest#1", "--spec", spec, "--dry-run", "--format", "json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&stdout).is_ok() && stderr.contains("2 verdicts changed"));
}

#[test]
fn what_cannot_be_judged_again_is_refused() {
    let seeded = Seeded::new();
    seeded.experiment(1, ["hello", "hello"], minute(1));
    let other = seeded.spec("other", &SPEC.replace("id: greeting", "id: other"));
    let (code, _, stderr) = seeded.run(&["rescore", "latest", "--spec", other.to_str().expect("UTF-8")]);
    assert!(code == 2 && stderr.contains("is of the spec `greeting`, and the given one is `other`"), "{stderr}");
    let broken = seeded.spec("broken", "version: 1\n");
    let (code, stdout, _) = seeded.run(&["rescore", "latest", "--spec", broken.to_str().expect("UTF-8")]);
    assert!(code == 3 && stdout.contains("error["), "{stdout}");
    seeded.experiment_in(Lane::Shared, 2, ["hello", "hello"], minute(2), Progress::HalfWay);
    let (code, _, stderr) = seeded.run(&["rescore", "latest"]);
    assert!(code == 2 && stderr.contains("has not ended"), "{stderr}");
}

#[test]
fn an_orphaned_run_is_cancelled_at_once() {
    let seeded = Seeded::new();
    let dead = Lane::Own(uuid(0xd, 1));
    let id = seeded.experiment_in(dead, 1, ["hello", "hello"], minute(1), Progress::HalfWay);
    let text = seeded.printed(&["cancel", "latest", "--reason", "enough"]);
    assert!(text.contains("1 scenario was given up") && text.contains("touchstone sweep"), "{text}");
    assert!(text.ends_with(&format!("{id} cancelled: 1 of 2 scenarios had ended\n")), "{text}");
    let run = seeded.stored(id, 1);
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Cancelled, Some("enough")));
    let (code, _, stderr) = seeded.run(&["cancel", "latest"]);
    assert!(code == 2 && stderr.contains("has ended already"), "{stderr}");
    let (code, stdout, _) = seeded.run(&["rescore", "latest"]);
    assert!(code == 4 && stdout.contains("not run 1"), "{stdout}");
    assert_eq!(seeded.stored(id, 2).state, RunState::Cancelled, "what was not run is not forgotten");
    let shown = seeded.printed(&["show", "latest"]);
    assert!(shown.contains("not run 1"), "{shown}");
}

#[test]
fn a_living_worker_is_asked_to_stop() {
    let seeded = Seeded::new();
    let owner = Owner::register(seeded.data_dir()).expect("an owner");
    let id = seeded.experiment_in(Lane::Own(owner.id()), 1, ["hello", ""], minute(1), Progress::HalfWay);
    let text = seeded.printed(&["cancel", &id.to_string()]);
    assert!(text.contains("1 scenario is being run: stopped at the next heartbeat"), "{text}");
    assert!(text.contains("is being cancelled"), "{text}");
    assert_eq!(seeded.stored(id, 1).state, RunState::Open);
    let waiting = seeded.experiment_in(Lane::Own(owner.id()), 2, ["", ""], minute(2), Progress::Waiting);
    assert!(seeded.printed(&["cancel", "latest"]).contains("cancelled: 0 of 2 scenarios"));
    assert_eq!(seeded.stored(waiting, 1).state, RunState::Cancelled);
}

#[test]
fn old_experiments_go_and_new_and_open_ones_stay() {
    let seeded = Seeded::new();
    let old = seeded.experiment(1, ["hello", &"x".repeat(50_000)], minute(1));
    let open = seeded.experiment_in(Lane::Own(uuid(0xd, 1)), 2, ["", ""], minute(2), Progress::Waiting);
    let kept = seeded.experiment(3, ["hello", "hello"], minute(3));
    let bundle = seeded.unused_bundle(minute(4));
    let orphan = seeded.path().join(format!("data/evidence/{}", uuid(0xb, 1)));
    fs::create_dir_all(&orphan).expect("a folder");
    let folder = fs::File::open(&orphan).expect("the folder");
    let made = folder.metadata().and_then(|found| found.modified()).expect("a time");
    folder.set_modified(made - Duration::from_secs(3 * 86_400)).expect("a time");
    let evidence = seeded.path().join(format!("data/evidence/{old}"));
    assert!(evidence.exists());
    let text = seeded.printed(&["gc", "--older-than", "1d", "--keep", "1", "--dry-run", "--orphans-older-than", "2d"]);
    assert!(
        text.contains(&format!("experiment {old} greeting v1"))
            && text
                .contains("would remove 1 experiment, 1 orphaned folder, 1 version of specs, 1 unpacked bundle and 0 replies of judges: "),
        "{text}"
    );
    assert!(evidence.exists() && bundle.exists() && orphan.exists());
    let text = seeded.printed(&["gc", "--older-than", "1d", "--keep", "1"]);
    assert!(
        text.starts_with(
            "removed 1 experiment, 0 orphaned folders, 1 version of specs, 1 unpacked bundle and 0 replies of judges: "
        ),
        "{text}"
    );
    assert!(text.contains(" kB of files"), "{text}");
    assert!(!evidence.exists() && !bundle.exists() && orphan.exists());
    let (code, _, stderr) = seeded.run(&["gc", "--orphans-older-than", "1h"]);
    assert!(code == 2 && stderr.contains("give 1d or more"), "{stderr}");
    assert!(seeded.printed(&["gc", "--orphans-older-than", "5d"]).starts_with("removed 0 experiments, 0 orphaned"));
    assert!(seeded.printed(&["gc", "--orphans-older-than", "2d"]).starts_with("removed 0 experiments, 1 orphaned"));
    assert!(!orphan.exists());
    let list = seeded.printed(&["list"]);
    assert!(!list.contains(&old.to_string()) && list.contains(&open.to_string()) && list.contains(&kept.to_string()));
    let text = seeded.printed(&["gc", "--older-than", "1d"]);
    assert!(text.starts_with("removed 0 experiments, 0 orphaned"), "{text}");
    let (code, _, stderr) = seeded.run(&["gc", "--older-than", "1month"]);
    assert!(code == 2 && stderr.contains("write it as 30d"), "{stderr}");
}

#[test]
fn gc_refuses_evidence_of_another_database() {
    let (production, staging) = (Seeded::new(), Seeded::new());
    let old = production.experiment(1, ["hello", &"x".repeat(50_000)], minute(1));
    let place = production.path().join("data/evidence");
    let url = format!("file:{}", place.display());
    for options in [&["--keep", "0"][..], &["--dry-run"], &["--orphans-older-than", "1d"], &["--max-size", "0"]] {
        let (code, stdout, stderr) = staging.run(&[&["gc", "--artifacts", &url][..], options].concat());
        assert!(code == 2 && stderr.contains("belongs to another database"), "{stdout}{stderr}");
        assert!(stderr.contains("gc --adopt-artifacts") && stderr.contains(&*place.to_string_lossy()), "{stderr}");
    }
    assert!(place.join(old.to_string()).exists());
    let text = staging.printed(&["gc", "--artifacts", &url, "--adopt-artifacts"]);
    assert!(text.contains("belongs to this database now, and no longer to "), "{text}");
    assert!(place.join(old.to_string()).exists(), "adopting removes nothing");
    let (code, _, stderr) = production.run(&["gc", "--keep", "0"]);
    assert!(code == 2 && stderr.contains("belongs to another database"), "{stderr}");
}

#[test]
fn a_database_of_another_machine_is_refused_until_it_is_adopted() {
    let seeded = Seeded::new();
    let id = seeded.experiment(1, ["hello", "hello"], minute(1));
    let on = |machine: &str, arguments: &[&str]| {
        read(seeded.command(arguments).env("TOUCHSTONE_MACHINE_ID", machine).output().expect("a run"))
    };
    let (code, stdout, stderr) = on("first", &["list"]);
    assert!(code == 0 && stdout.contains(&id.to_string()), "{stdout}{stderr}");
    let file = seeded.path().join("data/touchstone.db");
    for arguments in [&["list"][..], &["show", "latest"], &["gc", "--keep", "0"], &["key", "list"]] {
        let (code, stdout, stderr) = on("second", arguments);
        assert!(code == 2 && stdout.is_empty(), "{stdout}{stderr}");
        for part in [&*file.to_string_lossy(), "`first`", "`second`", "postgres://", "gc --adopt-database"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
    }
    let (code, stdout, _) = on("second", &["gc", "--adopt-database"]);
    let said = "the database belongs to this machine now, and no longer to `first`\n";
    assert_eq!((code, stdout.as_str()), (0, said));
    let (code, stdout, stderr) = on("second", &["list"]);
    assert!(code == 0 && stdout.contains(&id.to_string()), "nothing was removed: {stdout}{stderr}");
    assert_eq!(on("first", &["list"]).0, 2);
}

#[test]
fn what_takes_too_much_room_goes() {
    let seeded = Seeded::new();
    let old = seeded.experiment(1, ["hello", &"x".repeat(50_000)], minute(1));
    let new = seeded.experiment(2, ["hello", "hello"], minute(2));
    let gc = |size: &str| seeded.printed(&["gc", "--older-than", "36500d", "--keep", "0", "--max-size", size]);
    assert!(gc("1MB").starts_with("removed 0 experiments"));
    assert!(gc("40kB").starts_with("removed 1 experiment,"));
    let list = seeded.printed(&["list"]);
    assert!(!list.contains(&old.to_string()) && list.contains(&new.to_string()), "{list}");
    let (code, _, stderr) = seeded.run(&["gc", "--max-size", "lots"]);
    assert!(code == 2 && stderr.contains("write it as 500MB"), "{stderr}");
}

#[test]
fn a_sweep_says_what_it_removed_and_that_no_engine_was_asked() {
    let seeded = Seeded::new();
    assert_eq!(seeded.printed(&["sweep"]), "nothing was left behind\n");
    assert_eq!(seeded.json(&["sweep", "--kept", "--format", "json"])["kept"], 0);
    let without_engine = |arguments: &[&str]| {
        let mut command = seeded.command(arguments);
        read(command.env("DOCKER_HOST", "unix:///nowhere/docker.sock").output().expect("a run"))
    };
    let (code, stdout, stderr) = without_engine(&["sweep"]);
    assert_eq!((code, stdout.as_str()), (0, "nothing was left behind\n"), "{stderr}");
    assert!(stderr.starts_with("touchstone: Docker was not asked for what is left there: no Docker engine answers"));
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let (code, _, stderr) = without_engine(&["gc", "--images"]);
    assert!(code == 4 && stderr.contains("no Docker engine answers"), "{stderr}");
}

#[test]
fn every_command_explains_itself() {
    for command in ["list", "show", "rescore", "cancel", "sweep", "gc"] {
        let mut command_line = touchstone(&[command, "--help"]);
        let (code, stdout, _) = read(command_line.env_remove("TOUCHSTONE_DATA_DIR").output().expect("a run"));
        assert_eq!(code, 0);
        let stdout: String = stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        insta::assert_snapshot!(format!("help_{command}"), stdout);
    }
}
