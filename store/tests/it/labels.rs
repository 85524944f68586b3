//! Labels of judged outputs.

use store::{Garbage, LabelFilter, NewLabel, Page, RunId};

use crate::harness::{World, at, scenario};

databases![
    a_label_of_the_same_person_about_the_same_output_is_replaced,
    labels_are_kept_all_or_none,
    labels_are_listed_by_experiment_newest_first,
    labels_go_with_their_experiment,
];

fn label(world: &World, run: RunId, person: &str, says: &str) -> NewLabel {
    NewLabel {
        id: format!("lb_{}", world.uuid().simple()),
        run,
        scenario: scenario(0).id.to_string(),
        invariant: "polite".to_owned(),
        label: says.to_owned(),
        person: person.to_owned(),
        note: format!("{says}: because"),
    }
}

fn of(run: RunId) -> LabelFilter<'static> {
    LabelFilter { experiment: Some(run.experiment), ..LabelFilter::default() }
}

async fn said(world: &World, filter: LabelFilter<'_>) -> Vec<(String, String)> {
    let labels = world.store.labels(filter, Page::ALL).await.expect("labels").items;
    labels.into_iter().map(|label| (label.new.person, label.new.label)).collect()
}

async fn a_label_of_the_same_person_about_the_same_output_is_replaced(world: World) {
    let run = world.submitted(1).await;
    let first = label(&world, run, "ada", "pass");
    world.store.keep_labels(std::slice::from_ref(&first), at(1)).await.expect("kept");
    let second = label(&world, run, "ada", "fail");
    world.store.keep_labels(&[second.clone(), label(&world, run, "bob", "0.25")], at(2)).await.expect("kept");
    let kept = world.store.label_of(&first).await.expect("read").expect("a label");
    assert_eq!(kept.new, NewLabel { id: first.id.clone(), ..second }, "its id stays");
    assert_eq!((kept.created_at, kept.owner.as_str()), (at(2), ""));
    assert_eq!(world.number("SELECT count(*) FROM labels").await, 2);
    assert!(world.store.remove_label(&first.id).await.expect("removed"));
    assert!(!world.store.remove_label(&first.id).await.expect("not there"));
    assert_eq!(world.store.label(&first.id).await.expect("read"), None);
}

async fn labels_are_kept_all_or_none(world: World) {
    let run = world.submitted(1).await;
    let lost = NewLabel { scenario: "nobody".to_owned(), ..label(&world, run, "ada", "pass") };
    assert!(world.store.keep_labels(&[label(&world, run, "ada", "pass"), lost], at(1)).await.is_err());
    assert_eq!(world.number("SELECT count(*) FROM labels").await, 0);
}

async fn labels_are_listed_by_experiment_newest_first(world: World) {
    let (run, other) = (world.submitted(1).await, world.submitted(1).await);
    for (run, person, says, second) in [(run, "ada", "pass", 1), (other, "ada", "fail", 2), (run, "bob", "0.5", 3)] {
        world.store.keep_labels(&[label(&world, run, person, says)], at(second)).await.expect("kept");
    }
    let pair = |person: &str, says: &str| (person.to_owned(), says.to_owned());
    assert_eq!(said(&world, of(run)).await, [pair("bob", "0.5"), pair("ada", "pass")]);
    assert_eq!(said(&world, LabelFilter::default()).await.len(), 3);
    assert_eq!(said(&world, LabelFilter { owner: Some("ada"), ..LabelFilter::default() }).await, []);
    assert_eq!(said(&world, LabelFilter { run: Some(2), ..of(run) }).await, []);
    let page = world.store.labels(LabelFilter::default(), Page { after: None, most: 2 }).await.expect("labels");
    let rest = Page { after: page.next.as_deref(), most: 2 };
    let rest = world.store.labels(LabelFilter::default(), rest).await.expect("labels");
    assert_eq!((page.items.len(), rest.items.len(), rest.next), (2, 1, None));
}

async fn labels_go_with_their_experiment(world: World) {
    let run = world.submitted(1).await;
    world.store.keep_labels(&[label(&world, run, "ada", "pass")], at(1)).await.expect("kept");
    world.finish_one(2).await;
    world.store.claim_artifacts().await.expect("its own place");
    let garbage = Garbage { before: at(9), keep: 0, most_bytes: None };
    let old = world.store.garbage(garbage).await.expect("garbage");
    assert_eq!(world.store.collect(&old).await.expect("collected").experiments, 1);
    assert_eq!(world.number("SELECT count(*) FROM labels").await, 0);
}
