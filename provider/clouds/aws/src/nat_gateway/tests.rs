use tf_provider_rs::{Context, Resource};

use super::*;
use crate::session::tests::{account, session};
use warren_managed::{Managed, adopt, listed};

fn gateway(state: &str) -> NatGateway {
    NatGateway {
        name: "out".into(),
        id: "nat-1".into(),
        subnet_id: "subnet-1".into(),
        connectivity_type: "public".into(),
        owned_allocation_id: "eipalloc-1".into(),
        state: state.into(),
        ..NatGateway::default()
    }
}

fn change(prior: Option<NatGateway>, planned: NatGateway) -> Change<NatGateway> {
    Change { prior, config: planned.clone(), planned, requires_replace: Vec::new(), deferred: None }
}

async fn planned(
    resource: &Managed<NatGateway>,
    ctx: &Context,
    mut change: Change<NatGateway>,
) -> Change<NatGateway> {
    let mut diagnostics = Diagnostics::default();
    resource.plan(ctx, &mut change, &mut diagnostics).await;
    assert!(diagnostics.is_empty());
    change
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&NatGateway::schema()));
}

#[tokio::test]
async fn a_gateway_that_has_ended_is_replaced() {
    let resource = Managed::<NatGateway>::new(&session([]).await);
    for (state, replaced) in [("available", false), ("pending", false), ("failed", true), ("deleted", true)] {
        let change = change(Some(gateway(state)), gateway(state));
        let change = planned(&resource, &Context::default(), change).await;
        assert_eq!(change.requires_replace == [Path::of("state")], replaced, "{state}");
        assert_eq!(change.planned.state.is_unknown(), replaced, "{state}");
    }
}

#[tokio::test]
async fn a_replacement_adopts_neither_gateway_nor_address() {
    let resource = Managed::<NatGateway>::new(&session([]).await);
    let ctx = Context::default();
    planned(&resource, &ctx, change(Some(gateway("available")), gateway("available"))).await;
    planned(&resource, &ctx, change(None, gateway("available"))).await;
    assert_eq!(ctx.private.get(adopt::EXCLUDED_IDS), Some(serde_json::json!(["eipalloc-1", "nat-1"])));
}

#[tokio::test]
async fn an_address_of_the_users_is_not_owned() {
    let aws = account([]).await;
    let found =
        |owned| api::Found { allocation_id: Some("eipalloc-9".into()), owned, ..api::Found::default() };
    let state = schema::state(&aws, found(false), &NatGateway::default());
    assert_eq!((state.allocation_id.text(), &state.owned_allocation_id), ("eipalloc-9", &Attr::Null));
    let state = schema::state(&aws, found(true), &NatGateway::default());
    assert_eq!((&state.allocation_id, state.owned_allocation_id.text()), (&Attr::Null, "eipalloc-9"));
}

#[tokio::test]
async fn messages() {
    let resource = Managed::<NatGateway>::new(&session([]).await);
    let config = NatGateway {
        connectivity_type: "private".into(),
        allocation_id: "eipalloc-1".into(),
        ..NatGateway::default()
    };
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    let found = api::Found {
        state: "failed".into(),
        failure: Some("Network vpc-1 has no Internet gateway attached".into()),
        ..api::Found::default()
    };
    insta::assert_snapshot!(format!(
        "{}\n{}",
        diagnostics.0[0].detail,
        failed(&gateway("failed").label(), &found).detail
    ));
}
