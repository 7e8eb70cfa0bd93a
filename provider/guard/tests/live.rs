//! Live ranges against planned ones: every cell of the table in the guide, at random places.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};
use tf_provider_rs::{Diagnostics, Path, Severity, async_trait};
use warren_guard::{
    Guard, GuardConfig, Key, Listing, LiveRange, LiveSource, Location, Parent, PlannedResource, Role, Usage,
};

const GUIDE: &str = include_str!("../../../docs/guides/address-planning.md");
const VPC: &str = "warren_aws_vpc";

struct Cloud(Listing);

#[async_trait]
impl LiveSource for Cloud {
    fn name(&self) -> String {
        "AWS us-east-1".into()
    }

    async fn list(&self) -> Listing {
        self.0.clone()
    }
}

fn guard(listing: Listing) -> Guard {
    let config = GuardConfig { fabric: "llm".into(), owner: "platform".into(), ..GuardConfig::default() };
    let guard = Guard::new(config);
    guard.add_live(Arc::new(Cloud(listing)));
    guard
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn here() -> Location {
    Location::aws("123456789012", "us-east-1")
}

fn live(usage: Usage, net: IpNet) -> LiveRange {
    let (kind, id) = match usage {
        Usage::Network => (VPC, "vpc-other"),
        Usage::Allocated => ("internal range", "range-1"),
        Usage::Behind | Usage::Learned | Usage::Routed => ("route in", "tgw-rtb-1"),
        Usage::Named => ("prefix list", "pl-1"),
    };
    LiveRange {
        net,
        usage,
        kind: kind.into(),
        id: id.into(),
        name: String::new(),
        owner: None,
        fabric: None,
        location: here(),
        parent: None,
    }
}

fn vpc(net: IpNet) -> PlannedResource {
    PlannedResource::new(Key::new(VPC, "new").at(here())).range(net, Path::of("cidr_block"), Role::Occupy)
}

fn entry(net: IpNet) -> PlannedResource {
    let path = Path::of("networks").key("hub").attribute("cidr");
    PlannedResource::new(Key::new("warren_address_plan", "main")).range(net, path, Role::Reserve)
}

fn found(diagnostics: &Diagnostics) -> &'static str {
    match diagnostics.0.iter().map(|diagnostic| diagnostic.severity).collect::<Vec<_>>()[..] {
        [] => "none",
        [Severity::Warning] => "warning",
        [Severity::Error] => "error",
        _ => panic!("{diagnostics:?}"),
    }
}

fn usage(label: &str) -> Usage {
    match label {
        "VPC or subnetwork" => Usage::Network,
        "Range set aside in a network" => Usage::Allocated,
        "Network behind a peering or transit gateway" => Usage::Behind,
        "Learned route" => Usage::Learned,
        "Static route" => Usage::Routed,
        "Prefix list entry" => Usage::Named,
        other => panic!("{other} is no type of live range"),
    }
}

/// The rows of the table: type, relation, and the three findings.
fn rows() -> Vec<Vec<&'static str>> {
    let table = GUIDE.split("## Which live ranges conflict").nth(1).unwrap();
    let lines = table.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(limit)).unwrap()
    }

    /// A planned range, and a live one in this relation to it.
    fn pair(&mut self, relation: &str) -> (IpNet, IpNet) {
        let bits = (10 << 24) | self.below(1 << 24);
        let planned = Ipv4Net::new(bits.into(), u8::try_from(14 + self.below(11)).unwrap()).unwrap().trunc();
        let more = u8::try_from(1 + self.below(4)).unwrap();
        let inside = || {
            let halves = planned.subnets(planned.prefix_len() + more).unwrap().collect::<Vec<_>>();
            halves[halves.len() / 2]
        };
        let live = match relation {
            "equal" => planned,
            "inside" => inside(),
            "around" => Ipv4Net::new(planned.addr(), planned.prefix_len() - more).unwrap().trunc(),
            other => panic!("{other} is no relation"),
        };
        (planned.into(), live.into())
    }
}

#[tokio::test]
async fn the_table_of_the_guide() {
    let rows = rows();
    assert_eq!(rows.len(), 18, "{rows:?}");
    let mut random = Random(11);
    for row in rows {
        let [label, relation, new, existing, planned] = row[..] else { panic!("{row:?}") };
        for _ in 0..40 {
            let (net, theirs) = random.pair(relation);
            let theirs = live(usage(label), theirs);
            let with = |ranges: Vec<LiveRange>| guard(Listing { ranges, ..Listing::default() });
            let told = with(vec![theirs.clone()]).plan(vpc(net)).await;
            assert_eq!(found(&told), new, "new {net}, {theirs:?}");
            let own = LiveRange {
                id: "vpc-own".into(),
                name: "new".into(),
                owner: Some("platform".into()),
                fabric: Some("llm".into()),
                ..live(Usage::Network, net)
            };
            let told = with(vec![theirs.clone(), own]).plan(vpc(net).id(Some("vpc-own"))).await;
            assert_eq!(found(&told), existing, "existing {net}, {theirs:?}");
            let told = with(vec![theirs.clone()]).plan(entry(net)).await;
            assert_eq!(found(&told), planned, "entry {net}, {theirs:?}");
        }
    }
}

const POINTERS: [Usage; 4] = [Usage::Behind, Usage::Learned, Usage::Routed, Usage::Named];

#[tokio::test]
async fn what_leads_to_a_known_network_adds_nothing() {
    let range = net("10.1.0.0/16");
    for usage in POINTERS {
        let route = LiveRange { parent: Some("vpc-1".into()), ..live(usage, range) };
        let unknown = Listing { ranges: vec![route.clone()], ..Listing::default() };
        assert_ne!(found(&guard(unknown.clone()).plan(vpc(range)).await), "none", "{usage:?}");
        // It was read, although it may be in `ignore_live`.
        let read = Listing { networks: ["vpc-1".to_owned()].into(), ..unknown.clone() };
        assert_eq!(found(&guard(read).plan(vpc(range)).await), "none", "{usage:?}");
        // The run manages it, or destroys it.
        let managing = guard(unknown.clone());
        let other = vpc(net("10.9.0.0/16")).id(Some("vpc-1"));
        let other = PlannedResource { key: Key::new(VPC, "other").at(here()), ..other };
        managing.plan(other.clone()).await;
        assert_eq!(found(&managing.plan(vpc(range)).await), "none", "{usage:?}");
        let destroying = guard(unknown);
        destroying.forget(&other.key, Some("vpc-1"));
        assert_eq!(found(&destroying.plan(vpc(range)).await), "none", "{usage:?}");
    }
}

#[tokio::test]
async fn a_default_route_takes_nothing() {
    for usage in [Usage::Learned, Usage::Routed, Usage::Named] {
        let ranges = vec![live(usage, net("0.0.0.0/0")), live(usage, net("::/0"))];
        let guard = guard(Listing { ranges, ..Listing::default() });
        assert_eq!(found(&guard.plan(entry(net("10.0.0.0/8"))).await), "none");
        assert_eq!(found(&guard.plan(vpc(net("10.1.0.0/16"))).await), "none");
    }
}

#[tokio::test]
async fn a_prefix_list_that_summarises_the_own_plan() {
    let ranges = ["10.0.0.0/12", "10.1.0.0/16", "10.1.0.0/17"].map(net);
    let lists = || ranges.map(|range| live(Usage::Named, range)).to_vec();
    let planned = guard(Listing { ranges: lists(), ..Listing::default() });
    assert_eq!(found(&planned.plan(entry(net("10.1.0.0/16"))).await), "none");
    assert_eq!(found(&planned.plan(vpc(net("10.1.0.0/16"))).await), "none");
    let unplanned = guard(Listing { ranges: lists(), ..Listing::default() });
    assert_eq!(found(&unplanned.plan(vpc(net("10.1.0.0/16"))).await), "warning");
}

#[tokio::test]
async fn an_allocation_in_the_own_network_belongs_to_its_entry() {
    let allocated = |fabric: &str, owner: &str| LiveRange {
        fabric: Some(fabric.into()),
        owner: Some(owner.into()),
        parent: Some("projects/p/global/networks/hub".into()),
        ..live(Usage::Allocated, net("10.1.128.0/20"))
    };
    let with = |range| guard(Listing { ranges: vec![range], ..Listing::default() });
    let own = with(allocated("llm", "platform"));
    assert_eq!(found(&own.plan(entry(net("10.1.0.0/16"))).await), "none");
    // A subnet can have it neither in that network nor in another one.
    assert_eq!(found(&own.plan(vpc(net("10.1.128.0/24"))).await), "error");
    let theirs = with(allocated("llm", "ml-team"));
    assert_eq!(found(&theirs.plan(entry(net("10.1.0.0/16"))).await), "error");
    let apart = with(allocated("other", "platform"));
    assert_eq!(found(&apart.plan(vpc(net("10.1.128.0/24"))).await), "none");
}

/// A subnet is compared in place of a network that nobody has listed.
#[tokio::test]
async fn a_subnet_stands_for_its_unknown_network() {
    let part = |parent: Option<&str>| {
        let role = Role::Part(Parent::of(VPC, parent));
        let key = Key::new("warren_aws_subnet", "part").at(here());
        PlannedResource::new(key).range(net("10.1.0.0/24"), Path::of("cidr_block"), role)
    };
    let route = live(Usage::Behind, net("10.1.0.0/16"));
    let listing = Listing { ranges: vec![route.clone()], ..Listing::default() };
    assert_eq!(found(&guard(listing.clone()).plan(part(Some("vpc-elsewhere"))).await), "error");
    assert_eq!(found(&guard(listing).plan(part(None)).await), "none");
    // A route to that network is none to another.
    let own = LiveRange { parent: Some("vpc-elsewhere".into()), ..route };
    let listing = Listing { ranges: vec![own], ..Listing::default() };
    assert_eq!(found(&guard(listing).plan(part(Some("vpc-elsewhere"))).await), "none");
}

/// Nothing that leads somewhere is suggested as free.
#[tokio::test]
async fn what_is_suggested_is_free() {
    let ranges = vec![
        live(Usage::Network, net("10.0.0.0/16")),
        live(Usage::Allocated, net("10.1.0.0/16")),
        live(Usage::Behind, net("10.2.0.0/16")),
        live(Usage::Learned, net("10.3.0.0/16")),
        live(Usage::Routed, net("10.4.0.0/16")),
        live(Usage::Named, net("10.5.0.0/16")),
        live(Usage::Routed, net("10.0.0.0/8")),
    ];
    let told = guard(Listing { ranges, ..Listing::default() }).plan(vpc(net("10.0.0.0/16"))).await;
    let detail = &told.0[0].detail;
    assert!(detail.contains("Nearest free /16: 10.6.0.0/16"), "{detail}");
}
