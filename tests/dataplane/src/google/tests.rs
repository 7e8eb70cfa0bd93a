use std::net::{IpAddr, SocketAddr};

use serde_json::json;

use super::made::{Made, global, instance, internet, link, subnet};
use super::{Plane, Ports, Said, look};
use crate::lab::{Internet, Lab, Node, Outcome, Probe};

const WEB: &str = "192.88.99.1:443";
const PRIVATE: &str = "199.36.153.8:443";
const PUBLIC_API: &str = "142.250.0.10:443";

/// A plane with its lab.
struct Case {
    plane: Plane,
    internet: Internet,
    lab: Lab,
}

impl Case {
    fn new(made: &Made) -> Case {
        let lab = Lab::new().unwrap();
        let mut internet = Internet::new(&lab, &[443]).unwrap();
        let ports = Ports { hosts: &[443, 8443], instances: &[443, 8443], apis: &[443] };
        let plane = Plane::build(&lab, &mut internet, made.objects(), ports).unwrap();
        Case { plane, internet, lab }
    }

    fn node(&self, path: &str) -> &Node {
        if path == "internet" { self.internet.node() } else { self.plane.host(path).unwrap().1 }
    }

    fn tcp(&self, from: &str, to: &str) -> Probe {
        Probe::tcp(self.node(from), to.parse().unwrap())
    }

    /// For each pair whether a connection is made.
    fn reached(&self, pairs: &[(&str, &str)]) -> Vec<bool> {
        let probes: Vec<Probe> = pairs.iter().map(|(from, to)| self.tcp(from, to)).collect::<Vec<_>>();
        self.lab.probe(&probes).iter().map(Outcome::reached).collect()
    }

    /// All pairs must be as expected.
    fn expect(&self, expected: &[(&str, &str, bool)]) {
        let pairs: Vec<(&str, &str)> = expected.iter().map(|(from, to, _)| (*from, *to)).collect();
        let reached = self.reached(&pairs);
        let wrong: Vec<_> =
            expected.iter().zip(&reached).filter(|((.., wanted), reached)| wanted != *reached).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// The client's address as the server at `to` sees it.
    fn seen(&self, from: &str, to: &str) -> Option<IpAddr> {
        match self.lab.probe(&[self.tcp(from, to)]).remove(0) {
            Outcome::Answered { seen, .. } => Some(seen.ip()),
            _ => None,
        }
    }

    fn lookup(&self, from: &str, name: &str) -> Vec<String> {
        self.lab.lookup(self.node(from), name).addresses.iter().map(ToString::to_string).collect()
    }
}

fn allow(more: &serde_json::Value) -> serde_json::Value {
    let mut rule = json!({"allowed": [{"IPProtocol": "tcp"}]});
    for (name, value) in more.as_object().unwrap() {
        rule[name] = value.clone();
    }
    rule
}

fn everything() -> serde_json::Value {
    json!({"allowed": [{"IPProtocol": "all"}], "sourceRanges": ["0.0.0.0/0"]})
}

fn at(path: &str, made: &Made, port: u16) -> String {
    let inventory = super::Inventory::read(made.objects()).unwrap();
    let places = super::places::all(&inventory, super::allocated);
    let place = places.iter().find(|place| place.path() == path).unwrap();
    SocketAddr::new(place.address.into(), port).to_string()
}

/// "VPC firewall rules": implied rules, priority, deny before allow, state, targets and sources, also within a subnetwork.
#[test]
fn firewall_rules_are_applied_at_each_interface() {
    let mut made = Made::new();
    made.network("a").subnet("a/one", "r", "10.0.0.0/24");
    for (number, name) in ["web", "db", "tagged", "served", "plain"].iter().enumerate() {
        made.instance(&format!("r/one/{name}"), &format!("10.0.0.{}", number + 10));
    }
    made.set(&instance("r", "web"), &json!({"tags": {"items": ["web"]}}))
        .set(&instance("r", "db"), &json!({"tags": {"items": ["db"]}}))
        .set(&instance("r", "tagged"), &json!({"tags": {"items": ["client"]}}))
        .set(&instance("r", "served"), &json!({"serviceAccounts": [{"email": "s@p"}]}))
        .firewall("a/web", &allow(&json!({"targetTags": ["web"], "sourceRanges": ["10.0.0.0/24"]})))
        .firewall("a/db", &json!({
            "allowed": [{"IPProtocol": "tcp", "ports": ["443"]}], "targetTags": ["db"], "sourceTags": ["client"],
        }))
        .firewall("a/off", &allow(&json!({"disabled": true, "targetTags": ["db"]})))
        .firewall("a/account", &allow(&json!({"sourceServiceAccounts": ["s@p"], "priority": 900})))
        .firewall("a/never", &json!({
            "direction": "EGRESS", "denied": [{"IPProtocol": "tcp", "ports": ["8443"]}], "destinationRanges": ["10.0.0.10/32"],
            "targetTags": ["client"],
        }))
        .firewall("a/tie", &json!({"denied": [{"IPProtocol": "all"}], "sourceRanges": ["10.0.0.14"], "targetTags": ["web"]}));
    let case = Case::new(&made);
    let [web, tagged, served, plain] = ["web", "tagged", "served", "plain"].map(|name| instance("r", name));
    case.expect(&[
        (&tagged, "10.0.0.10:443", true),
        // Of the same priority as the rule that allows it.
        (&plain, "10.0.0.10:443", false),
        (&tagged, "10.0.0.10:8443", false),
        (&served, "10.0.0.10:8443", true),
        (&tagged, "10.0.0.11:443", true),
        (&tagged, "10.0.0.11:8443", false),
        (&web, "10.0.0.11:443", false),
        (&served, "10.0.0.11:443", true),
        (&web, "10.0.0.14:443", false),
        (&served, "10.0.0.14:443", true),
    ]);
}

/// "VPC Network Peering": active with both sides, not transitive.
#[test]
fn peerings_exchange_subnet_routes_and_lead_no_further() {
    let mut made = Made::new();
    for (number, name) in ["hub", "left", "right", "half"].iter().enumerate() {
        made.network(name).subnet(&format!("{name}/{name}"), "r", &format!("10.{number}.0.0/24"));
        made.firewall(&format!("{name}/{name}"), &everything());
    }
    let none = json!({});
    made.peering("hub", "left", &none).peering("left", "hub", &none);
    made.peering("hub", "right", &none).peering("right", "hub", &none).peering("half", "hub", &none);
    let case = Case::new(&made);
    let [hub, left, right, half] = ["hub", "left", "right", "half"].map(|name| subnet("r", name));
    let [hub_at, left_at, right_at, half_at] = [&hub, &left, &right, &half].map(|path| at(path, &made, 443));
    case.expect(&[
        (&hub, &left_at, true),
        (&left, &hub_at, true),
        (&right, &hub_at, true),
        (&left, &right_at, false),
        (&right, &left_at, false),
        (&half, &hub_at, false),
        (&hub, &half_at, false),
    ]);
}

/// "VPC Network Peering": custom routes by flags; never those with tags or to the default internet gateway.
#[test]
fn peerings_exchange_static_routes_by_their_flags() {
    let mut made = Made::new();
    for (number, name) in ["hub", "gets", "not"].iter().enumerate() {
        made.network(name).subnet(&format!("{name}/{name}"), "r", &format!("10.{number}.0.0/24"));
        made.firewall(&format!("{name}/{name}"), &everything());
    }
    made.instance("r/hub/gw", "10.0.0.5").set(&instance("r", "gw"), &json!({"canIpForward": true}));
    let hop = json!({"nextHopInstance": link(&instance("r", "gw"))});
    made.route("hub/overlay", "10.100.0.0/24", &hop)
        .route("hub/out", "0.0.0.0/0", &internet())
        .nat("hub/nat", "r");
    made.route("hub/tagged", "10.101.0.0/24", &json!({"nextHopIp": "10.0.0.5", "tags": ["x"]}));
    made.peering("hub", "gets", &json!({"exportCustomRoutes": true})).peering(
        "gets",
        "hub",
        &json!({"importCustomRoutes": true}),
    );
    made.peering("hub", "not", &json!({"exportCustomRoutes": true})).peering("not", "hub", &json!({}));
    let case = Case::new(&made);
    let gateway = case.node(&instance("r", "gw"));
    gateway.ip("address add 10.100.0.1/32 dev lo\naddress add 10.101.0.1/32 dev lo").unwrap();
    case.lab
        .respond(gateway, &["10.100.0.1".parse().unwrap(), "10.101.0.1".parse().unwrap()], &[443])
        .unwrap();
    let [hub, gets, not] = ["hub", "gets", "not"].map(|name| subnet("r", name));
    case.expect(&[
        (&hub, "10.100.0.1:443", true),
        (&gets, "10.100.0.1:443", true),
        (&not, "10.100.0.1:443", false),
        (&hub, "10.101.0.1:443", false),
        (&gets, "10.101.0.1:443", false),
        (&hub, WEB, true),
        (&gets, WEB, false),
    ]);
}

/// "Static routes", "Enable IP forwarding for instances".
#[test]
fn static_routes_follow_tags_priority_and_running_instances() {
    let mut made = Made::new();
    made.network("a").subnet("a/one", "r", "10.0.0.0/24").firewall("a/all", &everything());
    for (name, address) in
        [("first", "10.0.0.10"), ("second", "10.0.0.11"), ("stopped", "10.0.0.12"), ("tagged", "10.0.0.13")]
    {
        made.instance(&format!("r/one/{name}"), address)
            .set(&instance("r", name), &json!({"canIpForward": true}));
    }
    made.instance("r/one/deaf", "10.0.0.14");
    made.set(&instance("r", "stopped"), &json!({"status": "TERMINATED"}));
    made.set(&instance("r", "tagged"), &json!({"tags": {"items": ["special"]}}));
    let hop = |name: &str| json!({"nextHopInstance": link(&instance("r", name))});
    let with = |mut body: serde_json::Value, name: &str, value: serde_json::Value| {
        body[name] = value;
        body
    };
    made.route("a/late", "10.9.0.0/24", &with(hop("second"), "priority", json!(2000)))
        .route("a/early", "10.9.0.0/24", &with(hop("first"), "priority", json!(500)))
        .route("a/gone", "10.9.0.0/24", &with(hop("stopped"), "priority", json!(10)))
        .route("a/longer", "10.9.0.128/25", &with(hop("second"), "priority", json!(3000)))
        .route(
            "a/own",
            "10.9.0.0/24",
            &with(with(hop("second"), "priority", json!(1)), "tags", json!(["special"])),
        )
        .route("a/deaf", "10.8.0.0/24", &json!({"nextHopIp": "10.0.0.14"}))
        .route("a/nobody", "10.7.0.0/24", &json!({"nextHopIp": "10.0.0.99"}));
    let case = Case::new(&made);
    for name in ["first", "second", "deaf"] {
        let node = case.node(&instance("r", name));
        node.ip("address add 10.9.0.1/32 dev lo\naddress add 10.9.0.200/32 dev lo\naddress add 10.8.0.1/32 dev lo").unwrap();
        let addresses = ["10.9.0.1", "10.9.0.200", "10.8.0.1"].map(|address| address.parse().unwrap());
        case.lab.respond(node, &addresses, &[443]).unwrap();
    }
    let [any, tagged] = [subnet("r", "one"), instance("r", "tagged")];
    let probes = [(&any, "10.9.0.1:443"), (&any, "10.9.0.200:443"), (&tagged, "10.9.0.1:443")];
    let outcomes = case.lab.probe(&probes.iter().map(|(from, to)| case.tcp(from, to)).collect::<Vec<_>>());
    let servers: Vec<Option<&str>> = outcomes.iter().map(Outcome::server).collect();
    let [first, second] = ["first", "second"].map(|name| instance("r", name));
    assert_eq!(servers, [Some(&*first), Some(&*second), Some(&*second)]);
    case.expect(&[(&any, "10.8.0.1:443", false), (&any, "10.7.0.1:443", false)]);
}

/// "Public NAT": own network and region, hosts without external address, a default route; not for Google APIs.
#[test]
fn cloud_nat_serves_its_network_and_region() {
    let mut made = Made::new();
    made.network("a").subnet("a/here", "r", "10.0.0.0/24").subnet("a/away", "s", "10.0.1.0/24");
    made.network("b").subnet("b/peer", "r", "10.1.0.0/24").route("b/out-b", "0.0.0.0/0", &internet());
    made.network("c").subnet("c/routeless", "r", "10.2.0.0/24").nat("c/nat-c", "r");
    made.peering("a", "b", &json!({})).peering("b", "a", &json!({}));
    made.route("a/out", "0.0.0.0/0", &internet()).nat("a/nat", "r");
    made.instance("r/here/outside", "10.0.0.9");
    made.set(&instance("r", "outside"), &json!({"networkInterfaces": [{
        "subnetwork": link(&subnet("r", "here")), "networkIP": "10.0.0.9", "accessConfigs": [{"natIP": "34.65.0.9"}],
    }]}));
    let case = Case::new(&made);
    let [here, away, peer, routeless] = [("r", "here"), ("s", "away"), ("r", "peer"), ("r", "routeless")]
        .map(|(region, name)| subnet(region, name));
    case.expect(&[(&here, WEB, true), (&away, WEB, false), (&peer, WEB, false), (&routeless, WEB, false)]);
    assert_eq!(case.seen(&here, WEB), Some("34.64.0.1".parse().unwrap()));
    assert_eq!(case.seen(&instance("r", "outside"), WEB), Some("34.65.0.9".parse().unwrap()));
    // "Cloud NAT product interactions": Private Google Access carries it, and nobody on the internet sees it.
    case.internet.watch().clear();
    let google = case.seen(&here, PUBLIC_API).unwrap();
    assert_ne!(google, "34.64.0.1".parse::<IpAddr>().unwrap());
    assert_eq!(case.internet.seen(), "");
}

/// "External IP addresses": both directions, with a route to the default internet gateway and the firewall's consent.
#[test]
fn external_addresses_are_translated_one_to_one() {
    let mut made = Made::new();
    for (number, name) in ["open", "shut"].iter().enumerate() {
        made.network(name).subnet(&format!("{name}/{name}"), "r", "10.0.0.0/24");
        let host = format!("vm-{name}");
        made.instance(&format!("r/{name}/{host}"), "10.0.0.9").set(
            &instance("r", &host),
            &json!({"networkInterfaces": [{
                "subnetwork": link(&subnet("r", name)), "networkIP": "10.0.0.9",
                "accessConfigs": [{"natIP": format!("34.65.0.{number}")}],
            }]}),
        );
        made.firewall(
            &format!("{name}/web-{name}"),
            &json!({
                "allowed": [{"IPProtocol": "tcp", "ports": ["443"]}], "sourceRanges": ["0.0.0.0/0"],
            }),
        );
    }
    made.route("open/out", "0.0.0.0/0", &internet());
    let case = Case::new(&made);
    let [open, shut] = ["vm-open", "vm-shut"].map(|name| instance("r", name));
    case.expect(&[
        ("internet", "34.65.0.0:443", true),
        ("internet", "34.65.0.0:8443", false),
        ("internet", "34.65.0.1:443", false),
        ("internet", PRIVATE, false),
        (&open, WEB, true),
        (&shut, WEB, false),
    ]);
    assert_eq!(case.seen("internet", "34.65.0.0:443"), Some("192.88.99.1".parse().unwrap()));
}

/// "Private Google Access": the subnetwork's setting or an external address, and a route to the default internet gateway.
#[test]
fn private_google_access_needs_the_setting_and_a_route() {
    let mut made = Made::new();
    made.network("a").subnet("a/on", "r", "10.0.0.0/24").subnet("a/off", "r", "10.0.1.0/24");
    made.network("b").subnet("b/routeless", "r", "10.0.0.0/24").network("c").subnet(
        "c/denied",
        "r",
        "10.0.0.0/24",
    );
    for name in ["on", "routeless", "denied"] {
        made.set(&subnet("r", name), &json!({"privateIpGoogleAccess": true}));
    }
    made.route("a/private", "199.36.153.8/30", &internet()).route(
        "c/restricted",
        "199.36.153.4/30",
        &internet(),
    );
    made.firewall("c/denied", &json!({
        "direction": "EGRESS", "denied": [{"IPProtocol": "all"}], "destinationRanges": ["199.36.153.4/30"],
    }));
    made.instance("r/off/outside", "10.0.1.9").set(&instance("r", "outside"), &json!({"networkInterfaces": [{
        "subnetwork": link(&subnet("r", "off")), "networkIP": "10.0.1.9", "accessConfigs": [{"natIP": "34.65.0.9"}],
    }]}));
    let case = Case::new(&made);
    let [on, off, routeless, denied] = ["on", "off", "routeless", "denied"].map(|name| subnet("r", name));
    case.expect(&[
        (&on, PRIVATE, true),
        (&off, PRIVATE, false),
        (&instance("r", "outside"), PRIVATE, true),
        (&routeless, PRIVATE, false),
        (&on, "199.36.153.4:443", false),
        (&on, PUBLIC_API, false),
        (&denied, "199.36.153.4:443", false),
    ]);
}

/// "Access Google APIs through endpoints": from the own network, with Private Google Access, without any route; not over peering.
#[test]
fn endpoints_serve_their_own_network() {
    let mut made = Made::new();
    made.network("a").subnet("a/on", "r", "10.0.0.0/24").subnet("a/off", "s", "10.0.1.0/24");
    made.network("b").subnet("b/peer", "r", "10.1.0.0/24");
    made.peering("a", "b", &json!({"exportCustomRoutes": true})).peering(
        "b",
        "a",
        &json!({"importCustomRoutes": true}),
    );
    for name in ["on", "peer"] {
        made.set(&subnet("r", name), &json!({"privateIpGoogleAccess": true}));
    }
    made.endpoint("a/apis", "10.0.255.254", "vpc-sc");
    let case = Case::new(&made);
    let [on, off, peer] =
        [("r", "on"), ("s", "off"), ("r", "peer")].map(|(region, name)| subnet(region, name));
    case.expect(&[
        (&on, "10.0.255.254:443", true),
        (&off, "10.0.255.254:443", false),
        (&peer, "10.0.255.254:443", false),
        // Where it ends is no address of the network.
        (&on, "142.250.255.2:443", false),
    ]);
    assert_eq!(case.lookup(&on, "storage-apis.p.googleapis.com"), ["10.0.255.254"]);
    assert_eq!(case.lookup(&peer, "storage-apis.p.googleapis.com"), ["142.250.0.10"]);
}

/// The egress rules see the endpoint's own address, which the packet no longer has when it leaves.
#[test]
fn egress_rules_see_the_address_of_an_endpoint() {
    let mut made = Made::new();
    made.network("a").subnet("a/on", "r", "10.0.0.0/24").endpoint("a/apis", "10.0.255.254", "all-apis");
    made.set(&subnet("r", "on"), &json!({"privateIpGoogleAccess": true}));
    made.firewall("a/deny", &json!({
        "direction": "EGRESS", "denied": [{"IPProtocol": "all"}], "destinationRanges": ["0.0.0.0/0"], "priority": 65534,
    }));
    let denied = Case::new(&made);
    denied.expect(&[(&subnet("r", "on"), "10.0.255.254:443", false)]);
    made.firewall("a/allow", &json!({
        "direction": "EGRESS", "allowed": [{"IPProtocol": "tcp"}], "destinationRanges": ["10.0.255.254/32"],
    }));
    Case::new(&made).expect(&[(&subnet("r", "on"), "10.0.255.254:443", true)]);
}

/// "Name resolution order": the longest suffix, authorised networks, no way back to the public name.
#[test]
fn private_zones_answer_their_networks() {
    let mut made = Made::new();
    made.network("a").subnet("a/one", "r", "10.0.0.0/24").network("b").subnet("b/two", "r", "10.1.0.0/24");
    made.zone("apis", "googleapis.com.", &["a"], &json!({}))
        .records("apis", "private.googleapis.com.", "A", &["199.36.153.8", "199.36.153.9"])
        .records("apis", "*.googleapis.com.", "CNAME", &["private.googleapis.com."])
        .zone("pkg", "pkg.dev.", &["a"], &json!({}))
        .records("pkg", "pkg.dev.", "A", &["199.36.153.8"])
        .zone("own", "example.internal.", &["a", "b"], &json!({}))
        .records("own", "data.example.internal.", "CNAME", &["storage.googleapis.com."]);
    let case = Case::new(&made);
    let [one, two] = ["one", "two"].map(|name| subnet("r", name));
    assert_eq!(case.lookup(&one, "storage.googleapis.com"), ["199.36.153.8", "199.36.153.9"]);
    assert_eq!(case.lookup(&two, "storage.googleapis.com"), ["142.250.0.10"]);
    // "CNAME chasing": the target of an alias in a private zone is looked for in private zones only.
    assert_eq!(case.lookup(&one, "data.example.internal"), ["199.36.153.8", "199.36.153.9"]);
    assert!(case.lookup(&two, "data.example.internal").is_empty());
    // The zone has no record for what is below, and its suffix wins over the public name.
    assert!(case.lookup(&one, "us-central1-docker.pkg.dev").is_empty());
    assert_eq!(case.lookup(&one, "gcr.io"), ["142.250.0.20"]);
    // The metadata server of one host is not that of others.
    let other = case.plane.host(&one).unwrap().1;
    other.ip("address add 10.99.0.1/32 dev lo").unwrap();
    let to = "169.254.169.254:53".parse().unwrap();
    let own = Probe::tcp(other, to);
    let foreign = Probe::tcp(other, to).source("10.99.0.1".parse().unwrap());
    let reached: Vec<bool> = case.lab.probe(&[own, foreign]).iter().map(Outcome::reached).collect();
    assert_eq!(reached, [true, false]);
}

/// "Peering zones", "Forwarding zones".
#[test]
fn zones_ask_other_networks_and_servers() {
    let mut made = Made::new();
    for (number, name) in ["hub", "left", "far", "farther"].iter().enumerate() {
        made.network(name).subnet(&format!("{name}/{name}"), "r", &format!("10.{number}.0.0/24"));
    }
    let to = |network: &str| json!({"peeringConfig": {"targetNetwork": {"networkUrl": link(&global("networks", network))}}});
    let server = json!({"forwardingConfig": {"targetNameServers": [{"ipv4Address": "10.0.0.5"}]}});
    made.instance("r/hub/dns", "10.0.0.5");
    made.zone("data", "example.internal.", &["hub"], &json!({}))
        .records("data", "db.example.internal.", "A", &["10.0.0.7"])
        .zone("via-hub", "example.internal.", &["left"], &to("hub"))
        .zone("via-left", "example.internal.", &["far"], &to("left"))
        .zone("via-far", "example.internal.", &["farther"], &to("far"))
        .zone("corp", "corp.example.", &["hub"], &server)
        .zone("corp-via-hub", "corp.example.", &["left"], &to("hub"));
    let inventory = super::Inventory::read(made.objects()).unwrap();
    let data = |network| look(&inventory, &global("networks", network), "db.example.internal", "A");
    let found = Said::Data(vec!["10.0.0.7".to_owned()]);
    assert_eq!(
        [data("hub"), data("left"), data("far"), data("farther")],
        [found.clone(), found.clone(), found, Said::Missing]
    );

    let denied = Case::new(&made);
    let hub = subnet("r", "hub");
    assert_eq!(answered(&denied, &hub), Vec::<String>::new());
    // What Cloud DNS forwards comes from 35.199.192.0/19, and the target's rules must allow it.
    made.firewall(
        "hub/dns",
        &json!({"allowed": [{"IPProtocol": "udp", "ports": ["53"]}], "sourceRanges": ["35.199.192.0/19"]}),
    );
    let allowed = Case::new(&made);
    assert_eq!(answered(&allowed, &hub), ["10.50.0.1"]);
    assert_eq!(allowed.lookup(&subnet("r", "left"), "host.corp.example"), ["10.50.0.1"]);
}

/// Lets the instance `dns` answer, and asks through the network's resolver.
fn answered(case: &Case, from: &str) -> Vec<String> {
    #[derive(Debug)]
    struct Fixed;
    #[async_trait::async_trait]
    impl crate::lab::Names for Fixed {
        async fn answer(&self, question: crate::lab::Question) -> Option<crate::lab::Answer> {
            assert_eq!(question.from, "35.199.192.1".parse::<IpAddr>().unwrap());
            Some(crate::lab::Answer::addresses(&question, ["10.50.0.1".parse().unwrap()]))
        }
    }
    let names: std::sync::Arc<dyn crate::lab::Names> = std::sync::Arc::new(Fixed);
    case.lab.serve_names(case.node(&instance("r", "dns")), &["10.0.0.5".parse().unwrap()], &names).unwrap();
    case.lookup(from, "host.corp.example")
}
