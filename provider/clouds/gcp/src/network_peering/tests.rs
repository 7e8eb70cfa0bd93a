use super::*;
use crate::common::GcpObject;
use crate::memory::PlannedSubnetwork;
use crate::session::tests::session;

const HUB: &str = "projects/acme-ml/global/networks/hub";
const DATA: &str = "projects/acme-ml/global/networks/data";

fn network(link: &str) -> NetworkRef {
    link.parse().unwrap()
}

fn peering() -> NetworkPeering {
    NetworkPeering {
        object: GcpObject { name: "hub-data".into(), ..GcpObject::default() },
        network: network(HUB).into(),
        peer_network: network(DATA).into(),
        ..NetworkPeering::default()
    }
}

#[tokio::test]
async fn planned_subnetworks_of_both_networks_are_compared() {
    let session = session().await;
    for (name, network, range) in
        [("a", HUB, "10.0.0.0/16"), ("b", DATA, "10.0.128.0/20"), ("c", DATA, "10.1.0.0/16")]
    {
        let subnet = PlannedSubnetwork { network: network.to_owned(), ranges: vec![range.parse().unwrap()] };
        session.run().subnetworks.put(name, None, subnet);
    }
    let nets = |link| in_run(&session, &network(link));
    let findings = Cloud::Gcp.check_peering(&nets(HUB), &nets(DATA));
    let mut diagnostics = Diagnostics::default();
    ranges::report(Cloud::Gcp, findings, &Path::of("peer_network"), &mut diagnostics);
    insta::assert_snapshot!(format!("{}\n{}", diagnostics.0[0].summary, diagnostics.0[0].detail));
    assert_eq!(diagnostics.0.len(), 1);
}

#[test]
fn a_network_is_not_its_own_peer() {
    let mut diagnostics = Diagnostics::default();
    let link = format!("https://www.googleapis.com/compute/v1/{HUB}");
    let session = Session::new(warren_guard::Guard::default());
    NetworkPeering { peer_network: network(&link).into(), ..peering() }.validate(&session, &mut diagnostics);
    assert_eq!(diagnostics.0.len(), 1);
}

#[test]
fn both_forms_of_an_id_are_imported() {
    for id in ["projects/acme-ml/global/networks/hub/peerings/hub-data", "acme-ml/hub/hub-data"] {
        let model = model::imported(id).unwrap();
        assert_eq!(model.object.id, "projects/acme-ml/global/networks/hub/peerings/hub-data".into());
        assert_eq!((model.network, model.object.name), (network(HUB).into(), "hub-data".into()));
    }
    assert!(model::imported("hub-data").is_err());
}
