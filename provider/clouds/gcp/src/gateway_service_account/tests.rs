use warren_managed::listed;

use super::*;
use crate::common::Located as _;

fn account() -> ServiceAccount {
    ServiceAccount {
        name: "gw-a-acme".into(),
        secrets: sets::of(["projects/acme-ml/secrets/gw-a-tls".to_owned()]),
        ..ServiceAccount::default()
    }
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&ServiceAccount::schema()));
}

#[test]
fn its_address_is_known_before_it_is_made() {
    let id = account().place("acme-ml").unwrap();
    assert_eq!(id, "projects/acme-ml/serviceAccounts/gw-a-acme@acme-ml.iam.gserviceaccount.com");
    let made = ServiceAccount { id: id.into(), ..account() };
    assert_eq!(made.member(), "serviceAccount:gw-a-acme@acme-ml.iam.gserviceaccount.com");
    assert_eq!(
        schema::email("example.com:acme-ml", "gw-a-acme"),
        "gw-a-acme@acme-ml.example.com.iam.gserviceaccount.com"
    );
}

#[test]
fn a_secret_that_was_closed_shows_as_drift() {
    let found =
        api::Found { email: "gw-a-acme@acme-ml.iam.gserviceaccount.com".into(), ..Default::default() };
    let state = schema::state(found, BTreeSet::new(), &account());
    assert_eq!((state.secrets, state.name.text()), (sets::of([]), "gw-a-acme"));
}
