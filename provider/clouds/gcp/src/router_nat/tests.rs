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
