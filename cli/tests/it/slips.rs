//! Mistakes of newcomers, and the messages about them.

use std::fs;

use crate::place::{Place, THERE, local_spec, spec as image_spec};
use crate::seeded::{Seeded, minute};
use crate::{read, run, touchstone};

/// Fails unless a command that is used wrongly says this, and prints nothing else.
#[track_caller]
fn check((code, stdout, stderr): (i32, String, String), told: &str) {
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains(told), "expected {told}\nfound    {stderr}");
}

#[test]
fn a_spec_that_is_not_there_is_looked_for_nearby() {
    let folder = tempfile::tempdir().expect("a folder");
    for spec in ["refunds/spec.yaml", "specs/mailing/spec.yaml"] {
        let path = folder.path().join(spec);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, "version: 1\n").expect("a spec");
    }
    let at = |arguments: &[&str]| read(touchstone(arguments).current_dir(folder.path()).output().expect("a run"));
    for command in ["run", "validate", "plan", "try", "ci"] {
        check(at(&[command, "refundz"]), "`refundz`: there is no such file or folder; did you mean `refunds`?");
    }
    check(at(&["run", "refunds/spec.yml"]), "did you mean `refunds/spec.yaml`?");
    check(at(&["run", "mailin"]), "did you mean `specs/mailing`?");
    let (_, _, stderr) = at(&["run", "something-else"]);
    assert!(stderr.contains("there is no such file or folder") && !stderr.contains("did you mean"), "{stderr}");
}

#[test]
fn a_first_spec_is_not_written_into_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("spec.yaml"), "mine").expect("a file");
    let at = |path: &str| read(touchstone(&["init", path]).current_dir(folder.path()).output().expect("a run"));
    check(at("spec.yaml"), "`spec.yaml` is a file; name a folder");
    check(at("new/spec.yaml"), "`new/spec.yaml` looks like a file; name a folder, such as `new`");
    assert_eq!(fs::read_to_string(folder.path().join("spec.yaml")).expect("a text"), "mine");
    assert!(!folder.path().join("new").exists());
}

#[test]
fn what_an_option_cannot_use_is_told_how_it_is_written() {
    let spec = "specs/hello-world";
    for (arguments, told) in [
        (&["run", spec, "--replicas", "five"][..], "'five' for '--replicas <N>': write a whole number, such as 3"),
        (&["run", spec, "--max-concurrent", "0"], "write a whole number from 1 on"),
        (&["plan", spec, "--seed", "1.5"], "write a whole number"),
        (&["list", "--limit", "many"], "write a whole number"),
        (&["run", spec, "--timeout", "0s"], "write a number and a unit, such as 90s, 10m or 1h"),
        (&["run", spec, "--replicas", "20000"], "(1 cell × 20000 replicas); at most 10000"),
        (&["run", spec, "--filter", "nothing"], "no scenario matches `nothing`; `touchstone plan` shows what there is"),
        (&["run", spec, "-o", "nowhere/x.json"], "`nowhere/x.json` cannot be written: there is no folder `nowhere`"),
        (&["run", spec, "-o", "json:specs"], "`specs` cannot be written: it is a folder"),
        (&["run", spec, "-o", "x.json/"], "`x.json/` cannot be written: it is a folder"),
        (&["run", spec, "-o", "json:-"], "`-` cannot be written: standard output is what `--format` is for"),
        (&["run", spec, "-o", "json:target/x", "-o", "junit:target/x"], "`target/x` is asked for twice"),
        (&["ci", spec, "-o", "target/x.md", "--comment", "target/x.md"], "cannot be a report and a comment"),
        (&["list", "--url", ""], "`--url` is empty; leave it away when this machine is meant"),
        (&["serve", "--listen", "8013"], "an address and a port are wanted, such as 127.0.0.1:8013"),
        (&["serve", "--listen", ":8013"], "such as 127.0.0.1:8013"),
        (&["worker", "--control-listen", "0.0.0.0"], "such as 0.0.0.0:8012"),
    ] {
        check(run(arguments), told);
    }
}

#[test]
fn a_specs_name_is_no_experiment_and_leads_to_the_list() {
    let seeded = Seeded::new();
    check(seeded.run(&["show", "greeting"]), "`touchstone list` shows all of them");
    let newest = seeded.experiment(1, ["hello", "hello"], minute(1));
    let told = format!(
        "`greeting` is a spec, and no experiment; `touchstone list --spec greeting` shows its experiments, of which {newest} is the newest"
    );
    for arguments in
        [&["show", "greeting"][..], &["trace", "greeting"], &["compare", "greeting"], &["rescore", "greeting"]]
    {
        check(seeded.run(arguments), &told);
    }
    check(seeded.run(&["show", "refunds"]), "`touchstone list` shows all of them");
}

#[test]
fn a_data_directory_that_cannot_be_used_is_told_how_to_name_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "x").expect("a file");
    for command in [&["list"][..], &["run", "specs/hello-world"], &["key", "list"], &["show", "latest"]] {
        let (code, _, stderr) = run(&[command, &["--data-dir", &file.display().to_string()]].concat());
        let told = "the data directory cannot be used: `";
        let next = "name a folder that you may write: `--data-dir FOLDER` or TOUCHSTONE_DATA_DIR";
        assert!(code == 4 && stderr.contains(told) && stderr.contains(next), "{command:?}: {code}: {stderr}");
    }
}

#[test]
fn a_key_that_does_not_see_this_machines_runs_says_so() {
    let seeded = Seeded::new();
    let (code, key, told) = seeded.run(&["key", "create"]);
    assert!(code == 0 && key.starts_with("ts_live_") && key.lines().count() == 1, "{key}{told}");
    assert!(told.contains("not what `touchstone run` does on this machine; `--scope admin` sees everything"), "{told}");
    let (_, _, told) = seeded.run(&["key", "create", "--scope", "admin"]);
    assert!(!told.contains("--scope admin"), "{told}");
}

#[test]
fn a_statement_that_the_database_refuses_is_a_mistake_of_the_spec_with_its_place() {
    let service = "services: [{name: db, image: 'postgres:9', env: {POSTGRES_PASSWORD: x}}]";
    let fixture = "fixtures: [{type: sql, service: db, sql: \"SELECT 1;\\nCREATE TABEL orders (id int);\"}]";
    let check = "invariants: {there: {description: x, check: {type: sql, service: db, query: SELECT 1, equals: 1}}}";
    let place = Place::new(&local_spec("true", &format!("{service}\n{fixture}\n{check}")));
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local"]);
    assert_eq!(code, 4, "{stdout}{stderr}");
    let told =
        "fixtures[0]: `sql` line 2, in `CREATE TABEL orders (id int)`: syntax error at or near \"TABEL\" (42601)";
    assert!(stdout.contains(&format!("  ERROR spec error\n        | {told}\n")), "{stdout}");
    assert!(stderr.contains("; `postgres:9` is Postgres "), "another version stands in: {stderr}");
    let (_, evidence, _) = place.run(&["show", "latest", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&evidence).expect("JSON");
    assert_eq!(report["scenarios"][0]["error_kind"], "spec");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn an_agent_that_ends_badly_is_told_beside_what_it_left_undone() {
    let place = Place::new(&local_spec("exit 3", crate::place::THERE));
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.contains("  the agent ended with exit code 3\n"), "{stdout}");
}

#[test]
fn two_specs_with_one_id_are_told_apart_by_their_files() {
    let place = Place::new(&local_spec("true", THERE));
    let other = place.path().join("other.yaml");
    fs::copy(place.spec().join("spec.yaml"), &other).expect("a copy");
    let (one, two) = (place.spec().display().to_string(), other.display().to_string());
    for command in ["run", "ci"] {
        let (code, _, stderr) = run(&[command, &one, &two]);
        assert_eq!(code, 3, "{command}: {stderr}");
        assert!(stderr.contains("`trial` is the id of `") && stderr.contains("other.yaml`: give one of them another"));
    }
    assert!(!place.data().exists(), "nothing was run");
}

#[test]
fn who_asks_for_a_solution_that_is_not_there_is_told() {
    let place = Place::new(&local_spec("true", THERE));
    check(place.run_spec(&["--agent", "oracle"]), "there is no `task.solution`, which is what `--agent oracle` does");
}

#[test]
fn variables_without_a_value_are_as_if_they_were_not_set() {
    let place = Place::new(&image_spec("touch out", THERE));
    let spec = place.spec().display().to_string();
    let mut command = place.command(&["ci", &spec]);
    for name in ["BASELINE", "BACKEND", "MODELS", "CONFIG", "ROOTFS", "NO_PULL", "DATABASE_URL", "ARTIFACTS"] {
        command.env(format!("TOUCHSTONE_{name}"), "");
    }
    let (code, stdout, stderr) = read(command.output().expect("a run"));
    assert_eq!(code, 0, "{stdout}{stderr}");
}

#[test]
fn a_configuration_that_cannot_be_read_keeps_its_keys_to_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("touchstone.toml");
    fs::write(&file, "# mine\napi-key = \"ts_live_SECRET\n").expect("a file");
    let told = run(&["list", "--config", &file.display().to_string()]);
    assert!(!told.2.contains("SECRET"), "{}", told.2);
    check(told, "line 2, column");
}

#[test]
fn names_of_files_act_on_no_terminal() {
    let place = Place::new(&local_spec("true", THERE));
    let hostile = place.path().join("a\u{1b}]0;evil\u{7}.yaml");
    fs::copy(place.spec().join("spec.yaml"), &hostile).expect("a copy");
    let name = hostile.display().to_string();
    for arguments in [&["validate", &name][..], &["plan", &name], &["validate", &format!("{name}.not-there")]] {
        let (_, stdout, stderr) = run(arguments);
        assert!(!format!("{stdout}{stderr}").contains(['\u{1b}', '\u{7}']), "{stdout}{stderr}");
        assert!(format!("{stdout}{stderr}").contains("a␛]0;evil␇.yaml"), "{stdout}{stderr}");
    }
}
