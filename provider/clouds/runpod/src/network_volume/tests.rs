use super::*;

#[test]
fn a_volume_does_not_shrink() {
    let volume = |size: i64| NetworkVolume { size: size.into(), ..NetworkVolume::default() };
    let told = |have, want| {
        let mut diagnostics = Diagnostics::default();
        check_size(&volume(have), &volume(want), &mut diagnostics);
        diagnostics.0.iter().map(|told| told.detail.clone()).collect::<String>()
    };
    assert_eq!(told(50, 50) + &told(50, 100), "");
    insta::assert_snapshot!(told(100, 50));
}

#[test]
fn the_marker_is_not_the_users() {
    let found = json!({
        "id": "vol1", "name": "data [warren:training/platform]", "dataCenter": "EU-RO-1", "size": 50, "type": "STANDARD",
    });
    let state = api::state(&found, &NetworkVolume::default()).unwrap();
    assert_eq!(state.object.naming, "data".into());
}
