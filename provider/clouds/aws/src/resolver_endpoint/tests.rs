use super::*;
use model::{IpAddress, ordered};

use crate::common::tests::known;

fn address(subnet: &str, ip: Option<&str>) -> IpAddress {
    IpAddress { subnet_id: known(subnet), ip: ip.map_or(Attr::Unknown, known) }
}

#[test]
fn addresses_are_paired_by_subnet_and_named_ones_first() {
    let have = [
        address("subnet-a", Some("10.0.0.4")),
        address("subnet-a", Some("10.0.0.5")),
        address("subnet-b", Some("10.0.1.4")),
    ];
    let wanted =
        [address("subnet-a", None), address("subnet-a", Some("10.0.0.4")), address("subnet-c", None)];
    assert_eq!(pair(&wanted, &have), [Some(1), Some(0), None]);
    let moved = [address("subnet-b", Some("10.0.1.9")), address("subnet-a", None), address("subnet-a", None)];
    assert_eq!(pair(&moved, &have), [None, Some(0), Some(1)]);
}

#[test]
fn addresses_keep_the_order_of_the_configuration() {
    let live = vec![
        address("subnet-b", Some("10.0.1.4")),
        address("subnet-x", Some("10.0.9.9")),
        address("subnet-a", Some("10.0.0.4")),
    ];
    let before = [address("subnet-a", None), address("subnet-b", Some("10.0.1.4"))];
    let shown: Vec<_> = ordered(&before, &live).into_iter().map(|one| one.ip).collect();
    assert_eq!(shown, [known("10.0.0.4"), known("10.0.1.4"), known("10.0.9.9")]);
}

#[tokio::test]
async fn a_chosen_address_stays_in_the_plan() {
    let session = crate::session::tests::session([]).await;
    let prior = Endpoint {
        ip_addresses: vec![address("subnet-a", Some("10.0.0.4")), address("subnet-b", Some("10.0.1.4"))]
            .into(),
        ..Endpoint::default()
    };
    let planned = Endpoint {
        ip_addresses: vec![address("subnet-b", None), address("subnet-a", None), address("subnet-a", None)]
            .into(),
        ..Endpoint::default()
    };
    let mut change = Change {
        prior: Some(prior),
        config: planned.clone(),
        planned,
        requires_replace: Vec::new(),
        deferred: None,
    };
    <Endpoint as Object>::plan(&session, &mut change, &mut Diagnostics::default()).await;
    let ips: Vec<_> = change.planned.ip_addresses.known().unwrap().iter().map(|one| one.ip).collect();
    assert_eq!(ips, [known("10.0.1.4"), known("10.0.0.4"), Attr::Unknown]);
}
