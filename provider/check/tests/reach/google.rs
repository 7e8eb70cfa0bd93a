//! Google Cloud: routes, Private Google Access, Private Service Connect and zones.

use crate::{HTTPS, explain, service, state, subnet, with};
use serde_json::{Value, json};
use warren_model::reach::Place;

fn network(private_access: bool) -> Value {
    json!({
        "google_compute_network.hub": { "delete_default_routes_on_create": true },
        "google_compute_subnetwork.main": { "network": "google_compute_network.hub", "ip_cidr_range": "10.4.0.0/24", "region": "europe-west1", "private_ip_google_access": private_access },
    })
}

fn route() -> Value {
    json!({ "google_compute_route.apis": { "network": "google_compute_network.hub", "dest_range": "199.36.153.8/30", "next_hop_gateway": "default-internet-gateway" } })
}

fn zone() -> Value {
    json!({
        "google_dns_managed_zone.apis": {
            "name": "apis", "dns_name": "googleapis.com.", "visibility": "private",
            "private_visibility_config": [{ "networks": [{ "network_url": "google_compute_network.hub" }] }],
        },
        "google_dns_record_set.private": { "managed_zone": "apis", "name": "private.googleapis.com.", "type": "A", "rrdatas": ["199.36.153.8", "199.36.153.9"] },
        "google_dns_record_set.star": { "managed_zone": "apis", "name": "*.googleapis.com.", "type": "CNAME", "rrdatas": ["private.googleapis.com."] },
    })
}

fn ask(resources: &Value, to: &Place) -> String {
    explain(&state(resources), &subnet("google_compute_subnetwork.main"), to, HTTPS)
}

#[test]
fn a_route_to_the_private_range_needs_a_zone() {
    let routed = with(&network(true), &route());
    insta::assert_snapshot!("no_zone", ask(&routed, &service("storage")));
    let named = with(&routed, &zone());
    insta::assert_snapshot!("private_access", ask(&named, &service("storage")));
    // The zone has no names of Artifact Registry.
    assert!(ask(&named, &service("artifact-registry")).starts_with("not reached"));
    insta::assert_snapshot!(
        "no_access",
        ask(&with(&with(&network(false), &route()), &zone()), &service("storage"))
    );
    insta::assert_snapshot!("no_route", ask(&with(&network(true), &zone()), &service("storage")));
    assert!(ask(&named, &Place::Internet).starts_with("not reached"));
}

#[test]
fn warrens_own_zones_read_alike() {
    let zone = json!({
        "warren_gcp_dns_zone.apis": { "name": "apis", "id": "projects/p/managedZones/apis", "dns_name": "googleapis.com.", "networks": ["google_compute_network.hub"] },
        "warren_gcp_dns_record_set.star": { "zone": "projects/p/managedZones/apis", "name": "*.googleapis.com.", "type": "A", "rrdatas": ["199.36.153.8"] },
    });
    let all = with(&with(&network(true), &route()), &zone);
    assert!(ask(&all, &service("storage")).starts_with("reached through an endpoint"));
}

#[test]
fn nat_enables_private_access() {
    let all = with(
        &network(false),
        &json!({
            "google_compute_route.out": { "network": "google_compute_network.hub", "dest_range": "0.0.0.0/0", "next_hop_gateway": "default-internet-gateway" },
            "google_compute_router.hub": { "network": "google_compute_network.hub" },
            "google_compute_router_nat.hub": { "router": "google_compute_router.hub", "source_subnetwork_ip_ranges_to_nat": "ALL_SUBNETWORKS_ALL_IP_RANGES" },
        }),
    );
    insta::assert_snapshot!("nat", ask(&all, &service("googleapis")));
    assert!(ask(&all, &Place::Internet).starts_with("reached over the internet"));
}

#[test]
fn private_service_connect_serves_its_own_network() {
    let all = with(
        &with(&network(true), &zone()),
        &json!({
            "google_compute_global_address.psc": { "address": "10.9.0.5", "purpose": "PRIVATE_SERVICE_CONNECT" },
            "google_compute_global_forwarding_rule.psc": { "network": "google_compute_network.hub", "ip_address": "google_compute_global_address.psc", "target": "all-apis" },
            "google_dns_record_set.private": { "rrdatas": ["10.9.0.5"] },
        }),
    );
    insta::assert_snapshot!("psc", ask(&all, &service("storage")));
    let closed =
        with(&all, &json!({ "google_compute_subnetwork.main": { "private_ip_google_access": false } }));
    insta::assert_snapshot!("psc_no_access", ask(&closed, &service("storage")));
}

#[test]
fn peering_zones_resolve_but_routes_stay() {
    let all = with(
        &with(&with(&network(true), &route()), &zone()),
        &json!({
            "google_compute_network.spoke": { "delete_default_routes_on_create": true },
            "google_compute_subnetwork.spoke": { "network": "google_compute_network.spoke", "ip_cidr_range": "10.5.0.0/24", "private_ip_google_access": true },
            "google_compute_network_peering.a": { "network": "google_compute_network.hub", "peer_network": "google_compute_network.spoke" },
            "google_compute_network_peering.b": { "network": "google_compute_network.spoke", "peer_network": "google_compute_network.hub" },
            "google_dns_managed_zone.peer": {
                "name": "peer", "dns_name": "googleapis.com.", "visibility": "private",
                "private_visibility_config": [{ "networks": [{ "network_url": "google_compute_network.spoke" }] }],
                "peering_config": [{ "target_network": [{ "network_url": "google_compute_network.hub" }] }],
            },
        }),
    );
    let spoke = |all: &Value| {
        explain(&state(all), &subnet("google_compute_subnetwork.spoke"), &service("storage"), HTTPS)
    };
    insta::assert_snapshot!("peering_zone", spoke(&all));
    let own = json!({ "google_compute_route.own": { "network": "google_compute_network.spoke", "dest_range": "199.36.153.8/30", "next_hop_gateway": "default-internet-gateway" } });
    assert!(spoke(&with(&all, &own)).starts_with("reached through an endpoint"));
    let forwarding = json!({ "google_dns_managed_zone.peer": { "peering_config": [], "forwarding_config": [{ "target_name_servers": [{ "ipv4_address": "192.0.2.53" }] }] } });
    assert!(spoke(&with(&all, &forwarding)).starts_with("unknown"));
}

#[test]
fn tags_and_priorities_select_routes() {
    let base = with(
        &network(false),
        &json!({
            "google_compute_instance.plain": { "network_interface": [{ "subnetwork": "google_compute_subnetwork.main", "access_config": [{}] }] },
            "google_compute_instance.tagged": { "network_interface": [{ "subnetwork": "google_compute_subnetwork.main", "access_config": [{}] }], "tags": ["out"] },
            "google_compute_route.out": { "network": "google_compute_network.hub", "dest_range": "0.0.0.0/0", "next_hop_gateway": "default-internet-gateway", "tags": ["out"] },
        }),
    );
    let from = |all: &Value, host: &str| {
        explain(&state(all), &Place::Host(format!("google_compute_instance.{host}")), &Place::Internet, HTTPS)
    };
    assert!(from(&base, "tagged").starts_with("reached"));
    assert!(from(&base, "plain").starts_with("not reached"));
    // A subnet stands for hosts with any tag.
    assert!(ask(&base, &Place::Internet).starts_with("reached"));
    let first = |priority: u32| json!({ "google_compute_route.first": { "network": "google_compute_network.hub", "dest_range": "0.0.0.0/0", "next_hop_ip": "10.4.0.9", "priority": priority } });
    assert!(from(&with(&base, &first(10)), "tagged").starts_with("not reached"));
    assert!(from(&with(&base, &first(2000)), "tagged").starts_with("reached"));
}

/// Another network with a subnet, from which packets come or to which they go.
fn spoke() -> Value {
    json!({
        "google_compute_network.spoke": { "delete_default_routes_on_create": true },
        "google_compute_subnetwork.spoke": { "network": "google_compute_network.spoke", "ip_cidr_range": "10.5.0.0/24", "region": "us-east1" },
        "google_compute_network_peering.a": { "network": "google_compute_network.hub", "peer_network": "google_compute_network.spoke" },
        "google_compute_network_peering.b": { "network": "google_compute_network.spoke", "peer_network": "google_compute_network.hub" },
    })
}

fn from_spoke(all: &Value, to: &str) -> String {
    explain(&state(all), &subnet("google_compute_subnetwork.spoke"), &Place::Host(to.to_owned()), HTTPS)
}

/// "VPC firewall rules": a disabled rule is not enforced, and a rule for a service account is for its VMs only.
#[test]
fn rules_are_for_their_targets_and_may_be_disabled() {
    let all = with(
        &with(&network(false), &spoke()),
        &json!({
            "google_compute_instance.trainer": { "network_interface": [{ "subnetwork": "google_compute_subnetwork.main" }], "service_account": [{ "email": "trainer@p" }] },
            "google_compute_instance.other": { "network_interface": [{ "subnetwork": "google_compute_subnetwork.main" }], "service_account": [{ "email": "other@p" }] },
            "google_compute_firewall.in": { "network": "google_compute_network.hub", "allow": [{ "protocol": "tcp" }], "source_ranges": ["10.5.0.0/24"], "target_service_accounts": ["trainer@p"] },
        }),
    );
    assert!(from_spoke(&all, "google_compute_instance.trainer").starts_with("reached"));
    assert!(from_spoke(&all, "google_compute_instance.other").starts_with("not reached"));
    let disabled = with(&all, &json!({ "google_compute_firewall.in": { "disabled": true } }));
    assert!(from_spoke(&disabled, "google_compute_instance.trainer").starts_with("not reached"));
    // A rule that names only source accounts does not admit addresses.
    let sources = json!({ "google_compute_firewall.in": { "source_ranges": null, "source_service_accounts": ["other@p"] } });
    assert!(from_spoke(&with(&all, &sources), "google_compute_instance.trainer").starts_with("not reached"));
}

/// "Public NAT": a gateway serves the subnets of its own region.
#[test]
fn nat_serves_its_region() {
    let nat = |region: &str| {
        with(
            &network(false),
            &json!({
                "google_compute_route.out": { "network": "google_compute_network.hub", "dest_range": "0.0.0.0/0", "next_hop_gateway": "default-internet-gateway" },
                "google_compute_router.hub": { "network": "google_compute_network.hub" },
                "google_compute_router_nat.hub": { "router": "google_compute_router.hub", "region": region, "source_subnetwork_ip_ranges_to_nat": "ALL_SUBNETWORKS_ALL_IP_RANGES" },
            }),
        )
    };
    assert!(ask(&nat("europe-west1"), &Place::Internet).starts_with("reached"));
    assert!(ask(&nat("us-east1"), &Place::Internet).starts_with("not reached"));
    assert!(ask(&nat("us-east1"), &service("storage")).starts_with("not reached"));
}

/// "Access Google APIs through endpoints": names of the endpoint, in its own network.
#[test]
fn endpoints_have_names_of_their_own() {
    let psc = |automatic: bool| {
        with(
            &network(true),
            &json!({ "warren_gcp_private_service_connect.apis": { "name": "apis", "network": "google_compute_network.hub", "address": "10.9.0.5", "bundle": "all-apis", "automate_dns": automatic } }),
        )
    };
    let name = |name: &str| Place::Name(format!("{name}.p.googleapis.com"));
    assert!(ask(&psc(true), &name("storage-apis")).starts_with("reached through an endpoint"));
    assert!(ask(&psc(true), &name("storage-others")).starts_with("not reached"));
    assert!(ask(&psc(false), &name("storage-apis")).starts_with("not reached"));
}

/// "CNAME chasing": the target of an alias in a private zone is never a public name. RFC 4592: a name with others below it is no
/// wildcard's.
#[test]
fn aliases_stay_in_private_zones_and_wildcards_pass_existing_names() {
    let all = with(
        &with(&network(true), &route()),
        &json!({
            "google_dns_managed_zone.own": {
                "name": "own", "dns_name": "example.com.", "visibility": "private",
                "private_visibility_config": [{ "networks": [{ "network_url": "google_compute_network.hub" }] }],
            },
            "google_dns_record_set.alias": { "managed_zone": "own", "name": "*.example.com.", "type": "CNAME", "rrdatas": ["storage.googleapis.com."] },
            "google_dns_record_set.deep": { "managed_zone": "own", "name": "deep.sub.example.com.", "type": "A", "rrdatas": ["199.36.153.8"] },
            "google_compute_route.out": { "network": "google_compute_network.hub", "dest_range": "0.0.0.0/0", "next_hop_gateway": "default-internet-gateway" },
        }),
    );
    let name = |name: &str| Place::Name(name.to_owned());
    assert!(ask(&all, &name("storage.googleapis.com")).starts_with("reached"));
    assert!(ask(&all, &name("www.example.com")).starts_with("not reached"));
    assert!(ask(&with(&all, &zone()), &name("www.example.com")).starts_with("reached through an endpoint"));
    assert!(ask(&with(&all, &zone()), &name("sub.example.com")).starts_with("not reached"));
    assert!(ask(&all, &name("deep.sub.example.com")).starts_with("reached through an endpoint"));
}

/// "Peering zones": through one network to another, and no further.
#[test]
fn peering_zones_lead_through_one_network() {
    let zone = |from: &str, to: Option<&str>| {
        let name = format!("google_dns_managed_zone.{from}");
        let peering = to.map(
            |to| json!({ "target_network": [{ "network_url": format!("google_compute_network.{to}") }] }),
        );
        json!({ name: {
            "name": from, "dns_name": "example.com.", "visibility": "private",
            "private_visibility_config": [{ "networks": [{ "network_url": format!("google_compute_network.{from}") }] }],
            "peering_config": peering.into_iter().collect::<Vec<_>>(),
        } })
    };
    let networks = json!({ "google_compute_network.b": {}, "google_compute_network.c": {}, "google_compute_network.d": {} });
    let base = with(&with(&network(true), &route()), &networks);
    let last = |zone: &str| json!({ "google_dns_record_set.last": { "managed_zone": zone, "name": "www.example.com.", "type": "A", "rrdatas": ["199.36.153.8"] } });
    let chain = |zones: &[Value]| zones.iter().fold(base.clone(), |all, zone| with(&all, zone));
    let name = Place::Name("www.example.com".to_owned());
    let two = chain(&[zone("hub", Some("b")), zone("b", Some("c")), zone("c", None), last("c")]);
    assert!(ask(&two, &name).starts_with("reached through an endpoint"));
    let three = chain(&[
        zone("hub", Some("b")),
        zone("b", Some("c")),
        zone("c", Some("d")),
        zone("d", None),
        last("d"),
    ]);
    assert!(ask(&three, &name).starts_with("not reached"));
}

/// "VPC Network Peering": static routes with tags are not exchanged.
#[test]
fn tagged_routes_are_not_exported() {
    let tagged = |tags: &[&str]| {
        with(
            &with(&network(false), &spoke()),
            &json!({
                "google_compute_network_peering.a": { "import_custom_routes": true },
                "google_compute_network_peering.b": { "export_custom_routes": true },
                "google_compute_route.out": { "network": "google_compute_network.hub", "dest_range": "0.0.0.0/0", "next_hop_gateway": "default-internet-gateway" },
                "google_compute_route.theirs": { "network": "google_compute_network.spoke", "dest_range": "0.0.0.0/0", "next_hop_ip": "10.5.0.9", "priority": 10, "tags": tags },
                "google_compute_instance.out": { "network_interface": [{ "subnetwork": "google_compute_subnetwork.main", "access_config": [{}] }], "tags": ["blue"] },
            }),
        )
    };
    let out = |all: &Value| {
        explain(&state(all), &Place::Host("google_compute_instance.out".to_owned()), &Place::Internet, HTTPS)
    };
    assert!(out(&tagged(&["blue"])).starts_with("reached"));
    assert!(out(&tagged(&[])).starts_with("not reached"));
}

/// "About accessing Google APIs through endpoints": traffic to the public addresses of Google APIs stays in Google's network.
#[test]
fn external_addresses_do_not_lead_to_google_apis_over_the_internet() {
    let all = with(
        &network(false),
        &json!({
            "google_compute_route.out": { "network": "google_compute_network.hub", "dest_range": "0.0.0.0/0", "next_hop_gateway": "default-internet-gateway" },
            "google_compute_instance.out": { "network_interface": [{ "subnetwork": "google_compute_subnetwork.main", "access_config": [{}] }] },
        }),
    );
    let from = Place::Host("google_compute_instance.out".to_owned());
    assert!(
        explain(&state(&all), &from, &service("storage"), HTTPS).starts_with("reached through an endpoint")
    );
    assert!(explain(&state(&all), &from, &Place::Internet, HTTPS).starts_with("reached over the internet"));
}
