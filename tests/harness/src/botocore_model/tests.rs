//! Answers that AWS would never give are found, whatever the protocol.

use bytes::Bytes;
use http::Response;

use super::Models;
use crate::front::Service;
use crate::venv::Venv;

/// What is wrong with an answer.
fn told(service: Service, action: &str, status: u16, body: &str) -> String {
    let models = Models::load(&Venv::ensure().unwrap()).unwrap();
    let reply = Response::builder().status(status).body(Bytes::from(body.to_owned())).unwrap();
    let problems = models.check_answer(service, action, &reply);
    problems.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
}

#[test]
fn answers_of_ec2() {
    let vpc = |inner: &str| {
        format!(
            "<DescribeVpcsResponse><requestId>1</requestId><vpcSet><item>{inner}</item></vpcSet></DescribeVpcsResponse>"
        )
    };
    let told = |body: &str| told(Service::Ec2, "DescribeVpcs", 200, body);
    let good = "<vpcId>vpc-1</vpcId><state>available</state><isDefault>true</isDefault><tagSet/>";
    assert_eq!(told(&vpc(good)), "");
    let answers = [
        vpc("<vpcId>vpc-1</vpcId><status>available</status>"),
        vpc("<state>active</state>"),
        vpc("<isDefault>yes</isDefault>"),
        vpc("<tagSet><tag><key>a</key></tag></tagSet>"),
        "<DescribeVpcsResult/>".to_owned(),
        "not XML".to_owned(),
    ];
    insta::assert_snapshot!(answers.iter().map(|answer| told(answer)).collect::<Vec<_>>().join("\n"));
}

#[test]
fn answers_of_iam() {
    let role = |inner: &str| {
        format!(
            "<GetRoleResponse><GetRoleResult><Role>{inner}</Role></GetRoleResult><ResponseMetadata/></GetRoleResponse>"
        )
    };
    let good = "<Path>/</Path><RoleName>a</RoleName><RoleId>AROAAAAAAAAAAAAAAAAA</RoleId>\
                <Arn>arn:aws:iam::123456789012:role/a</Arn><CreateDate>2026-01-02T03:04:05Z</CreateDate>";
    let error = |code: &str| {
        format!("<ErrorResponse><Error><Code>{code}</Code><Message>m</Message></Error></ErrorResponse>")
    };
    let get = |status, body: &str| told(Service::Iam, "GetRole", status, body);
    assert_eq!(get(200, &role(good)), "");
    assert_eq!(get(404, &error("NoSuchEntity")), "");
    assert_eq!(get(400, &error("Throttling")), "");
    let found = [
        get(200, &role(&good.replace("<RoleName>a</RoleName>", ""))),
        get(200, &role(&good.replace("<RoleName>a</RoleName>", "<RoleName>a b</RoleName>"))),
        get(200, &role(&good.replace("2026-01-02T03:04:05Z", "yesterday"))),
        get(200, "<GetRoleResponse><Role/></GetRoleResponse>"),
        get(400, &error("NoSuchEntity")),
        get(404, &error("RoleNotFound")),
        get(500, "<html/>"),
    ];
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn answers_in_json() {
    let get = |body: &str| told(Service::Ssm, "GetParameter", 200, body);
    assert_eq!(
        get(r#"{"Parameter": {"Name": "/a", "Type": "String", "Value": "b", "LastModifiedDate": 1.5}}"#),
        ""
    );
    let found = [
        get(r#"{"Parameter": {"Type": "Text"}}"#),
        get(r#"{"Parameter": {"Version": "1"}}"#),
        get(r#"{"Parameter": {"LastModifiedDate": "2026-01-02T03:04:05Z"}}"#),
        get(r#"{"Parameters": []}"#),
        get("{"),
    ];
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn answers_of_route_53_and_s3() {
    let zone = |inner: &str| {
        format!("<GetHostedZoneResponse><HostedZone>{inner}</HostedZone></GetHostedZoneResponse>")
    };
    let get = |body: &str| told(Service::Route53, "GetHostedZone", 200, body);
    let good =
        "<Id>/hostedzone/Z08450942HH5R8ZC7VZ5K</Id><Name>a.</Name><CallerReference>1</CallerReference>";
    let short =
        "<ListBucketResult><KeyCount>many</KeyCount><Contents><Key>a</Key></Contents></ListBucketResult>";
    assert_eq!(get(&zone(good)), "");
    assert_eq!(told(Service::S3, "PutBucketPolicy", 200, "True"), "");
    let found = [
        get(&zone("<Id>Z1</Id><Name>a.</Name>")),
        told(Service::Route53, "CreateHostedZone", 200, ""),
        told(Service::S3, "ListObjectsV2", 200, short),
        told(Service::S3, "DeleteBucket", 204, "gone"),
    ];
    insta::assert_snapshot!(found.join("\n"));
}
