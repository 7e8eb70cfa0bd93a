use tf_provider_rs::Attr;

use super::*;
use crate::session::tests::account;
use warren_managed::listed;

fn told(log: &FlowLog) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    schema::check(log, &mut diagnostics);
    diagnostics.0.into_iter().map(|diagnostic| diagnostic.detail).collect()
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&FlowLog::schema()));
}

#[test]
fn one_thing_is_logged() {
    let vpc = FlowLog { vpc_id: "vpc-1".into(), ..FlowLog::default() };
    assert_eq!(told(&vpc), Vec::<String>::new());
    assert_eq!(told(&FlowLog { vpc_id: Attr::Unknown, ..FlowLog::default() }), Vec::<String>::new());
    insta::assert_snapshot!(told(&FlowLog { subnet_id: "subnet-1".into(), ..vpc.clone() }).join("\n"));
    insta::assert_snapshot!(told(&FlowLog { destination_type: "cloud-watch-logs".into(), ..vpc }).join("\n"));
}

#[tokio::test]
async fn what_is_logged_is_told_by_its_id() {
    let found = api::Found { resource: "subnet-1".into(), ..api::Found::default() };
    let aws = account([]).await;
    let state = schema::state(&aws, found, &FlowLog::default());
    assert_eq!((state.vpc_id.clone(), state.subnet_id.clone()), (Attr::Null, "subnet-1".into()));
    assert_eq!(schema::target(&state), schema::Target::Subnet("subnet-1".into()));
}
