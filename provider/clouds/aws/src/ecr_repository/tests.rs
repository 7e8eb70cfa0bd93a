use aws_sdk_ecr::types;

use super::*;
use crate::session::tests::account;

/// A repository as AWS returns it.
fn details(lifecycle: Option<String>, policy: Option<&str>) -> api::Details {
    let repository = types::Repository::builder()
        .repository_name("llm/trainer")
        .repository_arn("arn:aws:ecr:us-east-1:123456789012:repository/llm/trainer")
        .repository_uri("123456789012.dkr.ecr.us-east-1.amazonaws.com/llm/trainer")
        .registry_id("123456789012");
    api::Details {
        repository: repository.build(),
        lifecycle,
        policy: policy.map(str::to_owned),
        tags: Tags::new(),
    }
}

#[tokio::test]
async fn a_count_is_a_lifecycle_policy_and_comes_back_as_one() {
    let planned = Repository { keep_last_images: 20.into(), ..Repository::default() };
    let lifecycle = policies::lifecycle(&planned);
    insta::assert_snapshot!(lifecycle.clone().unwrap_or_default());
    let aws = account([]).await;
    let state = api::state(&aws, details(lifecycle, None), &planned).unwrap();
    assert_eq!((state.keep_last_images, state.lifecycle_policy), (20.into(), Attr::Null));
    assert_eq!(state.object.naming.name, "llm/trainer".into());
}

#[tokio::test]
async fn policies_are_compared_by_meaning() {
    let before = Repository { repository_policy: "{ \"a\": 1, \"b\": 2 }".into(), ..Repository::default() };
    let aws = account([]).await;
    let state = |text| api::state(&aws, details(None, Some(text)), &before).unwrap().repository_policy;
    assert_eq!(state("{\"b\":2,\"a\":1}"), before.repository_policy);
    assert_eq!(state("{\"a\":3}"), Attr::from("{\"a\":3}"));
}

#[test]
fn what_is_told() {
    let of = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let taken = |tags: &Tags| tags::taken("CreateRepository", "", "the repository llm/trainer", tags);
    insta::assert_snapshot!(not_empty("llm/trainer").detail);
    insta::assert_snapshot!(taken(&of(&[])).message);
    let others = of(&[("warren:fabric", "training"), ("warren:owner", "research")]);
    insta::assert_snapshot!(taken(&others).message);
    let mut diagnostics = Diagnostics::default();
    let config = Repository {
        keep_last_images: 1.into(),
        lifecycle_policy: "{}".into(),
        kms_key: "arn:aws:kms:key".into(),
        ..Repository::default()
    };
    check(&config, &mut diagnostics);
    let told: Vec<_> = diagnostics.0.into_iter().map(|diagnostic| diagnostic.detail).collect();
    insta::assert_snapshot!(told.join("\n"));
}
