//! What the guard says at plan.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use tf_provider_rs::{Diagnostic, Diagnostics, Path, Severity, async_trait};
use warren_cidr::Family;
use warren_guard::{
    Guard, GuardConfig, Key, Listing, LiveRange, LiveSource, Location, Parent, PlannedResource, Role, Unread,
    Usage,
};

const VPC: &str = "warren_aws_vpc";
const SUBNET: &str = "warren_aws_subnet";
const PLAN: &str = "warren_address_plan";

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn guard() -> Guard {
    Guard::new(GuardConfig { fabric: "llm".into(), owner: "platform".into(), ..GuardConfig::default() })
}

fn vpc(name: &str, cidr: &str) -> PlannedResource {
    PlannedResource::new(Key::new(VPC, name).at(here())).range(
        net(cidr),
        Path::of("cidr_block"),
        Role::Occupy,
    )
}

fn subnet(name: &str, cidr: &str, parent: Parent) -> PlannedResource {
    PlannedResource::new(Key::new(SUBNET, name).at(here())).range(
        net(cidr),
        Path::of("cidr_block"),
        Role::Part(parent),
    )
}

fn unknown_vpc() -> Parent {
    Parent::of(VPC, None)
}

fn address_plan(name: &str, reserve: &[(&str, &str)], excluded: &[(&str, &str)]) -> PlannedResource {
    let mut plan = PlannedResource::new(Key::new(PLAN, name));
    for (key, cidr) in reserve {
        plan = plan.range(net(cidr), Path::of("networks").key(key).attribute("cidr"), Role::Reserve);
    }
    for (key, cidr) in excluded {
        plan = plan.range(net(cidr), Path::of("reserved").key(key), Role::Excluded);
    }
    plan
}

fn live(id: &str, cidr: &str, name: &str, tags: Option<(&str, &str)>) -> LiveRange {
    LiveRange {
        net: net(cidr),
        usage: Usage::Network,
        kind: VPC.into(),
        id: id.into(),
        name: name.into(),
        owner: tags.map(|(_, owner)| owner.into()),
        fabric: tags.map(|(fabric, _)| fabric.into()),
        location: here(),
        parent: None,
    }
}

fn here() -> Location {
    Location::aws("123456789012", "us-east-1")
}

struct Cloud {
    listing: Listing,
    calls: AtomicUsize,
}

#[async_trait]
impl LiveSource for Cloud {
    fn name(&self) -> String {
        "AWS us-east-1".into()
    }

    async fn list(&self) -> Listing {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.listing.clone()
    }
}

fn with_live(ranges: Vec<LiveRange>) -> Guard {
    let guard = guard();
    let listing = Listing { ranges, ..Listing::default() };
    guard.add_live(Arc::new(Cloud { listing, calls: AtomicUsize::new(0) }));
    guard
}

fn text(diagnostics: &Diagnostics) -> String {
    let mut text = String::new();
    for Diagnostic { severity, summary, detail, path } in &diagnostics.0 {
        let at = path.as_ref().map(ToString::to_string).unwrap_or_default();
        writeln!(text, "{severity:?}: {summary}\n[{at}]\n{detail}\n").unwrap();
    }
    text
}

/// Plans the resources one after the other; the last one's diagnostics. The others' must be empty.
async fn last(guard: &Guard, resources: Vec<PlannedResource>) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    for resource in resources {
        assert!(diagnostics.is_empty(), "{}", text(&diagnostics));
        diagnostics = guard.plan(resource).await;
    }
    diagnostics
}

#[tokio::test]
async fn two_networks_of_a_run() {
    let found = last(&guard(), vec![vpc("hub", "172.16.0.0/16"), vpc("spoke", "172.16.128.0/20")]).await;
    insta::assert_snapshot!(text(&found));
}

#[tokio::test]
async fn the_same_conflict_is_seen_in_either_order() {
    for order in [["172.16.0.0/16", "172.16.128.0/20"], ["172.16.128.0/20", "172.16.0.0/16"]] {
        let found = last(&guard(), vec![vpc("a", order[0]), vpc("b", order[1])]).await;
        assert!(found.has_error());
    }
}

#[tokio::test]
async fn an_occupier_in_its_own_reservation_is_fine() {
    let guard = guard();
    let plan = address_plan("main", &[("aws", "172.16.0.0/16")], &[("on_prem", "10.8.0.0/16")]);
    let found = last(&guard, vec![plan, vpc("equal", "172.16.0.0/16"), vpc("other", "10.9.0.0/16")]).await;
    assert_eq!(text(&found), "");
}

#[tokio::test]
async fn an_occupier_beyond_its_reservation_and_in_an_excluded_range() {
    let plan = address_plan("main", &[("aws", "172.16.0.0/20")], &[("docker", "172.17.0.0/16")]);
    let mut plan = plan;
    plan.pools = vec![vec![net("172.16.0.0/12")]];
    let both = vpc("hub", "172.16.0.0/16").range(
        net("172.17.4.0/22"),
        Path::of("secondary_cidr_blocks").index(0),
        Role::Occupy,
    );
    insta::assert_snapshot!(text(&last(&guard(), vec![plan, both]).await));
}

#[tokio::test]
async fn two_address_plans() {
    let one = address_plan("one", &[("aws", "172.16.0.0/16")], &[("on_prem", "10.8.0.0/16")]);
    let two = address_plan("two", &[("gcp", "172.16.0.0/18")], &[("on_prem", "10.8.0.0/16")]);
    insta::assert_snapshot!(text(&last(&guard(), vec![one, two]).await));
}

#[tokio::test]
async fn planning_twice_replaces() {
    let guard = guard();
    let existing = vpc("hub", "10.0.0.0/16").id(Some("vpc-1"));
    let replaced = vpc("hub", "10.1.0.0/16");
    let again = vpc("hub", "10.1.0.0/16");
    let found = last(&guard, vec![existing, replaced, again, vpc("other", "10.0.0.0/16")]).await;
    assert_eq!(text(&found), "");
}

#[tokio::test]
async fn a_name_used_twice() {
    let a = vpc("hub", "10.0.0.0/16").id(Some("vpc-1"));
    let b = vpc("hub", "10.1.0.0/16").id(Some("vpc-2"));
    let existing = last(&guard(), vec![a, b]).await;
    let new = last(&guard(), vec![vpc("hub", "10.0.0.0/16"), vpc("hub", "10.1.0.0/16")]).await;
    insta::assert_snapshot!(text(&existing) + &text(&new));
}

#[tokio::test]
async fn a_name_is_not_called_used_twice_without_certainty() {
    let guard = guard();
    let unknown = PlannedResource::new(Key::new(VPC, "hub").at(here())).unknown(Family::V4);
    assert_eq!(text(&last(&guard, vec![unknown, vpc("hub", "10.1.0.0/16")]).await), "");
    guard
        .claim(&Key::new(VPC, "hub").at(here()), warren_guard::ClaimRole::Occupy, &[net("10.1.0.0/16")])
        .await
        .unwrap();
    let changed = vpc("hub", "10.2.0.0/16");
    assert_eq!(text(&guard.plan(changed).await), "");
}

#[tokio::test]
async fn forgotten_ranges_do_not_count() {
    let guard = guard();
    guard.plan(vpc("old", "10.0.0.0/16").id(Some("vpc-1"))).await;
    guard.forget(&Key::new(VPC, "old").at(here()), Some("vpc-1"));
    assert_eq!(text(&guard.plan(vpc("new", "10.0.0.0/16")).await), "");
}

#[tokio::test]
async fn the_destroy_of_the_replaced_object_does_not_forget_the_new_one() {
    let guard = guard();
    guard.plan(vpc("hub", "10.0.0.0/16")).await;
    guard.forget(&Key::new(VPC, "hub").at(here()), Some("vpc-old"));
    assert!(guard.plan(vpc("other", "10.0.0.0/16")).await.has_error());
}

#[tokio::test]
async fn a_subnet_outside_its_network_and_siblings_that_overlap() {
    let guard = guard();
    let hub = vpc("hub", "172.16.0.0/16").id(Some("vpc-1"));
    let parent = || Parent::of(VPC, Some("vpc-1"));
    let outside = last(&guard, vec![hub, subnet("outside", "172.20.0.0/24", parent())]).await;
    guard.forget(&Key::new(SUBNET, "outside").at(here()), None);
    let public = subnet("public", "172.16.0.0/23", parent());
    let sibling = last(&guard, vec![public, subnet("data", "172.16.1.0/24", parent())]).await;
    insta::assert_snapshot!(text(&outside) + &text(&sibling));
}

#[tokio::test]
async fn a_subnet_of_a_network_that_is_still_to_be_created() {
    let guard = guard();
    let found = last(
        &guard,
        vec![
            vpc("hub", "172.16.0.0/16"),
            vpc("spoke", "172.18.0.0/16"),
            subnet("inside", "172.18.1.0/24", unknown_vpc()),
            subnet("outside", "172.20.0.0/24", unknown_vpc()),
        ],
    )
    .await;
    insta::assert_snapshot!(text(&found));
    let told = subnet("outside", "172.20.0.0/24", unknown_vpc().within(vec![net("172.20.0.0/16")]));
    assert_eq!(text(&guard.plan(told).await), "");
    let told = subnet("outside", "172.20.0.0/24", unknown_vpc().within(vec![net("172.21.0.0/16")]));
    insta::assert_snapshot!("outside_what_was_told", text(&guard.plan(told).await));
}

#[tokio::test]
async fn nothing_is_said_about_what_is_not_known() {
    let no_candidate = guard();
    let existing = vpc("hub", "172.16.0.0/16").id(Some("vpc-1"));
    let found = last(&no_candidate, vec![existing, subnet("s", "172.20.0.0/24", unknown_vpc())]).await;
    assert_eq!(text(&found), "");

    let unknown_range = guard();
    let secondary_unknown = vpc("hub", "172.16.0.0/16").unknown(Family::V4);
    let found =
        last(&unknown_range, vec![secondary_unknown, subnet("s", "172.20.0.0/24", unknown_vpc())]).await;
    assert_eq!(text(&found), "");

    let ipv6 = guard();
    let assigned = vpc("hub", "172.16.0.0/16").unknown(Family::V6).id(Some("vpc-1"));
    let s = subnet("s", "2600:1f00::/64", Parent::of(VPC, Some("vpc-1")));
    assert_eq!(text(&last(&ipv6, vec![assigned, s]).await), "");

    let foreign = guard();
    let s = subnet("s", "172.20.0.0/24", Parent::of(VPC, Some("vpc-elsewhere")));
    assert_eq!(text(&last(&foreign, vec![s]).await), "");
}

#[tokio::test]
async fn a_subnet_of_a_foreign_network_stands_for_it() {
    let s = subnet("s", "172.16.3.0/24", Parent::of(VPC, Some("vpc-elsewhere")));
    insta::assert_snapshot!(text(&last(&guard(), vec![s, vpc("hub", "172.16.0.0/16")]).await));
}

#[tokio::test]
async fn live_networks() {
    let guard = with_live(vec![
        live("vpc-untagged", "172.16.0.0/20", "legacy", None),
        live("vpc-theirs", "172.16.64.0/20", "ml", Some(("llm", "ml-team"))),
        live("vpc-left", "172.16.128.0/20", "old", Some(("llm", "platform"))),
        live("vpc-fabric", "172.16.192.0/20", "x", Some(("other-fabric", "platform"))),
        live("vpc-own", "172.16.0.0/16", "hub", Some(("llm", "platform"))),
    ]);
    insta::assert_snapshot!(text(&guard.plan(vpc("hub", "172.16.0.0/16")).await));
}

#[tokio::test]
async fn live_networks_of_this_run_are_no_news() {
    let guard = with_live(vec![
        live("vpc-1", "10.0.0.0/16", "", None),
        live("vpc-2", "10.1.0.0/16", "b", Some(("llm", "platform"))),
        live("vpc-3", "10.2.0.0/16", "c", Some(("llm", "platform"))),
    ]);
    let imported = vpc("a", "10.0.0.0/16").id(Some("vpc-1"));
    assert_eq!(text(&guard.plan(imported).await), "");
    guard.forget(&Key::new(VPC, "b").at(here()), Some("vpc-2"));
    let plan = address_plan("main", &[("a", "10.0.0.0/16"), ("c", "10.2.0.0/15")], &[]);
    let found = last(&guard, vec![plan, vpc("instead", "10.1.0.0/16"), vpc("c", "10.2.0.0/16")]).await;
    assert_eq!(text(&found), "");
}

#[tokio::test]
async fn a_reservation_against_live_networks() {
    let guard = with_live(vec![
        live("vpc-same", "172.16.0.0/16", "made by hand", None),
        live("vpc-default", "172.31.0.0/16", "", None),
        live("vpc-beyond", "10.0.0.0/8", "wide", Some(("llm", "platform"))),
    ]);
    let plan = address_plan(
        "main",
        &[("adopted", "172.16.0.0/16"), ("crossing", "172.31.128.0/17"), ("inner", "10.4.0.0/16")],
        &[("docker", "172.31.0.0/24")],
    );
    insta::assert_snapshot!(text(&guard.plan(plan).await));
}

#[tokio::test]
async fn live_subnets_of_an_adopted_network() {
    let mut taken = live("subnet-1", "172.16.1.0/24", "theirs", None);
    taken.kind = SUBNET.into();
    taken.parent = Some("vpc-1".into());
    let guard = with_live(vec![live("vpc-1", "172.16.0.0/16", "", None), taken]);
    let parent = || Parent::of(VPC, Some("vpc-1"));
    assert_eq!(text(&guard.plan(subnet("free", "172.16.0.0/24", parent())).await), "");
    let inside = guard.plan(subnet("taken", "172.16.1.128/25", parent())).await;
    let outside = guard.plan(subnet("outside", "172.17.0.0/24", parent())).await;
    insta::assert_snapshot!(text(&inside) + &text(&outside));
}

#[tokio::test]
async fn live_networks_are_listed_once_and_failures_told_once() {
    let unread = |what, scope: &str| Unread {
        what,
        scope: scope.into(),
        permissions: &["ec2:DescribeTransitGatewayRouteTables", "ec2:SearchTransitGatewayRoutes"],
        reason: "SearchTransitGatewayRoutes failed: UnauthorizedOperation: you are not authorized.".into(),
        setting: Some("`aws.live_ranges`"),
    };
    let vpcs =
        Unread { permissions: &["ec2:DescribeVpcs"], setting: None, ..unread("VPCs", "AWS us-east-1") };
    let routes = unread("transit gateway routes", "AWS us-east-1");
    let elsewhere = unread("transit gateway routes", "AWS eu-west-1");
    let unread = vec![vpcs, routes.clone(), elsewhere, routes];
    let listing = Listing { unread, ..Listing::default() };
    let cloud = Arc::new(Cloud { listing, calls: AtomicUsize::new(0) });
    let guard = guard();
    guard.add_live(Arc::clone(&cloud) as Arc<dyn LiveSource>);
    let told = guard.plan(vpc("a", "10.0.0.0/16")).await;
    assert!(!told.has_error());
    insta::assert_snapshot!(text(&told));
    assert_eq!(guard.plan(vpc("b", "10.1.0.0/16")).await.0.len(), 0);
    assert_eq!(cloud.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn no_free_range_and_more_conflicts_than_are_listed() {
    let guard = guard();
    for third in 0..=255 {
        let clash = guard.plan(vpc(&format!("v{third:03}"), &format!("192.168.{third}.0/24"))).await;
        assert!(clash.is_empty());
    }
    insta::assert_snapshot!(text(&guard.plan(vpc("all", "192.168.0.0/16")).await));
}

#[tokio::test]
async fn a_new_run_begins_with_configure() {
    let guard = guard();
    guard.plan(vpc("a", "10.0.0.0/16")).await;
    guard.configure(GuardConfig::default());
    assert!(guard.plan(vpc("b", "10.0.0.0/16")).await.is_empty());
}

#[tokio::test]
async fn an_unconfigured_guard_checks_the_run() {
    let guard = Guard::default();
    guard.plan(vpc("a", "10.0.0.0/16")).await;
    assert!(guard.plan(vpc("b", "10.0.0.0/24")).await.has_error());
}

#[tokio::test]
async fn cost_of_a_plan_does_not_grow_with_the_run() {
    // 16,000 networks and as many subnets. A quadratic step makes the second half much slower than the first on any machine.
    let guard = guard();
    let mut halves = Vec::new();
    for half in 0..2_u32 {
        let start = Instant::now();
        for index in half * 8_000..(half + 1) * 8_000 {
            let cidr = format!("10.{}.{}.0/24", index / 256, index % 256);
            let part = format!("10.{}.{}.0/25", index / 256, index % 256);
            assert!(guard.plan(vpc(&format!("v{index}"), &cidr)).await.is_empty());
            assert!(guard.plan(subnet(&format!("s{index}"), &part, unknown_vpc())).await.is_empty());
        }
        halves.push(start.elapsed());
    }
    assert!(halves[1] < halves[0] * 3 + Duration::from_millis(500), "{halves:?}");
    assert!(guard.plan(vpc("last", "10.0.0.0/8")).await.has_error());
    assert!(guard.plan(vpc("v0", "10.0.0.0/24")).await.0.iter().all(|d| d.severity == Severity::Error));
}
