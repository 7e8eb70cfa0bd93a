use super::*;
use crate::session::tests::session;

#[tokio::test]
async fn an_id_says_zone_vpc_and_region() {
    let session = session([]).await;
    let import = |id: &str| <Association as Object>::import(&session, id);
    let association = import("Z1:vpc-1:eu-west-1").unwrap();
    assert_eq!(association.vpc_region, "eu-west-1".into());
    assert_eq!(association.part.id(), Ok("Z1:vpc-1:eu-west-1"));
    for wrong in ["Z1", "Z1:vpc-1", "Z1:subnet-1:eu-west-1", "vpc-1:Z1:eu-west-1", "Z1:vpc-1:"] {
        let told = import(wrong).unwrap_err();
        assert!(told.0[0].detail.contains(FORM), "{wrong}: {told:?}");
    }
}
