use std::collections::BTreeSet;

use tf_provider_rs::Attr;

use super::model::Target;
use super::*;

fn forwarding() -> Zone {
    let target = Target { ipv4_address: std::net::Ipv4Addr::new(10, 8, 0, 53).into(), ..Target::default() };
    Zone { forwarding_targets: Attr::Known(BTreeSet::from([target])), ..Zone::default() }
}

fn told(zone: &Zone) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    zone.validate(&Session::new(warren_guard::Guard::default()), &mut diagnostics);
    diagnostics.0.into_iter().map(|d| format!("{}: {}", d.path.unwrap_or_default(), d.summary)).collect()
}

#[test]
fn a_zone_has_one_source_of_answers() {
    let hub = || "projects/acme-ml/global/networks/hub".parse::<crate::link::NetworkRef>().unwrap();
    assert_eq!(told(&Zone::default()), Vec::<String>::new());
    assert_eq!(told(&forwarding()), Vec::<String>::new());
    assert_eq!(
        told(&Zone { peering_network: hub().into(), ..forwarding() }),
        ["peering_network: Zone with forwarding and peering"]
    );
    assert_eq!(
        told(&Zone { forwarding_targets: Attr::Known(BTreeSet::new()), ..Zone::default() }),
        ["forwarding_targets: Forwarding zone without a name server"]
    );
    let types = [
        Zone::default().r#type(),
        forwarding().r#type(),
        Zone { peering_network: hub().into(), ..Zone::default() }.r#type(),
        Zone { peering_network: Attr::Unknown, ..Zone::default() }.r#type(),
    ];
    assert_eq!(types, [Some(Type::Records), Some(Type::Forwarding), Some(Type::Peering), None]);
}
