//! Route 53 and its Resolver, shown by raw calls.

use super::without_ids;
use crate::support::{Answer, KEY, create, http_as, subnet, vpc};
use serde_json::{Value, json};
use warren_harness::{Emulator, Kind, Params, ProxyConfig};

/// An account's view of Route 53.
struct Account<'a> {
    aws: &'a Emulator,
    key: String,
}

impl Account<'_> {
    fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        let path = format!("/2013-04-01/{path}");
        http_as(&self.key, self.aws, (method, &path), "route53", "content-type: text/xml\r\n", body).unwrap()
    }

    fn ok(&self, method: &str, path: &str, body: &str) -> Answer {
        let answer = self.call(method, path, body);
        assert!(answer.status < 300, "{method} {path}: {}", answer.body);
        answer
    }

    fn refused(&self, method: &str, path: &str, body: &str) -> String {
        let answer = self.call(method, path, body);
        assert!(answer.status >= 400, "{method} {path} was accepted: {}", answer.body);
        let message = answer.text("Message").replace("&apos;", "'");
        format!("{} {}: {message}", answer.status, answer.text("Code"))
    }

    /// Creates a private zone and returns its ID.
    fn zone(&self, name: &str, vpc: &str) -> String {
        let answer = self.ok("POST", "hostedzone", &zone(name, name, vpc));
        answer.text("Id").trim_start_matches("/hostedzone/").to_owned()
    }
}

fn place(vpc: &str) -> String {
    format!("<VPC><VPCRegion>us-east-1</VPCRegion><VPCId>{vpc}</VPCId></VPC>")
}

fn zone(name: &str, reference: &str, vpc: &str) -> String {
    format!(
        "<CreateHostedZoneRequest><Name>{name}</Name>{}<CallerReference>{reference}</CallerReference>\
         <HostedZoneConfig><PrivateZone>true</PrivateZone></HostedZoneConfig></CreateHostedZoneRequest>",
        place(vpc)
    )
}

fn association(kind: &str, vpc: &str) -> String {
    format!("<{kind}Request>{}</{kind}Request>", place(vpc))
}

fn record(action: &str, name: &str, kind: &str, content: &str) -> String {
    format!(
        "<ChangeResourceRecordSetsRequest><ChangeBatch><Changes><Change><Action>{action}</Action><ResourceRecordSet>\
         <Name>{name}</Name><Type>{kind}</Type>{content}</ResourceRecordSet></Change></Changes></ChangeBatch>\
         </ChangeResourceRecordSetsRequest>"
    )
}

fn value(text: &str) -> String {
    format!(
        "<TTL>60</TTL><ResourceRecords><ResourceRecord><Value>{text}</Value></ResourceRecord></ResourceRecords>"
    )
}

fn alias(name: &str, zone: &str) -> String {
    format!(
        "<AliasTarget><HostedZoneId>{zone}</HostedZoneId><DNSName>{name}</DNSName><EvaluateTargetHealth>false\
         </EvaluateTargetHealth></AliasTarget>"
    )
}

#[test]
fn what_route_53_refuses_is_refused() {
    let aws = Emulator::start(ProxyConfig::default()).unwrap();
    let here = Account { aws: &aws, key: KEY.to_owned() };
    let (hub, spoke) = (vpc(&aws, "10.1.0.0/16"), vpc(&aws, "10.2.0.0/16"));
    let id = here.zone("example.internal", &hub);
    let (own, records) = (format!("hostedzone/{id}"), format!("hostedzone/{id}/rrset/"));
    let (join, part) = (format!("{own}/associatevpc"), format!("{own}/disassociatevpc"));
    here.ok("POST", &records, &record("CREATE", "*.a.example.internal", "A", &value("10.1.0.1")));
    let told = [
        here.refused("POST", "hostedzone", &zone("b.internal", "example.internal", &hub)),
        here.refused("POST", "hostedzone", &zone("example.internal.", "2", &hub)),
        here.refused("POST", "hostedzone", &zone("c.internal", "3", "vpc-00000000000000000")),
        here.refused("POST", &part, &association("DisassociateVPCFromHostedZone", &spoke)),
        here.refused("POST", &part, &association("DisassociateVPCFromHostedZone", &hub)),
        here.refused("POST", &join, &association("AssociateVPCWithHostedZone", &hub)),
        here.refused("POST", &join, &association("AssociateVPCWithHostedZone", "vpc-00000000000000000")),
        here.refused("POST", &records, &record("CREATE", "notexample.internal", "A", &value("10.1.0.1"))),
        here.refused(
            "POST",
            &records,
            &record("CREATE", "\\052.a.example.internal", "A", &value("10.1.0.2")),
        ),
        here.refused("POST", &records, &record("CREATE", "*.a.example.internal", "CNAME", &value("b."))),
        here.refused("POST", &records, &record("CREATE", "example.internal", "CNAME", &value("b."))),
        here.refused("POST", &records, &record("CREATE", "b.example.internal", "A", &value("ten"))),
        here.refused(
            "POST",
            &records,
            &record("CREATE", "b.example.internal", "A", &alias("c.example.org", &id)),
        ),
        here.refused(
            "POST",
            &records,
            &record("CREATE", "b.example.internal", "A", &alias("x.vpce.amazonaws.com", "Z7HUB22UULQXV")),
        ),
        here.refused("POST", &records, &record("DELETE", "*.a.example.internal", "A", &value("10.1.0.2"))),
        here.refused("POST", &records, &record("DELETE", "c.example.internal", "A", &value("10.1.0.1"))),
        here.refused("DELETE", &own, ""),
        here.refused("GET", "change/C0", ""),
        here.refused("GET", "hostedzone/Z00000000000000000000", ""),
    ];
    insta::assert_snapshot!(without_ids(&told.join("\n")).replace(&id, "ZONE"));
    aws.proxy().assert_valid();

    let listed = here.ok("GET", &format!("hostedzone/{id}/rrset"), "");
    assert!(listed.texts("Name").contains(&"\\052.a.example.internal."), "{}", listed.body);
    let kinds = aws.leftovers().unwrap().added;
    assert_eq!(kinds.iter().filter(|(kind, _)| matches!(kind, Kind::HostedZone | Kind::Record)).count(), 2);
    here.ok("POST", &records, &record("DELETE", "\\052.a.example.internal.", "A", &value("10.1.0.1")));
    here.ok("DELETE", &own, "");
}

#[test]
fn requests_that_route_53_does_not_know_are_violations() {
    let aws = Emulator::start(ProxyConfig::default()).unwrap();
    let here = Account { aws: &aws, key: KEY.to_owned() };
    let wrong = [
        (
            "POST",
            "hostedzone",
            "<CreateHostedZoneRequest><Name>a.</Name></CreateHostedZoneRequest>".to_owned(),
        ),
        ("POST", "hostedzone", zone("a.", "1", "vpc-1").replace("<Name>", "<Colour>red</Colour><Name>")),
        ("POST", "hostedzone/Z1/rrset/", record("REPLACE", "a.", "A", &value("10.0.0.1"))),
        ("GET", "hostedzonesbyvpc?vpcid=vpc-1", String::new()),
        ("GET", "hostedzonesbyvpc?vpcid=vpc-1&vpcregion=us-east-1&colour=red", String::new()),
        ("GET", "zones", String::new()),
    ];
    for (method, path, body) in &wrong {
        here.refused(method, path, body);
    }
    let told: Vec<String> = aws.proxy().violations().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn changes_are_pending_for_a_while() {
    let aws = Emulator::start(ProxyConfig { pending: 2, ..ProxyConfig::default() }).unwrap();
    let here = Account { aws: &aws, key: KEY.to_owned() };
    let hub = vpc(&aws, "10.1.0.0/16");
    let made = here.ok("POST", "hostedzone", &zone("example.internal", "1", &hub));
    assert_eq!(made.text("Status"), "PENDING");
    let change = made.texts("Id").into_iter().find_map(|id| id.strip_prefix("/change/")).unwrap();
    let status = || here.ok("GET", &format!("change/{change}"), "").text("Status").to_owned();
    assert_eq!([status(), status(), status(), status()], ["PENDING", "PENDING", "INSYNC", "INSYNC"]);
}

#[test]
fn another_account_needs_an_authorization() {
    let aws = Emulator::start(ProxyConfig::default()).unwrap();
    let here = Account { aws: &aws, key: KEY.to_owned() };
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let role = Params::from([
        ("Action", "AssumeRole"),
        ("Version", "2011-06-15"),
        ("RoleArn", "arn:aws:iam::222222222222:role/spoke"),
        ("RoleSessionName", "spoke"),
    ]);
    let assumed = http_as(KEY, &aws, ("POST", "/"), "sts", form, &role.to_form()).unwrap();
    let there = Account { aws: &aws, key: assumed.text("AccessKeyId").to_owned() };
    let vpc_there =
        Params::from([("Action", "CreateVpc"), ("Version", "2016-11-15"), ("CidrBlock", "10.9.0.0/16")]);
    let made = http_as(&there.key, &aws, ("POST", "/"), "ec2", form, &vpc_there.to_form()).unwrap();
    let spoke = made.text("vpcId").to_owned();

    let id = here.zone("example.internal", &vpc(&aws, "10.1.0.0/16"));
    let path = |what: &str| format!("hostedzone/{id}/{what}");
    let join = association("AssociateVPCWithHostedZone", &spoke);
    let told = there.refused("POST", &path("associatevpc"), &join);
    assert!(told.starts_with("401 NotAuthorizedException"), "{told}");
    let authorization = association("CreateVPCAssociationAuthorization", &spoke);
    here.ok("POST", &path("authorizevpcassociation"), &authorization);
    assert_eq!(here.ok("GET", &path("authorizevpcassociation"), "").text("VPCId"), spoke);
    // Only the account of the VPC may use it.
    assert!(here.refused("POST", &path("associatevpc"), &join).starts_with("401"));
    there.ok("POST", &path("associatevpc"), &join);
    let zones = there.ok("GET", &format!("hostedzonesbyvpc?vpcid={spoke}&vpcregion=us-east-1"), "");
    assert_eq!((zones.text("HostedZoneId"), zones.text("OwningAccount")), (id.as_str(), "123456789012"));
    assert!(there.refused("GET", &format!("hostedzone/{id}"), "").starts_with("404 NoSuchHostedZone"));
    let end = association("DeleteVPCAssociationAuthorization", &spoke);
    here.ok("POST", &path("deauthorizevpcassociation"), &end);
    let told = here.refused("POST", &path("deauthorizevpcassociation"), &end);
    assert!(told.starts_with("404 VPCAssociationAuthorizationNotFound"), "{told}");
    aws.proxy().assert_valid();
}

/// Calls the Resolver: the answer, or `Code: Message`.
fn resolver(aws: &Emulator, action: &str, body: &Value) -> Result<Value, String> {
    let headers =
        format!("content-type: application/x-amz-json-1.1\r\nx-amz-target: Route53Resolver.{action}\r\n");
    let answer = http_as(KEY, aws, ("POST", "/"), "route53resolver", &headers, &body.to_string()).unwrap();
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    if answer.status == 200 { Ok(body) } else { Err(format!("{}: {}", text("__type"), text("message"))) }
}

#[test]
fn the_resolver_takes_time_and_refuses() {
    let aws = Emulator::start(ProxyConfig { pending: 1, deleting: 2, ..ProxyConfig::default() }).unwrap();
    let hub = vpc(&aws, "10.1.0.0/16");
    let subnets = [subnet(&aws, &hub, "10.1.0.0/24"), subnet(&aws, &hub, "10.1.1.0/24")];
    let group = create(
        &aws,
        "CreateSecurityGroup",
        "groupId",
        &[("GroupName", "dns"), ("GroupDescription", "dns"), ("VpcId", &hub)],
    );
    let endpoint = |direction: &str| {
        let addresses: Vec<Value> = subnets.iter().map(|id| json!({ "SubnetId": id })).collect();
        let body = json!({
            "CreatorRequestId": direction, "Direction": direction, "IpAddresses": addresses, "SecurityGroupIds": [group],
            "Name": direction,
        });
        let made = resolver(&aws, "CreateResolverEndpoint", &body).unwrap();
        assert_eq!(made["ResolverEndpoint"]["Status"], "CREATING");
        made["ResolverEndpoint"]["Id"].as_str().unwrap().to_owned()
    };
    let (inbound, outbound) = (endpoint("INBOUND"), endpoint("OUTBOUND"));
    let status = |id: &str| {
        let found = resolver(&aws, "GetResolverEndpoint", &json!({ "ResolverEndpointId": id }));
        found.map(|body| body["ResolverEndpoint"]["Status"].as_str().unwrap().to_owned())
    };
    assert_eq!([status(&outbound), status(&outbound)], [Ok("CREATING".into()), Ok("OPERATIONAL".into())]);

    let rule = |reference: &str, endpoint: &str, targets: Option<&Value>| {
        let mut body = json!({
            "CreatorRequestId": reference, "RuleType": "FORWARD", "DomainName": "corp.example", "Name": reference,
            "ResolverEndpointId": endpoint,
        });
        if let Some(targets) = targets {
            body["TargetIps"] = targets.clone();
        }
        resolver(&aws, "CreateResolverRule", &body)
    };
    let target = json!([{ "Ip": "10.8.0.2", "Port": 53 }]);
    let made = |reference| rule(reference, &outbound, Some(&target)).unwrap()["ResolverRule"]["Id"].clone();
    let (first, second) = (made("first"), made("second"));
    let pair = |rule: &Value| json!({ "ResolverRuleId": rule, "VPCId": hub });
    let joined = resolver(&aws, "AssociateResolverRule", &pair(&first)).unwrap();
    assert_eq!(joined["ResolverRuleAssociation"]["Status"], "CREATING");
    let mut told = vec![
        rule("third", &inbound, Some(&target)).unwrap_err(),
        rule("fourth", &outbound, None).unwrap_err(),
        resolver(&aws, "AssociateResolverRule", &pair(&second)).unwrap_err(),
        resolver(&aws, "DeleteResolverRule", &json!({ "ResolverRuleId": first })).unwrap_err(),
        resolver(&aws, "DeleteResolverEndpoint", &json!({ "ResolverEndpointId": outbound })).unwrap_err(),
    ];
    resolver(&aws, "DisassociateResolverRule", &pair(&first)).unwrap();
    let filter = json!({ "Filters": [{ "Name": "ResolverRuleId", "Values": [first] }] });
    let listed = resolver(&aws, "ListResolverRuleAssociations", &filter).unwrap();
    assert_eq!(listed["ResolverRuleAssociations"][0]["Status"], "DELETING");
    told.push(resolver(&aws, "DeleteResolverRule", &json!({ "ResolverRuleId": first })).unwrap_err());
    for rule in [&first, &second] {
        resolver(&aws, "DeleteResolverRule", &json!({ "ResolverRuleId": rule })).unwrap();
    }
    told.push(
        resolver(&aws, "DeleteResolverEndpoint", &json!({ "ResolverEndpointId": outbound })).unwrap_err(),
    );
    let told = without_ids(&told.join("\n")).replace(first.as_str().unwrap(), "RULE-1");
    insta::assert_snapshot!(
        told.replace(second.as_str().unwrap(), "RULE-2").replace(&outbound, "OUT").replace(&inbound, "IN")
    );

    resolver(&aws, "DeleteResolverEndpoint", &json!({ "ResolverEndpointId": inbound })).unwrap();
    assert_eq!([status(&inbound), status(&inbound)], [Ok("DELETING".into()), Ok("DELETING".into())]);
    assert!(status(&inbound).unwrap_err().starts_with("ResourceNotFoundException"));
    aws.proxy().assert_valid();
}
