//! The task as a file: where agents find it, and repositories do not.

use scenario::result::RowStatus;
use serde_json::json;

use super::{Sketch, is_met, printed, suite};
use crate::harness::Harness;

// Images of tests have no git; the machine that runs them has.
suite! {
    the_folder_that_is_ours_says_that_it_is_part_of_no_repository;
    also on local:
    the_folder_that_is_ours_says_that_it_is_part_of_no_repository;
    on local as root:
    no_repository_takes_up_what_is_ours,
}

async fn the_folder_that_is_ours_says_that_it_is_part_of_no_repository(harness: &mut Harness) {
    let sketch = Sketch::acting("cmp $TOUCHSTONE_TASK_FILE .keystone/task.json && echo task=$KEYSTONE_TASK_FILE")
        .with("setup: {commands: [\"mkdir -p .git/info && printf '*.o' > .git/info/exclude\"]}")
        .must(
            "excluded",
            json!({"type": "file_content", "path": ".git/info/exclude", "pattern": "^\\*\\.o\\n/\\.keystone/\\n$"}),
        )
        .must("ignored", json!({"type": "file_content", "path": ".keystone/.gitignore", "pattern": "^\\*\\n$"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(printed(&evidence)["task"], "/run/touchstone/task.json");
    assert!(evidence.workspace.added.is_empty() && evidence.workspace.modified.is_empty(), "{:?}", evidence.workspace);
    // A link that leads out of the workspace is nobody's folder.
    let sketch = Sketch::acting("true")
        .with("setup: {commands: [\"mkdir -p /opt/outside/info && echo x > /opt/outside/info/exclude && ln -s /opt/outside .git\"]}")
        .must_succeed("untouched", "test \"$(cat /opt/outside/info/exclude)\" = x");
    let (result, _) = sketch.run(harness).await;
    assert!(is_met(&result, "untouched"), "{result:#?}");
}

/// Commits everything, and says what is part of the repository and what could be.
const COMMIT: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.com GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.com; echo work > work.txt; git add --all && git commit --quiet --message work && echo files=$(git ls-files | xargs) && echo status=$(git status --porcelain --untracked-files=all)";

async fn no_repository_takes_up_what_is_ours(harness: &mut Harness) {
    let made = [
        ("git init --quiet .", "true"),
        ("git init --quiet --separate-git-dir=/opt/elsewhere .", "true"),
        ("true", "git init --quiet ."),
        ("git init --quiet . && rm -r .git/info", "git clean -fdq"),
    ];
    for (setup, first) in made {
        let script = format!("{first} && {COMMIT}");
        let sketch = Sketch::acting(&script).with(&format!("setup: {{commands: [{}]}}", json!(setup)));
        let (result, evidence) = sketch.run(harness).await;
        let said = printed(&evidence);
        assert_eq!(said.get("files").map(String::as_str), Some("work.txt"), "{setup}: {evidence:#?}");
        assert_eq!(said.get("status").map(String::as_str), Some(""), "{setup}: {evidence:#?}");
        assert_eq!(result.status, RowStatus::Pass);
    }
}
