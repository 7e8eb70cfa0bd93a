use tf_provider_rs::Diagnostics;
use warren_managed::{Object as _, listed};

use super::*;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&NetworkVolume::schema()));
}

#[test]
fn a_volume_does_not_shrink() {
    let volume = |size: i64| NetworkVolume { size: size.into(), ..NetworkVolume::default() };
    let told = |have, want| {
        let mut diagnostics = Diagnostics::default();
        schema::check_size(&volume(have), &volume(want), &mut diagnostics);
        diagnostics.0.iter().map(|told| told.detail.clone()).collect::<String>()
    };
    assert_eq!(told(50, 50) + &told(50, 100), "");
    insta::assert_snapshot!(told(100, 50));
}

#[test]
fn the_marker_is_not_the_users() {
    let found = api::Found { name: "data [warren:training/platform]".into(), ..api::Found::default() };
    assert_eq!(schema::state(found, &NetworkVolume::default()).name.text(), "data");
}
