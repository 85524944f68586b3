//! Repositories and folders that are there before the agent, and images with nothing in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use engine::bundle::BundleFolder;
use engine::error::EngineError;
use scenario::evidence::Exit;
use scenario::result::RowStatus;
use scenario::verdict::ErrorKind;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Sketch, bundle, is_met, output, printed, suite};
use crate::harness::Harness;

suite! {
    a_repository_is_cloned_at_a_branch_a_tag_or_a_commit,
    a_repository_that_is_not_there_is_an_error_with_its_place,
    a_repository_of_the_inside_is_refused_where_strangers_submit,
    a_folder_of_the_bundle_is_copied_with_what_can_be_executed,
    what_a_database_refuses_is_a_mistake_of_the_spec,
    an_image_with_nothing_in_it_is_a_sandbox_too;
    also on local:
    a_repository_is_cloned_at_a_branch_a_tag_or_a_commit,
    a_repository_that_is_not_there_is_an_error_with_its_place,
    a_repository_of_the_inside_is_refused_where_strangers_submit,
    a_folder_of_the_bundle_is_copied_with_what_can_be_executed,
    what_a_database_refuses_is_a_mistake_of_the_spec,
}

/// A repository with three commits on `main`, the second with a tag, and a branch `other`; the first commit.
fn repository(folder: &Path) -> String {
    std::fs::create_dir_all(folder).expect("a folder");
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    git(&["init", "--quiet"]);
    for number in ["1", "2", "3"] {
        std::fs::write(folder.join("number.txt"), number).expect("a file");
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", number]);
        if number == "2" {
            git(&["tag", "two"]);
        }
    }
    git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    std::fs::write(folder.join("run.sh"), "#!/bin/sh\n").expect("a file");
    output("chmod", &["755", &folder.join("run.sh").display().to_string()]);
    std::os::unix::fs::symlink("number.txt", folder.join("link")).expect("a link");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "other"]);
    git(&["checkout", "--quiet", "main"]);
    git(&["rev-list", "--max-parents=0", "main"])
}

async fn a_repository_is_cloned_at_a_branch_a_tag_or_a_commit(harness: &mut Harness) {
    let folder: PathBuf = harness.folder.path().join("bundle");
    let first = repository(&folder.join("shop"));
    harness.bundle = BundleFolder::at(folder);
    let script = "for d in main other two first; do echo $d=$(cat $d/number.txt 2>&1); done
        echo executable=$(test -x other/run.sh && echo yes); echo link=$(readlink other/link)
        echo shallow=$(cat main/.git/shallow | wc -l); echo remotes=$(grep -c url main/.git/config)
        echo owner=$(stat -c %U main/number.txt)";
    let fixtures = format!(
        "fixtures:
  - {{type: git_repo, url: shop, path: main, depth: 1}}
  - {{type: git_repo, url: shop, branch: other, path: other}}
  - {{type: git_repo, url: shop, branch: two, path: two}}
  - {{type: git_repo, url: shop, branch: {first}, path: first}}"
    );
    let (result, evidence) = Sketch::acting(script).with(&fixtures).run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let found = printed(&evidence);
    let found: Vec<_> = found.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let expected = [
        "executable=yes",
        "first=1",
        "link=number.txt",
        "main=3",
        "other=2",
        "owner=root",
        "remotes=0",
        "shallow=1",
        "two=2",
    ];
    assert_eq!(found, expected);
}

async fn a_repository_that_is_not_there_is_an_error_with_its_place(harness: &mut Harness) {
    harness.bundle = bundle(harness, &[("x", "")]);
    let sketch = Sketch::acting("true").with("fixtures: [{type: directory, path: .}, {type: git_repo, url: shop}]");
    let error = harness.try_run(&sketch.yaml(), &CancellationToken::new()).await.expect_err("no repository");
    assert!(matches!(error, EngineError::Fixture { index: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("there is no repository `shop` in the spec's folder"), "{error}");
}

async fn what_a_database_refuses_is_a_mistake_of_the_spec(harness: &mut Harness) {
    harness.bundle = bundle(harness, &[("orders.sql", "SELECT 1;\nSELEKT 2;\n")]);
    let services = json!([
        {"name": "db", "image": "touchstone/postgres:15", "env": {"POSTGRES_PASSWORD": "x"}},
        {"name": "my", "image": "touchstone/mariadb:10.11", "env": {"MARIADB_ROOT_PASSWORD": "x"}, "wait_timeout": "120s"},
    ]);
    let inside = |service: &str| json!({"type": "sql", "service": service, "sql": "SELECT 1;\nSELEKT 2;"});
    let beside = |service: &str| json!({"type": "sql", "service": service, "path": "orders.sql"});
    let drift = json!({"type": "drift", "service": "db", "table": "nobody", "key": "id", "mode": "delete"});
    let (postgres, mariadb) = ("syntax error at or near \"SELEKT\" (42601)", "You have an error in your SQL syntax");
    for (fixture, told) in [
        (inside("db"), format!("fixtures[1]: `sql` line 2, in `SELEKT 2`: {postgres}")),
        (inside("my"), format!("fixtures[1]: `sql` line 2, in `SELEKT 2`: {mariadb}")),
        (beside("db"), format!("fixtures[1]: `orders.sql` line 2, in `SELEKT 2`: {postgres}")),
        (drift, "fixtures[1]: there is no table `nobody`".to_owned()),
    ] {
        let fixtures = json!([{"type": "directory", "path": "."}, fixture]);
        let sketch = Sketch::acting("true").with(&format!("services: {services}\nfixtures: {fixtures}"));
        let error = harness.try_run(&sketch.yaml(), &CancellationToken::new()).await.expect_err("a refusal");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Spec, false), "{error}");
        assert!(error.to_string().starts_with(&told), "expected {told}\nfound    {error}");
    }
}

async fn a_folder_of_the_bundle_is_copied_with_what_can_be_executed(harness: &mut Harness) {
    harness.bundle = bundle(harness, &[("project/src/run.sh", "#!/bin/sh\necho ran=yes\n"), ("other.txt", "")]);
    let script = harness.folder.path().join("bundle/project/src/run.sh");
    output("chmod", &["755", &script.display().to_string()]);
    let sketch = Sketch::acting("./src/run.sh; echo files=$(find . -type f -not -path './.keystone/*' | xargs)");
    let (_, evidence) = sketch.with("fixtures: [{type: directory, path: project}]").run(harness).await;
    let found = printed(&evidence);
    assert_eq!((found["ran"].as_str(), found["files"].as_str()), ("yes", "./src/run.sh"));
}

/// An empty image: the doorkeeper needs nothing of it.
struct Empty(String);

impl Empty {
    fn make() -> Self {
        let name = format!("touchstone-test:{}", engine::entropy::hex(8));
        let import = format!("tar -c -T /dev/null | docker import - {name}");
        output("sh", &["-c", &import]);
        Self(name)
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["image", "rm", "--force", &self.0]).output();
    }
}

async fn an_image_with_nothing_in_it_is_a_sandbox_too(harness: &mut Harness) {
    let image = Empty::make();
    let sketch = Sketch::acting("true")
        .base(&image.0)
        .with("setup: {files: [{path: deep/in.txt, content: hello}]}")
        .must("there", json!({"type": "file_content", "path": "deep/in.txt", "contains": "hello"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(evidence.agent.exit, Some(Exit::Code(127)), "there is no shell");
}

async fn a_repository_of_the_inside_is_refused_where_strangers_submit(harness: &mut Harness) {
    let repository = harness.folder.path().join("secret");
    self::repository(&repository);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.set_nonblocking(true).expect("not blocking");
    let port = listener.local_addr().expect("an address").port();
    harness.permissions.public_repositories_only = true;
    for url in
        [format!("file://{}", repository.display()), format!("http://127.0.0.1:{port}/x"), "git@localhost:x".to_owned()]
    {
        let yaml =
            Sketch::acting("true").with(&format!("fixtures: [{{type: git_repo, url: '{url}', path: x}}]")).yaml();
        let error = harness.try_run(&yaml, &CancellationToken::new()).await.expect_err("refused").to_string();
        assert!(error.contains("fixtures[0]") && error.contains("--allow-private-repositories"), "{url}: {error}");
        harness.assert_nothing_is_left();
    }
    assert!(listener.accept().is_err(), "nobody was asked");
    // What the spec brings with it is its own.
    repository_of_the_bundle(harness).await;
}

async fn repository_of_the_bundle(harness: &mut Harness) {
    let folder = harness.folder.path().join("beside");
    repository(&folder.join("shop"));
    harness.bundle = BundleFolder::at(folder);
    let sketch = Sketch::acting("true").with("fixtures: [{type: git_repo, url: shop, path: shop}]");
    let (result, _) = sketch.must_succeed("there", "test -f shop/number.txt").run(harness).await;
    assert!(is_met(&result, "there"), "{result:#?}");
}
