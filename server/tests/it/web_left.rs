//! Changed files on a scenario's page.

use scenario::evidence::{Evidence, FileDiff, WorkspaceChanges};
use scenario::result::RowStatus;

use crate::test_app::{ADA, HELLO, TestApp};
use crate::web_hostile::end;
use crate::web_session::Browser;

fn diff(path: &str) -> FileDiff {
    FileDiff { path: path.to_owned(), diff: format!("--- a\n+++ b\n@@ -1 +1 @@\n+new in {path}\n"), incomplete: false }
}

#[tokio::test]
async fn what_was_removed_or_modified_is_seen_before_all_that_was_added() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let added: Vec<_> = (0..602).map(|number| format!("added/{number:03}.txt")).collect();
    let workspace = WorkspaceChanges {
        removed: vec!["gone.txt".to_owned()],
        modified: vec!["settings.toml".to_owned()],
        added: added.clone(),
        incomplete: false,
    };
    let file_diffs = added.iter().map(|path| diff(path)).chain([diff("settings.toml")]).collect();
    end(&app, RowStatus::Fail, &Evidence { workspace, file_diffs, ..Evidence::default() }).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/default-r0")).await.text();
    assert!(page.contains("Files: 1 removed, 1 modified, 602 added"), "{page}");
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words} is not in {page}"));
    let places = ["gone.txt", "new in settings.toml", "<summary>602 files added</summary>", "added/000.txt"].map(place);
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("added/199.txt") && !page.contains("added/200.txt"), "{page}");
    let link = format!("/v1/experiments/{id}/scenarios/default-r0/evidence?run=1&amp;attempt=1");
    assert!(page.contains(&format!("in <a download=\"evidence.json\" href=\"{link}\">the evidence</a>")), "{page}");
    let evidence = browser.get(&link.replace("&amp;", "&")).await;
    assert!(evidence.text().contains("added/601.txt"), "{}", evidence.text());
}
