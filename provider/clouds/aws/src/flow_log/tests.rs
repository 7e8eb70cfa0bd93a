use std::time::Duration;

use aws_sdk_ec2::types;
use warren_managed::{Common as _, adopt};

use super::*;
use crate::common::tests::known;
use crate::played::{done, played, refused};
use crate::session::tests::{account, session};

fn told(log: &FlowLog) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    check(log, &mut diagnostics);
    diagnostics.0.into_iter().map(|diagnostic| diagnostic.detail).collect()
}

#[test]
fn one_thing_is_logged() {
    let vpc = FlowLog { vpc_id: known("vpc-1"), ..FlowLog::default() };
    assert_eq!(told(&vpc), Vec::<String>::new());
    assert_eq!(told(&FlowLog { vpc_id: Attr::Unknown, ..FlowLog::default() }), Vec::<String>::new());
    insta::assert_snapshot!(told(&FlowLog { subnet_id: known("subnet-1"), ..vpc.clone() }).join("\n"));
    let logs = FlowLog { destination_type: DestinationType::CloudWatchLogs.into(), ..vpc };
    insta::assert_snapshot!(told(&logs).join("\n"));
}

#[tokio::test]
async fn a_transit_gateway_is_logged_by_the_minute() {
    let session = session([]).await;
    let planned = async |config: FlowLog, prior: Option<FlowLog>| {
        let planned = config.clone();
        let mut change = Change { prior, config, planned, requires_replace: Vec::new(), deferred: None };
        FlowLog::plan(&session, &mut change, &mut Diagnostics::default()).await;
        (change.planned.max_aggregation_interval, change.requires_replace.len())
    };
    let transit = FlowLog { transit_gateway_id: known("tgw-1"), ..FlowLog::default() };
    let unknown = FlowLog { transit_gateway_id: Attr::Unknown, ..FlowLog::default() };
    let either = FlowLog { vpc_id: Attr::Unknown, ..unknown.clone() };
    let vpc = FlowLog { vpc_id: Attr::Unknown, ..FlowLog::default() };
    assert_eq!(planned(transit.clone(), None).await, (60.into(), 0));
    assert_eq!(planned(unknown, None).await, (60.into(), 0));
    assert_eq!(planned(either, None).await, (Attr::Unknown, 0));
    assert_eq!(planned(vpc.clone(), None).await, (600.into(), 0));
    let minute = FlowLog { max_aggregation_interval: 60.into(), ..vpc.clone() };
    assert_eq!(planned(minute.clone(), None).await, (60.into(), 0));
    assert_eq!(planned(vpc, Some(minute)).await, (600.into(), 1));
    insta::assert_snapshot!(told(&FlowLog { max_aggregation_interval: 600.into(), ..transit }).join("\n"));
}

#[tokio::test]
async fn what_is_logged_is_told_by_its_id() {
    let log = types::FlowLog::builder()
        .flow_log_id("fl-1")
        .resource_id("subnet-1")
        .log_destination_type(types::LogDestinationType::S3);
    let aws = account([]).await;
    let state = api::live(&aws, log.build(), &FlowLog::default()).unwrap().state;
    assert_eq!((&state.vpc_id, &state.subnet_id), (&Attr::Null, &known("subnet-1")));
    assert_eq!(state.source(), Some(model::Source::Subnet("subnet-1".parse().unwrap())));
}

/// hashicorp/aws issue 29323, and its wait for two minutes (`vpc_flow_log.go`).
#[tokio::test(start_paused = true)]
async fn a_role_that_cannot_be_assumed_yet_is_waited_for_two_minutes() {
    let minute = Duration::from_secs(60);
    let answer = |assumable: Duration, elapsed: Duration, form: &str| {
        if form.contains("Action=DescribeFlowLogs") {
            done("DescribeFlowLogs", "<flowLogSet/>")
        } else if elapsed < assumable {
            let role = "arn:aws:iam::111122223333:role/logs";
            refused(400, "InvalidParameter", &format!("Unable to assume given IAM role: '{role}'"))
        } else {
            done("CreateFlowLogs", "<flowLogIdSet><item>fl-1</item></flowLogIdSet><unsuccessful/>")
        }
    };
    let planned = FlowLog {
        object: crate::common::tests::with_id("hub", "fl-0"),
        vpc_id: known("vpc-1"),
        traffic_type: known("ALL"),
        destination_type: DestinationType::CloudWatchLogs.into(),
        destination_arn: "arn:aws:logs:us-east-1:111122223333:log-group:flows".into(),
        iam_role_arn: "arn:aws:iam::111122223333:role/logs".into(),
        ..FlowLog::default()
    };
    let create = async |work: &Work<'_>| {
        let (aws, tags) = (&work.cloud, planned.marks(&work.cloud)?);
        let (find, create) = (|| api::find(aws, &planned), || api::create(aws, &planned, &tags));
        adopt::ensure(work, &planned, find, create).await
    };
    let ready = move |elapsed: Duration, form: &str| answer(minute, elapsed, form);
    let (made, took) = played(("me-central-1", Attr::Null), minute * 20, ready, &create).await;
    assert_eq!(made.unwrap(), "fl-1");
    assert!(took >= minute && took < minute * 2, "{took:?}");
    // A role without the right trust policy never can.
    let never = move |elapsed: Duration, form: &str| answer(minute * 90, elapsed, form);
    let (failed, took) = played(("il-central-1", Attr::Null), minute * 20, never, &create).await;
    assert!(took >= minute * 2 && took < minute * 3, "{took:?}");
    let told = failed.unwrap_err().0.remove(0);
    insta::assert_snapshot!(format!("{}\n{}", told.summary, told.detail));
}
