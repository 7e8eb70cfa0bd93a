use tf_provider_rs::{Attr, Change, Context, Diagnostics, Resource as _};
use warren_managed::{Common as _, Managed};

use super::*;
use crate::common::{GcpObject, Located as _};
use crate::session::tests::session;

fn network() -> Network {
    let object = GcpObject { name: "hub".into(), id: Attr::Unknown, ..GcpObject::default() };
    Network { object, mtu: 1460.into(), ..Network::default() }
}

#[tokio::test]
async fn the_id_is_known_before_the_network_is_made() {
    let resource = Managed::<Network>::new(&session().await);
    let planned = network();
    let mut change = Change {
        prior: None,
        config: planned.clone(),
        planned,
        requires_replace: Vec::new(),
        deferred: None,
    };
    resource.plan(&Context::default(), &mut change, &mut Diagnostics::default()).await;
    assert_eq!(change.planned.object.id, "projects/acme-ml/global/networks/hub".into());
}

#[tokio::test]
async fn only_our_own_leftover_is_adopted() {
    let gcp = session().await.get().unwrap();
    let network = network();
    let mine = network.marks(&gcp).unwrap();
    assert_eq!(
        network.adoptable(&gcp, Some(&mine), || Ok(true)).unwrap(),
        ["projects/acme-ml/global/networks/hub"]
    );
    let told: Vec<String> = [
        network.adoptable(&gcp, Some(&mine), || Ok(false)),
        network.adoptable(&gcp, Some("[warren:training/research/hub] ours"), || Ok(true)),
        network.adoptable(&gcp, Some("by hand"), || Ok(true)),
    ]
    .into_iter()
    .map(|refused| tf_provider_rs::Diagnostic::from(refused.unwrap_err()).detail)
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}
