use super::*;
use crate::common::{GcpObject, Located as _};

fn account() -> ServiceAccount {
    ServiceAccount {
        object: GcpObject { name: "gw-a-acme".into(), ..GcpObject::default() },
        secrets: sets::of(["projects/acme-ml/secrets/gw-a-tls".parse::<SecretRef>().unwrap()]),
        ..ServiceAccount::default()
    }
}

#[test]
fn its_address_is_known_before_it_is_made() {
    let id = account().place("acme-ml").unwrap();
    assert_eq!(id, "projects/acme-ml/serviceAccounts/gw-a-acme@acme-ml.iam.gserviceaccount.com");
    let mut made = account();
    made.object.id = id.into();
    assert_eq!(member(&made).unwrap(), "serviceAccount:gw-a-acme@acme-ml.iam.gserviceaccount.com");
    assert_eq!(
        model::email("example.com:acme-ml", "gw-a-acme"),
        "gw-a-acme@acme-ml.example.com.iam.gserviceaccount.com"
    );
}

#[test]
fn its_name_is_part_of_its_address() {
    let found = || google_cloud_iam_admin_v1::model::ServiceAccount::new().set_unique_id("1");
    let email = "gw-a-acme@acme-ml.iam.gserviceaccount.com";
    let state = api::state(found().set_email(email), &account()).unwrap();
    assert_eq!((state.email, state.object.name), (email.into(), "gw-a-acme".into()));
    let missing = api::state(found(), &account()).unwrap_err();
    assert!(missing.message.contains("`email`"), "{missing}");
}
