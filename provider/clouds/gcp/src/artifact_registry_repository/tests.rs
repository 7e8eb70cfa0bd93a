use tf_provider_rs::{Attr, Diagnostics};
use warren_managed::listed;

use super::*;
use crate::session::tests::session;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Repository::schema()));
}

#[tokio::test]
async fn labels_are_the_users_and_ours() {
    let gcp = session().await.get().unwrap();
    let repository = Repository {
        name: "images".into(),
        labels: Attr::Known([("team".to_owned(), "ml".into())].into()),
        ..Repository::default()
    };
    let all = schema::all_labels(&gcp, &repository);
    assert_eq!(schema::owner(&all), Some(["training", "platform", "images"]));
    let found = api::Found { labels: all, format: "DOCKER".into(), ..api::Found::default() };
    let state = schema::state(found, &repository);
    assert_eq!(state.labels, repository.labels);
    assert_eq!(state.effective_labels, schema::planned_labels(Some(&gcp), &repository));
}

#[test]
fn tags_belong_to_images() {
    let told = |format: &str| {
        let repository =
            Repository { format: format.into(), immutable_tags: true.into(), ..Repository::default() };
        let mut diagnostics = Diagnostics::default();
        schema::check(&repository, &mut diagnostics);
        diagnostics.0.len()
    };
    assert_eq!((told("DOCKER"), told("PYTHON")), (0, 1));
}
