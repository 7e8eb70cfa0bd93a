use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::str::FromStr;

use aws_sdk_ec2::types::builders::VpcEndpointBuilder;
use aws_sdk_ec2::types::{State, VpcEndpoint, VpcEndpointType};
use tf_provider_rs::{Context, Model, Resource};

use super::*;
use crate::common::tests::{known, named};
use crate::ids::VpcId;
use crate::memory::{PlannedSecurityGroup, PlannedVpc, PlannedZone};
use crate::session::tests::{account, session};
use model::{BucketPolicy, DnsOptions};
use warren_managed::Common as _;
use warren_managed::Managed;
use warren_managed::sets::Texts;

fn ids<T: FromStr<Err: Debug> + Ord>(items: &[&str]) -> Set<T> {
    Attr::Known(items.iter().map(|item| known(item)).collect())
}

fn texts(items: &[&str]) -> Texts {
    sets::of(items.iter().map(|item| (*item).to_owned()))
}

/// An endpoint as its plan has it after defaults; nothing but its service is known.
fn endpoint(service: &str) -> Endpoint {
    let mut planned = Endpoint {
        object: named(service),
        vpc_id: Attr::Unknown,
        service: service.into(),
        subnet_ids: Attr::Unknown,
        security_group_ids: Attr::Unknown,
        ..Endpoint::default()
    };
    let config = Endpoint { private_dns_enabled: Attr::Null, r#type: Attr::Null, ..planned.clone() };
    derive(&mut planned, (&None, &config), Some("eu-west-1"));
    planned
}

fn buckets(names: &[&str]) -> BucketPolicy {
    BucketPolicy {
        buckets: texts(names),
        object_actions: texts(&["s3:GetObject", "s3:PutObject"]),
        ecr_layers: true.into(),
    }
}

fn change(prior: Option<Endpoint>, config: Endpoint) -> Change<Endpoint> {
    Change { prior, planned: config.clone(), config, requires_replace: Vec::new(), deferred: None }
}

fn shown(diagnostics: &Diagnostics) -> String {
    let line = |d: &Diagnostic| {
        format!("{:?} {}: {}\n{}", d.severity, d.path.clone().unwrap_or_default(), d.summary, d.detail)
    };
    diagnostics.0.iter().map(line).collect::<Vec<_>>().join("\n\n")
}

fn checked(endpoint: &Endpoint, around: &Around) -> String {
    let mut diagnostics = Diagnostics::default();
    let service = endpoint.service.value().unwrap();
    complete::check(endpoint, endpoint, service, Some("eu-west-1"), around, &mut diagnostics);
    shown(&diagnostics)
}

fn other(service: &str, vpc: Attr<VpcId>, policy: Attr<String>) -> PlannedEndpoint {
    PlannedEndpoint { vpc_id: vpc, service: service.into(), private_dns: true.into(), policy }
}

fn answer() -> VpcEndpointBuilder {
    VpcEndpoint::builder()
        .vpc_endpoint_id("vpce-1")
        .vpc_id("vpc-1")
        .service_name("com.amazonaws.us-east-1.s3")
        .vpc_endpoint_type(VpcEndpointType::Gateway)
        .state(State::Available)
}

#[test]
fn services_have_a_short_and_a_full_name() {
    assert_eq!(service::full("ecr.api", "eu-west-1", Kind::Interface), "com.amazonaws.eu-west-1.ecr.api");
    assert_eq!(
        service::full("com.amazonaws.eu-west-1.s3", "eu-west-1", Kind::Gateway),
        "com.amazonaws.eu-west-1.s3"
    );
    assert_eq!(service::short("com.amazonaws.eu-west-1.ecr.dkr", Some("eu-west-1")), "ecr.dkr");
    assert_eq!(service::short("cn.com.amazonaws.cn-north-1.ecr.dkr", Some("cn-north-1")), "ecr.dkr");
    assert_eq!(service::short("com.amazonaws.us-east-1.s3", Some("eu-west-1")), "com.amazonaws.us-east-1.s3");
    for (region, kind, name) in [
        ("cn-north-1", Kind::Interface, "cn.com.amazonaws.cn-north-1.s3"),
        ("cn-north-1", Kind::Gateway, "com.amazonaws.cn-north-1.s3"),
        ("us-gov-west-1", Kind::Gateway, "com.amazonaws.us-gov-west-1.s3"),
        ("eusc-de-east-1", Kind::Interface, "eu.amazonaws.eusc-de-east-1.s3"),
        ("us-isof-south-1", Kind::Interface, "gov.ic.hci.csp.us-isof-south-1.s3"),
    ] {
        assert_eq!(service::full("s3", region, kind), name);
        assert_eq!(service::short(name, Some(region)), "s3");
        assert!(service::is_full(name));
    }
    for (region, name) in [
        ("us-gov-west-1", "api.ecr.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "api.ecr.cn-north-1.amazonaws.com.cn"),
        ("us-iso-east-1", "api.ecr.us-iso-east-1.c2s.ic.gov"),
        ("eusc-de-east-1", "api.ecr.eusc-de-east-1.amazonaws.eu"),
    ] {
        assert_eq!(service::public_name("ecr.api", region).as_deref(), Some(name));
    }
    assert_eq!(service::layer_bucket("cn-north-1"), "arn:aws-cn:s3:::prod-cn-north-1-starport-layer-bucket");
    let mut diagnostics = Diagnostics::default();
    let schema = <Endpoint as Model>::schema();
    let attribute = schema.attributes.iter().find(|attribute| attribute.name == "service").unwrap();
    for service in ["s3", "ecr.api", "com.amazonaws.vpce.us-east-1.vpce-svc-0123", "S3", "s3.", "https://s3"]
    {
        attribute.validators[0](&service.into(), &Path::of("service"), &mut diagnostics);
    }
    insta::assert_snapshot!(shown(&diagnostics));
}

#[test]
fn types_follow_from_the_service() {
    let gateway = endpoint("s3");
    assert!(gateway.is_gateway());
    assert_eq!(gateway.private_dns_enabled, Attr::Known(false));
    let interface = endpoint("ecr.api");
    assert_eq!(interface.r#type, Attr::Known(Kind::Interface));
    assert_eq!(interface.private_dns_enabled, Attr::Known(true));
    assert_eq!(interface.prefix_list_id, Attr::Null);
    let customers = endpoint("com.amazonaws.vpce.eu-west-1.vpce-svc-1");
    assert_eq!(customers.private_dns_enabled, Attr::Known(false));
    assert!(endpoint("dynamodb").is_gateway());
}

#[test]
fn a_bucket_policy_allows_its_buckets_and_image_layers() {
    let policy = buckets(&["data", "models"]).render("eu-west-1").unwrap();
    let json: serde_json::Value = serde_json::from_str(&policy).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
    let document = policy::Document::parse(&policy).unwrap();
    assert!(document.allows("s3:PutObject", "arn:aws:s3:::models/x"));
    assert!(!document.allows("s3:GetObject", "arn:aws:s3:::elsewhere/x"));
    assert!(document.allows("s3:GetObject", "arn:aws:s3:::prod-eu-west-1-starport-layer-bucket/x"));
    let open = BucketPolicy { buckets: Attr::Known([Attr::Unknown].into()), ..buckets(&[]) };
    assert_eq!(open.render("eu-west-1"), None);
}

#[tokio::test]
async fn policies_drift_only_when_their_meaning_does() {
    let aws = account([]).await;
    let read = |policy: &str, before: &Endpoint| {
        api::found(&aws, answer().policy_document(policy).build(), before).unwrap().state.policy
    };
    let open = r#"{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}"#;
    let other = r#"{"Statement":[]}"#;
    assert_eq!(read(open, &endpoint("s3")), Attr::Null);
    assert_eq!(read(other, &endpoint("s3")), other.into());
    let by_bucket = Endpoint { bucket_policy: buckets(&["data"]).into(), ..endpoint("s3") };
    let rendered = buckets(&["data"]).render(&aws.region).unwrap();
    assert_eq!(read(&rendered, &by_bucket), Attr::Null);
    assert_eq!(read(other, &by_bucket), other.into());
    assert!(read(open, &by_bucket).is_known(), "a policy that somebody opened shows");
}

#[test]
fn an_ecr_endpoint_is_told_all_that_it_lacks() {
    let vpc = PlannedVpc {
        ranges: vec!["10.0.0.0/16".parse().unwrap()],
        dns_support: true.into(),
        dns_hostnames: false.into(),
    };
    let group = PlannedSecurityGroup {
        https_from: vec!["192.168.0.0/16".parse().unwrap()],
        known: true,
        ..PlannedSecurityGroup::default()
    };
    let around = Around {
        vpc: Some(vpc),
        groups: BTreeMap::from([("sg-1".parse().unwrap(), group)]),
        endpoints: vec![other("ecr.api", known("vpc-2"), Attr::Null)],
        zones: Vec::new(),
        looked_up: true,
    };
    let lacking = Endpoint {
        vpc_id: known("vpc-1"),
        subnet_ids: Attr::Null,
        security_group_ids: ids(&["sg-1"]),
        policy: r#"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}"#.into(),
        ..endpoint("ecr.dkr")
    };
    let no_dns = Endpoint {
        private_dns_enabled: false.into(),
        security_group_ids: Attr::Null,
        subnet_ids: ids(&["subnet-1"]),
        ..endpoint("ecr.api")
    };
    insta::assert_snapshot!(format!("{}\n----\n{}", checked(&lacking, &around), checked(&no_dns, &around)));
}

#[test]
fn a_private_zone_serves_an_endpoint_without_private_dns() {
    let hidden =
        Endpoint { vpc_id: known("vpc-1"), private_dns_enabled: false.into(), ..endpoint("ecr.api") };
    let around = |domain: &str, vpc: Attr<VpcId>| Around {
        zones: vec![PlannedZone { domain: domain.into(), vpcs: vec![vpc] }],
        looked_up: true,
        ..Around::default()
    };
    let fine = |around: &Around| !checked(&hidden, around).contains("ECR endpoint without DNS");
    let name = "api.ecr.eu-west-1.amazonaws.com";
    assert!(fine(&around(name, known("vpc-1"))));
    assert!(fine(&around("ecr.eu-west-1.amazonaws.com", Attr::Unknown)));
    assert!(!fine(&around(name, known("vpc-2"))));
    assert!(!fine(&around("dkr.ecr.eu-west-1.amazonaws.com", known("vpc-1"))));
    // Nothing was looked up, so the zone may exist.
    assert!(fine(&Around { looked_up: false, ..Around::default() }));
    assert_eq!(
        service::public_name("ecr.dkr", "cn-north-1").as_deref(),
        Some("dkr.ecr.cn-north-1.amazonaws.com.cn")
    );
    assert_eq!(service::public_name("sts", "eu-west-1"), None);
}

#[tokio::test]
async fn dns_options_that_are_not_set_are_left_to_aws() {
    let aws = account([]).await;
    let live = aws_sdk_ec2::types::DnsOptions::builder()
        .dns_record_ip_type(aws_sdk_ec2::types::DnsRecordIpType::Dualstack)
        .private_dns_only_for_inbound_resolver_endpoint(false)
        .build();
    let read = |before: &Endpoint| {
        api::found(&aws, answer().dns_options(live.clone()).build(), before).unwrap().state
    };
    let plain = read(&endpoint("s3"));
    assert_eq!((&plain.dns_options, plain.ip_address_type), (&Attr::Null, known("ipv4")));
    let set = DnsOptions { dns_record_ip_type: known("ipv4"), ..DnsOptions::default() };
    let before = Endpoint { dns_options: Attr::Known(set), ..endpoint("s3") };
    let shown = read(&before).dns_options.into_known().unwrap();
    assert_eq!(shown.dns_record_ip_type, known("dualstack"));
    assert_eq!(shown.private_dns_only_for_inbound_resolver_endpoint, Attr::Null);
}

#[test]
fn a_closed_endpoint_for_layers_is_told() {
    let mine = buckets(&["data"]);
    let shut = BucketPolicy { ecr_layers: false.into(), ..mine.clone() };
    let around = |policy: &BucketPolicy| Around {
        endpoints: vec![
            other("ecr.api", Attr::Unknown, Attr::Null),
            other("s3", Attr::Unknown, policy.render("eu-west-1").into()),
        ],
        ..Around::default()
    };
    assert_eq!(checked(&endpoint("ecr.dkr"), &around(&mine)), "");
    insta::assert_snapshot!(checked(&endpoint("ecr.dkr"), &around(&shut)));
}

#[test]
fn what_is_unknown_lacks_nothing() {
    let others = ["ecr.api", "s3"].map(|service| other(service, known("vpc-9"), Attr::Unknown));
    let around = Around { endpoints: others.into(), ..Around::default() };
    assert_eq!(checked(&endpoint("ecr.dkr"), &around), "");
    let some = Endpoint {
        security_group_ids: Attr::Known(BTreeSet::from([known("sg-1"), Attr::Unknown])),
        subnet_ids: Attr::Known(BTreeSet::from([Attr::Unknown])),
        policy: Attr::Unknown,
        ..endpoint("ecr.api")
    };
    assert_eq!(checked(&some, &Around::default()), "");
    let unseen = Endpoint { security_group_ids: ids(&["sg-1"]), ..endpoint("ecr.api") };
    let half = PlannedSecurityGroup { known: false, ..PlannedSecurityGroup::default() };
    let around = Around { groups: BTreeMap::from([("sg-1".parse().unwrap(), half)]), ..Around::default() };
    assert_eq!(checked(&unseen, &around), "");
}

#[tokio::test]
async fn the_order_of_planning_counts() {
    let session = session([]).await;
    let resource = Managed::<Endpoint>::new(&session);
    let plan = async |service: &str, allow: Attr<bool>| {
        let planned = endpoint(service);
        let config = Endpoint {
            r#type: Attr::Null,
            private_dns_enabled: Attr::Null,
            allow_incomplete: allow,
            ..planned
        };
        let mut diagnostics = Diagnostics::default();
        resource.plan(&Context::default(), &mut change(None, config), &mut diagnostics).await;
        shown(&diagnostics)
    };
    let first = plan("ecr.dkr", Attr::Null).await;
    assert_eq!(plan("ecr.dkr", true.into()).await, "");
    assert_eq!(plan("s3", Attr::Null).await, "");
    let second = plan("ecr.dkr", Attr::Null).await;
    assert_eq!(plan("ecr.api", Attr::Null).await, "");
    assert_eq!(plan("ecr.dkr", Attr::Null).await, "");
    insta::assert_snapshot!(format!("{first}\n\n{second}"));
}

#[tokio::test]
async fn an_endpoint_that_stays_is_checked_against_what_the_run_changes() {
    let session = session([]).await;
    let resource = Managed::<Endpoint>::new(&session);
    let mut stays = Endpoint {
        vpc_id: known("vpc-1"),
        subnet_ids: ids(&["subnet-1"]),
        security_group_ids: ids(&["sg-1"]),
        ..endpoint("ecr.dkr")
    };
    stays.service_name = "com.amazonaws.us-east-1.ecr.dkr".into();
    stays.set_id("vpce-1");
    stays.object.tags_all = crate::tags::all(&session.get().unwrap().tags("ecr.dkr", &Attr::Null));
    let plan = async || {
        let mut change = change(Some(stays.clone()), stays.clone());
        let mut diagnostics = Diagnostics::default();
        resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
        assert_eq!(change.planned, stays);
        shown(&diagnostics)
    };
    assert_eq!(plan().await, "", "nothing is looked up");
    let closed = PlannedSecurityGroup { known: true, ..PlannedSecurityGroup::default() };
    session.run().security_groups.put("endpoints", Some("sg-1"), closed);
    insta::assert_snapshot!(plan().await);
}

#[tokio::test]
async fn another_spelling_changes_nothing() {
    let resource = Managed::<Endpoint>::new(&session([]).await);
    let prior = Endpoint {
        service: "com.amazonaws.us-east-1.s3".into(),
        service_name: "com.amazonaws.us-east-1.s3".into(),
        policy: r#"{"Statement":[{"Effect":"Allow","Action":["s3:*"],"Resource":"*"}]}"#.into(),
        dns_entries: Vec::new().into(),
        ..endpoint("s3")
    };
    let spelled = Endpoint {
        service: "s3".into(),
        policy: r#"{"Statement":{"Resource":["*"],"Effect":"Allow","Action":"s3:*"}}"#.into(),
        ..prior.clone()
    };
    let mut change = change(Some(prior.clone()), spelled);
    change.requires_replace.push(Path::of("service"));
    resource.plan(&Context::default(), &mut change, &mut Diagnostics::default()).await;
    assert_eq!(change.requires_replace, []);
    assert_eq!(change.planned.policy, prior.policy);
    assert_eq!(change.planned.dns_entries, prior.dns_entries);
    change.planned.subnet_ids = ids(&["subnet-2"]);
    change.config.r#type = Attr::Known(Kind::Interface);
    change.planned.r#type = Attr::Known(Kind::Interface);
    resource.plan(&Context::default(), &mut change, &mut Diagnostics::default()).await;
    assert_eq!(change.planned.dns_entries, Attr::Unknown, "another subnet brings other names");
}

#[tokio::test]
async fn attributes_that_contradict_each_other_are_told() {
    let resource = Managed::<Endpoint>::new(&session([]).await);
    let mut diagnostics = Diagnostics::default();
    let config = |service: &str| Endpoint { service: service.into(), ..Endpoint::default() };
    let gateway = Endpoint {
        subnet_ids: ids(&["subnet-1"]),
        security_group_ids: Attr::Unknown,
        private_dns_enabled: true.into(),
        ..config("com.amazonaws.us-east-1.s3")
    };
    let interface = Endpoint {
        route_table_ids: ids(&["rtb-1"]),
        bucket_policy: buckets(&["data"]).into(),
        policy: "{}".into(),
        ..config("logs")
    };
    for config in [gateway, interface, config("s3"), Endpoint { service: Attr::Unknown, ..config("") }] {
        resource.validate(&config, &mut diagnostics).await;
    }
    insta::assert_snapshot!(shown(&diagnostics));
}

#[tokio::test]
async fn an_endpoint_without_an_id_is_an_error() {
    let aws = account([]).await;
    let read = |answer: VpcEndpointBuilder| api::found(&aws, answer.build(), &endpoint("s3"));
    let state = read(answer()).unwrap().state;
    assert_eq!((state.object.id(), state.service), (Ok("vpce-1"), "s3".into()));
    let error = read(answer().set_vpc_endpoint_id(None)).unwrap_err();
    assert!(error.message.contains("VpcEndpointId"), "{error}");
}
