use tf_provider_rs::Attr;

use super::model::HopGateway;
use super::*;

fn told(route: &Route) -> usize {
    let mut diagnostics = Diagnostics::default();
    check(route, &mut diagnostics);
    diagnostics.0.len()
}

#[test]
fn a_route_has_one_next_hop() {
    let internet = Route { next_hop_gateway: HopGateway::Internet.into(), ..Route::default() };
    assert_eq!(told(&internet), 0);
    assert_eq!(told(&Route::default()), 1);
    assert_eq!(told(&Route { next_hop_ip: Attr::Unknown, ..Route::default() }), 0);
    assert_eq!(told(&Route { next_hop_ip: std::net::IpAddr::from([10, 0, 0, 5]).into(), ..internet }), 1);
}
