//! Untrusted specs: whoever may submit to a server reaches through the worker nothing that they could not reach themselves.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use engine::bundle::BundleFolder;
use engine::providers::ProviderAccess;
use scenario::result::RowStatus;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::Attack;
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    a_model_at_a_private_address_is_refused_where_strangers_submit,
    a_repository_of_a_bundle_leads_to_no_other_repository;
    also on local:
    a_model_at_a_private_address_is_refused_where_strangers_submit,
    a_repository_of_a_bundle_leads_to_no_other_repository,
}

/// A spec whose model is forwarded.
fn forwarding(base_url: &str) -> Attack {
    Attack::new("")
        .with("model", json!({"mode": "proxy", "upstream": {"base_url": base_url}}))
        .expect_command("x", "true")
}

async fn a_model_at_a_private_address_is_refused_where_strangers_submit(harness: &mut Harness) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.set_nonblocking(true).expect("not blocking");
    let port = listener.local_addr().expect("an address").port();
    harness.permissions.providers = ProviderAccess::Public { except: Vec::new() };
    let refused = async |harness: &Harness, attack: &Attack| {
        let error = harness.try_run(&attack.yaml(), &CancellationToken::new()).await.expect_err("refused").to_string();
        assert!(error.contains("`model.upstream`: `base_url` "), "{error}");
        harness.assert_nothing_is_left();
        error
    };
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost", "169.254.169.254", "10.0.0.1"]
    {
        let error = refused(harness, &forwarding(&format!("http://{host}:{port}/v1"))).await;
        assert!(error.contains("--allow-private-providers"), "{host}: {error}");
    }
    // What a parameter brings is looked at once it is known.
    let cell = |url: String| -> Json { json!({"matrix": [{"url": url}]}) };
    for (url, why) in [
        (format!("http://127.0.0.1:{port}/v1"), "leads to a loopback address"),
        (format!("http://8.8.8.8@127.0.0.1:{port}/v1"), "no user or password"),
        (format!("http://127.0.0.1:{port}/v1/keys?x="), "no `?`"),
        (format!("http://127.0.0.1:{port}/v1/%2e./keys#"), "no `#`"),
    ] {
        let error = refused(harness, &forwarding("{{ params.url }}").with("parallelism", cell(url))).await;
        assert!(error.contains(why), "{error}");
    }
    assert!(listener.accept().is_err(), "nobody was asked");
    // A provider that the operator named is nobody's secret.
    let named = format!("127.0.0.1:{port}").parse().expect("a host");
    harness.permissions.providers = ProviderAccess::Public { except: vec![named] };
    let (result, _) = harness.run(&forwarding(&format!("http://127.0.0.1:{port}/v1")).yaml()).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
}

/// Makes a repository with one file.
fn repository(folder: &Path, content: &str) {
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("content.txt"), content).expect("a file");
    for words in ["init --quiet", "add .", "commit --quiet -m one"] {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
            .args(words.split(' '))
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git");
        assert!(output.status.success(), "{output:?}");
    }
}

async fn a_repository_of_a_bundle_leads_to_no_other_repository(harness: &mut Harness) {
    let secret = harness.folder.path().join("secret");
    repository(&secret, "of the worker");
    let bundle = harness.folder.path().join("submitted");
    repository(&bundle.join("own"), "of the spec");
    let inside = secret.join(".git");
    let head = fs::read_to_string(inside.join("HEAD")).expect("HEAD");
    let written = |path: &str, content: &str| {
        let path = bundle.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, content).expect("a file");
    };
    // A gitfile, a common directory, borrowed objects, and a link: each names the worker's own repository.
    written("gitfile/.git", &format!("gitdir: {}\n", inside.display()));
    written("common/.git/HEAD", &head);
    written("common/.git/commondir", &format!("{}\n", inside.display()));
    written("borrowed/.git/HEAD", &head);
    written("borrowed/.git/objects/info/alternates", &format!("{}\n", inside.join("objects").display()));
    let commit = fs::read_to_string(inside.join("refs/heads/main")).expect("a commit");
    written("borrowed/.git/refs/heads/main", &commit);
    written("linked/.git/HEAD", &head);
    symlink(inside.join("objects"), bundle.join("linked/.git/objects")).expect("a link");
    symlink(inside.join("refs"), bundle.join("linked/.git/refs")).expect("a link");
    harness.bundle = BundleFolder::at(bundle.clone());
    harness.permissions.public_repositories_only = true;
    for (name, why) in [
        ("gitfile", "a gitfile"),
        ("common", "`commondir`"),
        ("borrowed", "alternates"),
        ("linked", "neither a file nor a folder"),
    ] {
        let fixtures = json!([{"type": "git_repo", "url": name, "path": "there"}]);
        let attack = Attack::new("").with("fixtures", fixtures).expect_command("x", "true");
        let error = harness.try_run(&attack.yaml(), &CancellationToken::new()).await.expect_err(name).to_string();
        assert!(error.contains("fixtures[0]") && error.contains(why), "{name}: {error}");
        harness.assert_nothing_is_left();
    }
    leads_nowhere_by_its_settings(harness, &bundle.join("own"), &secret).await;
}

/// Settings, hooks and monitors of a repository do nothing; the repository itself is cloned.
async fn leads_nowhere_by_its_settings(harness: &mut Harness, own: &Path, secret: &Path) {
    let (trace, secret) = (harness.folder.path().join("trace"), secret.display());
    let program = own.join(".git/program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", trace.display())).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    for hook in ["post-checkout", "pre-receive", "reference-transaction"] {
        fs::copy(&program, own.join(".git/hooks").join(hook)).expect("a hook");
    }
    fs::write(own.join(".git/more"), format!("[core]\n\tworktree = {secret}\n")).expect("settings");
    let (program, fresh) = (program.display(), "main");
    let settings = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {program}\n\tworktree = {secret}\n\tsshCommand = {program}\n\
         \talternateRefsCommand = {program}\n[include]\n\tpath = more\n[uploadpack]\n\tpackObjectsHook = {program}\n\
         [url \"file://{secret}\"]\n\tinsteadOf = file://\n[remote \"o\"]\n\turl = file://{secret}\n\tpromisor = true\n"
    );
    fs::write(own.join(".git/config"), settings).expect("settings");
    let fixtures = json!([{"type": "git_repo", "url": "own", "branch": fresh, "path": "there"}]);
    let attack =
        Attack::new("print(open('/workspace/there/content.txt').read(), open('/workspace/there/.git/config').read())")
            .with("fixtures", fixtures)
            .expect_command("cloned", "grep -qx 'of the spec' there/content.txt");
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?} {:?}", evidence.agent);
    assert!(!evidence.agent.stdout.text().contains("fsmonitor") && !trace.exists(), "{:?}", evidence.agent);
}
