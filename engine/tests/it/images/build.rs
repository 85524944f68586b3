//! Making images.

use std::cell::RefCell;

use engine::backend::docker::build::{self, BuildError, BuildOptions, Progress, State};
use engine::images::recipe::{Recipe, all};

#[tokio::test]
async fn images_that_are_up_to_date_are_left_alone() {
    let docker = build::connect().await.expect("the Docker engine");
    let seen = RefCell::new(Vec::new());
    let show = |progress| seen.borrow_mut().push(progress);
    let built = build::build_images(&docker, all(), BuildOptions::default(), &show).await.expect("they are there");
    let names = |recipes: &[Recipe]| recipes.iter().map(|recipe| recipe.name).collect::<Vec<_>>();
    assert_eq!(built.iter().map(|built| built.name).collect::<Vec<_>>(), names(all()));
    for progress in seen.borrow().iter() {
        assert!(matches!(progress, Progress::Finished(built) if built.took.is_none()), "{progress:?}");
    }
}

#[tokio::test]
async fn a_failure_shows_the_log_and_leaves_no_image() {
    let docker = build::connect().await.expect("the Docker engine");
    let broken = Recipe { name: "touchstone/broken-test:1", suite: "no-such-suite", ..all()[0] };
    let error = build::build_images(&docker, &[broken], BuildOptions::default(), &drop).await.expect_err("broken");
    let BuildError::Bootstrap { name, failed } = error else { panic!("{error}") };
    assert_eq!(name, broken.name);
    assert!(failed.last_lines.iter().any(|line| line.contains("no-such-suite")), "{failed}");
    assert_eq!(build::state(&docker, &broken).await.expect("an answer"), State::Missing);
}
