use tf_provider_rs::Attr;
use warren_managed::listed;

use super::*;

fn told(route: &Route) -> usize {
    let mut diagnostics = Diagnostics::default();
    check(route, &mut diagnostics);
    diagnostics.0.len()
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Route::schema()));
}

#[test]
fn a_route_has_one_next_hop() {
    let internet = Route { next_hop_gateway: "default-internet-gateway".into(), ..Route::default() };
    assert_eq!(told(&internet), 0);
    assert_eq!(told(&Route::default()), 1);
    assert_eq!(told(&Route { next_hop_ip: Attr::Unknown, ..Route::default() }), 0);
    assert_eq!(told(&Route { next_hop_ip: "10.0.0.5".into(), ..internet }), 1);
}
