use super::*;

#[test]
fn ports_grow_by_powers_of_two() {
    let told = |least: i32, most: i32| {
        let nat = RouterNat {
            min_ports_per_vm: least.into(),
            max_ports_per_vm: most.into(),
            ..RouterNat::default()
        };
        let mut diagnostics = Diagnostics::default();
        check(&nat, &mut diagnostics);
        diagnostics.0.into_iter().map(|d| d.detail).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(told(64, 4096), "");
    insta::assert_snapshot!([told(64, 100), told(64, 64), told(16, 128)].join("\n---\n"));
}

/// `later` stands for what Google's API gets after this provider was built.
#[test]
fn a_change_keeps_what_the_resource_does_not_have() {
    let found = serde_json::json!({
        "name": "egress",
        "natIpAllocateOption": "AUTO_ONLY",
        "autoNetworkTier": "STANDARD",
        "later": 1,
        "logConfig": {"enable": true, "filter": "ALL", "later": 2},
        "rules": [{"ruleNumber": 7, "match": "destination.ip == '192.0.2.1'", "later": 3}],
        "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
        "subnetworks": [{
            "name": "https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/data",
            "sourceIpRangesToNat": ["PRIMARY_IP_RANGE"],
        }],
    });
    let subnetwork = |name: &str| format!("projects/p/regions/r/subnetworks/{name}").parse().unwrap();
    let planned = RouterNat {
        min_ports_per_vm: 128.into(),
        subnetworks: warren_managed::sets::of([subnetwork("data"), subnetwork("ml")]),
        ..RouterNat::default()
    };
    let mut expected = found.clone();
    expected["minPortsPerVm"] = 128.into();
    expected["enableDynamicPortAllocation"] = false.into();
    expected["enableEndpointIndependentMapping"] = false.into();
    expected["logConfig"]["enable"] = false.into();
    let more = serde_json::json!({
        "name": "projects/p/regions/r/subnetworks/ml",
        "sourceIpRangesToNat": ["ALL_IP_RANGES"],
    });
    expected["subnetworks"].as_array_mut().unwrap().push(more);
    let before = serde_json::from_value(found).unwrap();
    assert_eq!(serde_json::to_value(api::nat(&planned, before)).unwrap(), expected);
}
