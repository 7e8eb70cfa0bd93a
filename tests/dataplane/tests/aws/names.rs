//! What a VPC's resolver answers.

use hickory_proto::op::ResponseCode;
use warren_dataplane::aws::{EndpointKind, Peer, RecordSet, ResolverEndpoint, ResolverRule, Zone};

use crate::world::{Draft, World, p};

const ECR: &str = "api.ecr.us-east-1.amazonaws.com";
const DKR: &str = "123456789012.dkr.ecr.us-east-1.amazonaws.com";
const BUCKET: &str = "acme-datasets.s3.us-east-1.amazonaws.com";

/// A hub with an endpoint of ECR's API and a spoke, over a transit gateway.
fn hub(private_dns: bool) -> Draft {
    Draft::new()
        .vpc("hub", "10.0.0.0/16")
        .subnet("hub", "data", "10.0.0.0/24")
        .vpc("spoke", "10.1.0.0/16")
        .subnet("spoke", "training", "10.1.0.0/24")
        .route("hub", "10.1.0.0/16", "tgw-1")
        .route("spoke", "10.0.0.0/16", "tgw-1")
        .transit(
            &[("hub", &["data"]), ("spoke", &["training"])],
            &[(&["hub", "spoke"], &[("10.0.0.0/16", Some("hub")), ("10.1.0.0/16", Some("spoke"))])],
        )
        .group("https", "hub", &[Peer::Range(p("10.0.0.0/8"))])
        .interface_endpoint("ecr.api", "data", &["https"], private_dns)
}

fn endpoint(world: &World, id: &str) -> String {
    let server = world.network.servers().iter().find(|server| server.endpoint.as_deref() == Some(id));
    server.unwrap().address.to_string()
}

fn record(name: &str, kind: &str, values: &[&str], alias: Option<&str>) -> RecordSet {
    RecordSet {
        name: name.to_owned(),
        kind: kind.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        alias: alias.map(str::to_owned),
    }
}

fn zone(name: &str, vpcs: &[&str], records: Vec<RecordSet>) -> Zone {
    let vpcs = vpcs.iter().map(|vpc| (*vpc).to_owned()).collect();
    Zone { id: format!("Z{name}"), name: name.to_owned(), vpcs, records }
}

#[test]
fn private_dns_of_an_endpoint_resolves_in_its_own_vpc_alone() {
    let world = hub(true).build();
    let private = endpoint(&world, "vpce-ecr.api");
    assert_eq!(world.names("data", ECR), [private.as_str()]);
    assert_eq!(world.names("training", ECR), ["44.192.0.10"]);
    // By its address, the spoke does reach it.
    world.reaches("training", &private, "vpce-ecr.api");
    assert_eq!(world.names("data", DKR), ["44.192.0.10"]);
    let own = "vpce-ecr.api.us-east-1.vpce.amazonaws.com";
    assert_eq!(world.names("training", own), [private.as_str()]);
}

#[test]
fn private_dns_needs_both_dns_attributes() {
    let world = hub(true).change(|account| account.vpcs[0].enable_dns_hostnames = false).build();
    assert_eq!(world.names("data", ECR), ["44.192.0.10"]);
    let mute = hub(true).change(|account| account.vpcs[0].enable_dns_support = false).build();
    assert_eq!(mute.lookup("data", ECR).code, ResponseCode::ServFail);
}

#[test]
fn a_shared_zone_with_aliases_serves_every_associated_vpc() {
    let alias = Some("vpce-ecr.api.us-east-1.vpce.amazonaws.com");
    let shared = |vpcs: &[&str]| {
        let zone = zone("api.ecr.us-east-1.amazonaws.com", vpcs, vec![record(ECR, "A", &[], alias)]);
        hub(false).change(move |account| account.zones.push(zone)).build()
    };
    let world = shared(&["hub", "spoke"]);
    let private = endpoint(&world, "vpce-ecr.api");
    for place in ["data", "training"] {
        assert_eq!(world.names(place, ECR), [private.as_str()]);
    }
    assert_eq!(shared(&["hub"]).names("training", ECR), ["44.192.0.10"]);
}

#[test]
fn a_private_zone_hides_what_it_does_not_have() {
    let records = vec![
        record("*.s3.us-east-1.amazonaws.com", "A", &["10.0.0.77"], None),
        record("named.s3.us-east-1.amazonaws.com", "CNAME", &["elsewhere.test"], None),
        record("deep.below.s3.us-east-1.amazonaws.com", "A", &["10.0.0.78"], None),
    ];
    let world = hub(false)
        .change(|account| {
            account.zones.push(zone("s3.us-east-1.amazonaws.com", &["spoke"], records));
            let narrow = zone("a.s3.us-east-1.amazonaws.com", &["spoke"], Vec::new());
            account.zones.push(narrow);
            account.zones.push(zone(
                "elsewhere.test",
                &["spoke"],
                vec![record("elsewhere.test", "A", &["10.9.9.9"], None)],
            ));
        })
        .build();
    assert_eq!(world.names("training", BUCKET), ["10.0.0.77"]);
    assert_eq!(world.names("data", BUCKET), ["52.216.0.10"]);
    // The zone has no record of its own name: no address of the public one.
    let apex = world.lookup("training", "s3.us-east-1.amazonaws.com");
    assert_eq!((apex.code, apex.addresses.len()), (ResponseCode::NXDomain, 0));
    // The most specific zone decides, also where it has nothing.
    assert_eq!(world.lookup("training", "x.a.s3.us-east-1.amazonaws.com").code, ResponseCode::NXDomain);
    assert_eq!(world.names("training", "named.s3.us-east-1.amazonaws.com"), ["10.9.9.9"]);
    // A wildcard does not reach below a name that exists.
    assert_eq!(world.lookup("training", "x.below.s3.us-east-1.amazonaws.com").code, ResponseCode::NXDomain);
}

#[test]
fn wildcards_of_endpoints_are_for_buckets_and_registries() {
    let world = hub(true)
        .interface_endpoint("ecr.dkr", "data", &["https"], true)
        .interface_endpoint("s3", "data", &["https"], true)
        .build();
    assert_eq!(world.names("data", DKR), [endpoint(&world, "vpce-ecr.dkr")]);
    assert_eq!(world.names("data", BUCKET), [endpoint(&world, "vpce-s3")]);
}

/// "Private DNS only for inbound Resolver endpoints": on premises the interface endpoint, in the VPC the gateway endpoint.
#[test]
fn private_dns_only_for_inbound_endpoints() {
    let world = hub(false)
        .interface_endpoint("s3", "data", &["https"], true)
        .group("dns", "hub", &[Peer::Range(p("10.0.0.0/8"))])
        .change(|account| {
            if let EndpointKind::Interface { private_dns_only_for_inbound, .. } =
                &mut account.endpoints[1].kind
            {
                *private_dns_only_for_inbound = true;
            }
            let dns = account.security_groups.iter_mut().find(|group| group.id == "dns").unwrap();
            dns.ingress[0].protocol = warren_dataplane::aws::Protocol::All;
            account.resolver_endpoints.push(ResolverEndpoint {
                id: "rslvr-in".to_owned(),
                inbound: true,
                groups: vec!["dns".to_owned()],
                addresses: vec![("data".to_owned(), p("10.0.0.53"))],
            });
        })
        .build();
    assert_eq!(world.names("data", BUCKET), ["52.216.0.10"]);
    let training = world.network.place("training").unwrap();
    training.node.set_resolvers(&[p("10.0.0.53")]).unwrap();
    assert_eq!(world.names("training", BUCKET), [endpoint(&world, "vpce-s3")]);
    // The resolver at base + 2 answers its own VPC only.
    training.node.set_resolvers(&[p("10.0.0.2")]).unwrap();
    assert_eq!(world.lookup("training", BUCKET).code, ResponseCode::ServFail);
}

#[test]
fn a_rule_forwards_through_the_outbound_endpoint() {
    let world = hub(false)
        .group("dns", "hub", &[Peer::Range(p("0.0.0.0/0"))])
        .change(|account| {
            let dns = account.security_groups.iter_mut().find(|group| group.id == "dns").unwrap();
            dns.ingress[0].protocol = warren_dataplane::aws::Protocol::All;
            for (id, inbound, subnet, address) in
                [("in", true, "data", "10.0.0.53"), ("out", false, "training", "10.1.0.54")]
            {
                account.resolver_endpoints.push(ResolverEndpoint {
                    id: id.to_owned(),
                    inbound,
                    groups: vec!["dns".to_owned()],
                    addresses: vec![(subnet.to_owned(), p(address))],
                });
            }
            account.zones.push(zone(
                "corp.test",
                &["hub"],
                vec![record("host.corp.test", "A", &["10.0.0.9"], None)],
            ));
            account.resolver_rules.push(ResolverRule {
                id: "rule".to_owned(),
                domain: "corp.test".to_owned(),
                endpoint: Some("out".to_owned()),
                targets: vec![(p("10.0.0.53"), 53)],
                vpcs: vec!["spoke".to_owned()],
            });
        })
        .build();
    assert_eq!(world.names("training", "host.corp.test"), ["10.0.0.9"]);
    assert_eq!(world.lookup("training", "other.corp.test").code, ResponseCode::NXDomain);
}

#[test]
fn instances_have_private_names() {
    let world = hub(false).build();
    let address = world.network.place("data").unwrap().address.to_string();
    let name = format!("ip-{}.ec2.internal", address.replace('.', "-"));
    assert_eq!(world.names("data", &name), [address]);
    assert_eq!(world.lookup("training", &name).code, ResponseCode::NXDomain);
}
