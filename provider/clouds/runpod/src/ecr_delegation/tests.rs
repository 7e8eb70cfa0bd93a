use serde_json::json;

use super::model::Repository;
use super::*;

const CHINA: &str = "arn:aws-cn:ecr:cn-north-1:111122223333:repository/acme/train";

#[test]
fn only_arns_of_repositories_are_accepted() {
    let read = Repository::parse("arn:aws:ecr:us-east-2:111122223333:repository/acme/train").unwrap();
    assert_eq!(read, Repository { region: "us-east-2", account: "111122223333", name: "acme/train" });
    assert!(Repository::parse(CHINA).is_some());
    for wrong in [
        "acme/train",
        "arn:aws:ecr:us-east-2:111122223333:acme/train",
        "arn:aws:ecr:us-east-2:1111:repository/acme/train",
        "arn:aws:ecr::111122223333:repository/acme",
        "arn:aws:ecr:us-east-2:111122223333:repository/",
        "arn:aws:s3:us-east-2:111122223333:repository/acme",
    ] {
        assert_eq!(Repository::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn the_arn_is_kept_where_it_names_what_is_there() {
    let found = json!({
        "id": "deleg1", "name": "train [warren:training/platform]", "awsUser": "111122223333",
        "repository": "acme/train", "awsRegion": "cn-north-1", "tag": "latest",
    });
    let of = |arn: &str| {
        let before = EcrDelegation { repository_arn: arn.into(), ..EcrDelegation::default() };
        api::state(&found, &before).unwrap()
    };
    assert_eq!(of(CHINA).repository_arn, CHINA.into());
    assert_eq!(of(CHINA).object.naming, "train".into());
    let other = of("arn:aws:ecr:us-east-2:111122223333:repository/other");
    assert_eq!(other.repository_arn, "arn:aws:ecr:cn-north-1:111122223333:repository/acme/train".into());
}
