//! Every habit, fault, rejection and record of the proxy, shown by raw calls.

#![expect(clippy::unwrap_used, reason = "a test ends where its footing gives way")]

#[path = "emulator/route53.rs"]
mod route53;
mod support;
#[path = "emulator/transit.rs"]
mod transit;

use std::process::Command;
use std::time::{Duration, Instant};

use support::{create, ec2, http, ok, refused, subnet, try_ec2, vpc};
use warren_harness::{Consistency, Emulator, Fault, KillSwitch, Kind, Phase, ProxyConfig, Service, Venv};

fn start() -> Emulator {
    Emulator::start(ProxyConfig::default()).unwrap()
}

/// Replaces ids, which are random, by their prefix.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-') {
        let id = word.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        match id.rsplit_once('-') {
            Some((kind, digits))
                if digits.len() == 17 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
            {
                out.push_str(&format!("{kind}-x{}", &word[id.len()..]));
            }
            _ => out.push_str(word),
        }
    }
    out
}

#[test]
fn calls_are_recorded_and_nothing_is_left_after_delete() {
    let mut aws = start();
    assert!(aws.leftovers().unwrap().is_empty());
    let id = vpc(&aws, "10.1.0.0/16");
    let left = aws.leftovers().unwrap();
    let kinds: Vec<Kind> = left.added.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [Kind::Vpc, Kind::RouteTable, Kind::SecurityGroup, Kind::NetworkAcl]);
    assert!(left.added.iter().skip(1).all(|(_, object)| object.implicit));
    assert_eq!(left.added[0].1.cidr.as_deref(), Some("10.1.0.0/16"));
    refused(&aws, "DeleteVpc", &[("VpcId", "vpc-00000000000000000")]);
    ok(&aws, "DeleteVpc", &[("VpcId", &id)]);
    assert!(aws.leftovers().unwrap().is_empty());

    let calls = aws.proxy().calls();
    let seen: Vec<(u64, &str, Option<u16>, Option<&str>)> = calls
        .iter()
        .map(|call| (call.sequence, call.action.as_str(), call.status, call.error.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            (1, "CreateVpc", Some(200), None),
            (2, "DeleteVpc", Some(400), Some("InvalidVpcID.NotFound")),
            (3, "DeleteVpc", Some(200), None),
        ]
    );
    assert_eq!(calls[0].service, Service::Ec2);
    assert_eq!(calls[0].params.get("CidrBlock"), "10.1.0.0/16");

    vpc(&aws, "10.1.0.0/16");
    aws.reset().unwrap();
    assert!(aws.leftovers().unwrap().is_empty() && aws.proxy().calls().is_empty());
}

#[test]
fn duplicates_are_found_by_their_tags() {
    let aws = start();
    for cidr in ["10.1.0.0/16", "10.2.0.0/16"] {
        let id = vpc(&aws, cidr);
        ok(
            &aws,
            "CreateTags",
            &[("ResourceId.1", &id), ("Tag.1.Key", "warren:name"), ("Tag.1.Value", "hub")],
        );
    }
    let found = aws.inventory().unwrap().duplicates(&["warren:name"]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0, found[0].1.len()), (Kind::Vpc, 2));
    assert!(aws.inventory().unwrap().duplicates(&["warren:name", "warren:owner"]).is_empty());
}

#[test]
fn new_objects_are_pending_and_deleted_ones_linger() {
    let aws = Emulator::start(ProxyConfig { pending: 2, deleting: 2, ..ProxyConfig::default() }).unwrap();
    let hub = vpc(&aws, "10.1.0.0/16");
    let net = subnet(&aws, &hub, "10.1.0.0/24");
    let igw = create(&aws, "CreateInternetGateway", "internetGatewayId", &[]);
    let link = [("InternetGatewayId", igw.as_str()), ("VpcId", hub.as_str())];
    ok(&aws, "AttachInternetGateway", &link);
    let address = create(&aws, "AllocateAddress", "allocationId", &[("Domain", "vpc")]);
    let made = ok(&aws, "CreateNatGateway", &[("SubnetId", &net), ("AllocationId", &address)]);
    let nat = made.text("natGatewayId").to_owned();
    assert_eq!(made.text("state"), "pending");
    let see = |action: &str, key: &str, id: &str, element: &str| {
        ok(&aws, action, &[(key, id)]).text(element).to_owned()
    };
    let state = || see("DescribeNatGateways", "NatGatewayId.1", &nat, "state");
    // A filter on the state sees what clients see.
    let filter = [("Filter.1.Name", "state"), ("Filter.1.Value.1", "available")];
    assert_eq!(ok(&aws, "DescribeNatGateways", &filter).text("natGatewayId"), "");
    assert_eq!((state(), state()), ("pending".into(), "available".into()));
    assert_eq!(ok(&aws, "DescribeNatGateways", &filter).text("natGatewayId"), nat);

    ok(&aws, "DeleteNatGateway", &[("NatGatewayId", &nat)]);
    assert!(
        refused(&aws, "ReleaseAddress", &[("AllocationId", &address)]).starts_with("InvalidIPAddress.InUse")
    );
    assert_eq!((state(), state()), ("deleting".into(), "deleted".into()));
    ok(&aws, "ReleaseAddress", &[("AllocationId", &address)]);
    assert!(refused(&aws, "DeleteNatGateway", &[("NatGatewayId", &nat)]).starts_with("NatGatewayNotFound"));

    ok(&aws, "DetachInternetGateway", &link);
    ok(&aws, "DeleteInternetGateway", &link[..1]);

    let s3 = [("VpcId", hub.as_str()), ("ServiceName", "com.amazonaws.us-east-1.s3")];
    let endpoint = create(&aws, "CreateVpcEndpoint", "vpcEndpointId", &s3);
    let state = || see("DescribeVpcEndpoints", "VpcEndpointId.1", &endpoint, "state");
    assert_eq!((state(), state(), state()), ("pending".into(), "pending".into(), "available".into()));
    ok(&aws, "DeleteVpcEndpoints", &[("VpcEndpointId.1", &endpoint)]);
    assert!(refused(&aws, "DeleteVpc", &[("VpcId", &hub)]).starts_with("DependencyViolation"));
    assert_eq!((state(), state()), ("deleting".into(), "deleting".into()));
    let gone = refused(&aws, "DescribeVpcEndpoints", &[("VpcEndpointId.1", &endpoint)]);
    assert!(gone.starts_with("InvalidVpcEndpointId.NotFound"), "{gone}");

    let gateway = create(&aws, "CreateTransitGateway", "transitGatewayId", &[]);
    let attach = [("TransitGatewayId", gateway.as_str()), ("VpcId", &hub), ("SubnetIds.1", &net)];
    assert!(refused(&aws, "CreateTransitGatewayVpcAttachment", &attach).starts_with("IncorrectState"));
    let state = || see("DescribeTransitGateways", "TransitGatewayIds.1", &gateway, "state");
    assert_eq!((state(), state(), state()), ("pending".into(), "pending".into(), "available".into()));
    let attachment = create(&aws, "CreateTransitGatewayVpcAttachment", "transitGatewayAttachmentId", &attach);
    let key = "TransitGatewayAttachmentIds.1";
    let attached = || see("DescribeTransitGatewayVpcAttachments", key, &attachment, "state");
    assert_eq!(
        (attached(), attached(), attached()),
        ("pending".into(), "pending".into(), "available".into())
    );
    ok(&aws, "DeleteTransitGatewayVpcAttachment", &[("TransitGatewayAttachmentId", &attachment)]);
    assert_eq!(
        (attached(), attached(), attached()),
        ("deleting".into(), "deleting".into(), "deleted".into())
    );
    ok(&aws, "DeleteTransitGateway", &[("TransitGatewayId", &gateway)]);
    assert_eq!((state(), state(), state()), ("deleting".into(), "deleting".into(), "deleted".into()));
    ok(&aws, "DeleteSubnet", &[("SubnetId", &net)]);

    let spoke = vpc(&aws, "10.2.0.0/16");
    let peer = [("VpcId", hub.as_str()), ("PeerVpcId", spoke.as_str())];
    let peering = create(&aws, "CreateVpcPeeringConnection", "vpcPeeringConnectionId", &peer);
    let code = || see("DescribeVpcPeeringConnections", "VpcPeeringConnectionId.1", &peering, "code");
    assert_eq!((code(), code()), ("initiating-request".into(), "initiating-request".into()));
    assert_eq!(code(), "pending-acceptance");
    ok(&aws, "AcceptVpcPeeringConnection", &[("VpcPeeringConnectionId", &peering)]);
    assert_eq!((code(), code(), code()), ("provisioning".into(), "provisioning".into(), "active".into()));
    ok(&aws, "DeleteVpcPeeringConnection", &[("VpcPeeringConnectionId", &peering)]);
    assert_eq!((code(), code(), code()), ("deleting".into(), "deleting".into(), "deleted".into()));
    for id in [&hub, &spoke] {
        ok(&aws, "DeleteVpc", &[("VpcId", id)]);
    }
    assert!(aws.leftovers().unwrap().is_empty(), "{}", aws.leftovers().unwrap());
    aws.proxy().assert_valid();
}

#[test]
fn faults_strike_as_scripted() {
    let aws = start();
    let make = |cidr: &str| try_ec2(&aws, "CreateVpc", &[("CidrBlock", cidr)]);
    let vpcs = || aws.inventory().unwrap().of(Kind::Vpc).count();
    assert_eq!(vpcs(), 1);

    aws.proxy().inject(Fault::throttle().on("CreateVpc").skip(1).times(2));
    let statuses: Vec<u16> = (1..5).map(|n| make(&format!("10.{n}.0.0/16")).unwrap().status).collect();
    assert_eq!(statuses, [200, 503, 503, 200]);
    assert_eq!(aws.proxy().calls()[1].error.as_deref(), Some("RequestLimitExceeded"));
    assert!(!aws.proxy().calls()[1].forwarded);
    assert_eq!(vpcs(), 3);

    aws.proxy().inject(Fault::internal_error());
    assert_eq!(make("10.9.0.0/16").unwrap().status, 500);
    aws.proxy().inject(Fault::error(400, "VpcLimitExceeded", "The maximum number of VPCs has been reached."));
    assert_eq!(make("10.9.0.0/16").unwrap().text("Code"), "VpcLimitExceeded");
    aws.proxy().inject(Fault::cut_before().with_param("CidrBlock", "10.8.0.0/16"));
    assert!(make("10.8.0.0/16").is_none());
    assert_eq!(vpcs(), 3);
    aws.proxy().inject(Fault::cut_after());
    assert!(make("10.8.0.0/16").is_none());
    assert_eq!(vpcs(), 4);
    aws.proxy().inject(Fault::delay(Duration::from_millis(300)));
    let start = Instant::now();
    make("10.7.0.0/16").unwrap();
    assert!(start.elapsed() >= Duration::from_millis(300));

    aws.proxy().inject(Fault::throttle().every(2).times(2));
    let statuses: Vec<u16> = (0..5).map(|_| ec2(&aws, "DescribeVpcs", &[]).status).collect();
    assert_eq!(statuses, [200, 503, 200, 503, 200]);
    aws.proxy().inject(Fault::throttle().times(9));
    assert_eq!(
        ecr(&aws, "DescribeRepositories", "{}").body,
        r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#
    );
    let sts = http(&aws, "POST", "/", "sts", "", "Action=GetCallerIdentity&Version=2011-06-15").unwrap();
    assert_eq!((sts.status, sts.text("Code")), (400, "Throttling"));
    assert_eq!(http(&aws, "GET", "/", "s3", "", "").unwrap().text("Code"), "SlowDown");
    aws.proxy().clear_faults();
    assert_eq!(ec2(&aws, "DescribeVpcs", &[]).status, 200);
}

fn ecr(aws: &Emulator, action: &str, body: &str) -> support::Answer {
    let headers = format!(
        "content-type: application/x-amz-json-1.1\r\nx-amz-target: AmazonEC2ContainerRegistry_V20150921.{action}\r\n"
    );
    http(aws, "POST", "/", "ecr", &headers, body).unwrap()
}

#[test]
fn new_objects_are_not_found_at_first() {
    let consistency = Consistency { reads: 2, writes: 1 };
    let aws = Emulator::start(ProxyConfig { consistency, ..ProxyConfig::default() }).unwrap();
    let id = vpc(&aws, "10.1.0.0/16");
    let by_id = [("VpcId.1", id.as_str())];
    assert!(refused(&aws, "DescribeVpcs", &by_id).starts_with("InvalidVpcID.NotFound"));
    let listed = || ok(&aws, "DescribeVpcs", &[]).texts("vpcId").contains(&id.as_str());
    assert!(!listed(), "the second read leaves it out");
    assert!(listed());
    assert_eq!(ok(&aws, "DescribeVpcs", &by_id).text("cidrBlock"), "10.1.0.0/16");
    let within = [("VpcId", id.as_str()), ("CidrBlock", "10.1.0.0/24")];
    assert!(refused(&aws, "CreateSubnet", &within).starts_with("InvalidVpcID.NotFound"));
    ok(&aws, "CreateSubnet", &within);
}

#[test]
fn a_changed_attribute_is_shown_later() {
    let aws = Emulator::start(ProxyConfig { stale_attributes: 2, ..ProxyConfig::default() }).unwrap();
    let id = vpc(&aws, "10.1.0.0/16");
    let names = || {
        let asked = [("VpcId", id.as_str()), ("Attribute", "enableDnsHostnames")];
        ok(&aws, "DescribeVpcAttribute", &asked).text("value").to_owned()
    };
    assert_eq!(names(), "false");
    ok(&aws, "ModifyVpcAttribute", &[("VpcId", &id), ("EnableDnsHostnames.Value", "true")]);
    assert_eq!([names(), names(), names()], ["false", "false", "true"]);
    // A change to the same value changes nothing.
    ok(&aws, "ModifyVpcAttribute", &[("VpcId", &id), ("EnableDnsHostnames.Value", "true")]);
    assert_eq!(names(), "true");

    ok(&aws, "CreateSubnet", &[("VpcId", &id), ("CidrBlock", "10.1.0.0/24")]);
    let of_vpc = [("Filter.1.Name", "vpc-id"), ("Filter.1.Value.1", id.as_str())];
    let subnet = ok(&aws, "DescribeSubnets", &of_vpc).text("subnetId").to_owned();
    let maps = || ok(&aws, "DescribeSubnets", &of_vpc).text("mapPublicIpOnLaunch").to_owned();
    ok(&aws, "ModifySubnetAttribute", &[("SubnetId", &subnet), ("MapPublicIpOnLaunch.Value", "true")]);
    assert_eq!([maps(), maps(), maps()], ["false", "false", "true"]);
    aws.proxy().assert_valid();
}

#[test]
fn describes_come_in_pages() {
    let aws = start();
    let made: Vec<String> = (1..8).map(|n| vpc(&aws, &format!("10.{n}.0.0/16"))).collect();
    let pages = |limit: Option<&str>| {
        let (mut sizes, mut ids, mut token) = (Vec::new(), Vec::new(), String::new());
        loop {
            let mut params = vec![("NextToken", token.as_str())];
            params.extend(limit.map(|limit| ("MaxResults", limit)));
            params.retain(|(_, value)| !value.is_empty());
            let answer = ok(&aws, "DescribeVpcs", &params);
            sizes.push(answer.texts("vpcId").len());
            ids.extend(answer.texts("vpcId").into_iter().map(str::to_owned));
            token = answer.text("nextToken").to_owned();
            if token.is_empty() {
                return (sizes, ids);
            }
        }
    };
    assert_eq!(pages(None).0, [8]);
    let (sizes, ids) = pages(Some("5"));
    assert_eq!(sizes, [5, 3]);
    assert!(made.iter().all(|id| ids.contains(id)));
    aws.proxy().configure(|config| config.page_size = Some(3));
    assert_eq!(pages(None).0, [3, 3, 2]);
    assert_eq!(pages(Some("5")).0, [3, 3, 2]);
    assert!(refused(&aws, "DescribeVpcs", &[("MaxResults", "4")]).starts_with("InvalidParameterValue"));
    assert!(refused(&aws, "DescribeVpcs", &[("NextToken", "x")]).starts_with("InvalidNextToken"));
}

#[test]
fn what_aws_refuses_is_refused() {
    let aws = start();
    let mut said = Vec::new();
    let mut no =
        |action: &str, params: &[(&str, &str)]| said.push(without_ids(&refused(&aws, action, params)));

    let hub = vpc(&aws, "10.1.0.0/16");
    no("CreateVpc", &[("CidrBlock", "10.0.0.0/15")]);
    no("CreateVpc", &[("CidrBlock", "169.254.0.0/16")]);
    no("AssociateVpcCidrBlock", &[("VpcId", &hub), ("CidrBlock", "10.1.128.0/20")]);
    no("AssociateVpcCidrBlock", &[("VpcId", &hub), ("CidrBlock", "192.168.0.0/20")]);
    ok(&aws, "AssociateVpcCidrBlock", &[("VpcId", &hub), ("CidrBlock", "100.64.0.0/20")]);
    no("CreateSubnet", &[("VpcId", &hub), ("CidrBlock", "10.1.9.0/29")]);
    let net = subnet(&aws, &hub, "10.1.0.0/24");

    let igw = create(&aws, "CreateInternetGateway", "internetGatewayId", &[]);
    let second = create(&aws, "CreateInternetGateway", "internetGatewayId", &[]);
    ok(&aws, "AttachInternetGateway", &[("InternetGatewayId", &igw), ("VpcId", &hub)]);
    no("AttachInternetGateway", &[("InternetGatewayId", &igw), ("VpcId", &hub)]);
    no("AttachInternetGateway", &[("InternetGatewayId", &second), ("VpcId", &hub)]);
    no("DeleteInternetGateway", &[("InternetGatewayId", &igw)]);

    let address = create(&aws, "AllocateAddress", "allocationId", &[("Domain", "vpc")]);
    let on = [("SubnetId", net.as_str()), ("AllocationId", address.as_str())];
    let nat = create(&aws, "CreateNatGateway", "natGatewayId", &on);
    no("CreateNatGateway", &on);
    no("ReleaseAddress", &[("AllocationId", &address)]);
    no("DetachInternetGateway", &[("InternetGatewayId", &igw), ("VpcId", &hub)]);
    no("DeleteSubnet", &[("SubnetId", &net)]);
    no("DeleteVpc", &[("VpcId", &hub)]);
    ok(&aws, "DeleteNatGateway", &[("NatGatewayId", &nat)]);
    ok(&aws, "ReleaseAddress", &[("AllocationId", &address)]);
    ok(&aws, "DetachInternetGateway", &[("InternetGatewayId", &igw), ("VpcId", &hub)]);

    let group_name = [("GroupName", "e"), ("GroupDescription", "e"), ("VpcId", hub.as_str())];
    let group = create(&aws, "CreateSecurityGroup", "groupId", &group_name);
    let endpoint = |service: &'static str| {
        vec![
            ("VpcId", hub.clone()),
            ("ServiceName", format!("com.amazonaws.us-east-1.{service}")),
            ("VpcEndpointType", "Interface".to_owned()),
            ("PrivateDnsEnabled", "true".to_owned()),
            ("SubnetId.1", net.clone()),
            ("SecurityGroupId.1", group.clone()),
        ]
    };
    fn borrowed<'a>(params: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
        params.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }
    let (api, bogus) = (endpoint("ecr.api"), endpoint("ecr.bogus"));
    no("CreateVpcEndpoint", &borrowed(&bogus));
    no("CreateVpcEndpoint", &borrowed(&api));
    ok(&aws, "ModifyVpcAttribute", &[("VpcId", &hub), ("EnableDnsHostnames.Value", "true")]);
    let first = create(&aws, "CreateVpcEndpoint", "vpcEndpointId", &borrowed(&api));
    no("CreateVpcEndpoint", &borrowed(&api));
    no("DeleteSecurityGroup", &[("GroupId", &group)]);
    no("DeleteSubnet", &[("SubnetId", &net)]);
    ok(&aws, "DeleteVpcEndpoints", &[("VpcEndpointId.1", &first)]);
    let other_name = [("GroupName", "f"), ("GroupDescription", "f"), ("VpcId", hub.as_str())];
    let other = create(&aws, "CreateSecurityGroup", "groupId", &other_name);
    let rule = [
        ("GroupId", other.as_str()),
        ("IpPermissions.1.IpProtocol", "tcp"),
        ("IpPermissions.1.FromPort", "443"),
        ("IpPermissions.1.ToPort", "443"),
        ("IpPermissions.1.Groups.1.GroupId", group.as_str()),
    ];
    ok(&aws, "AuthorizeSecurityGroupIngress", &rule);
    no("DeleteSecurityGroup", &[("GroupId", &group)]);
    ok(&aws, "DeleteSecurityGroup", &[("GroupId", &other)]);
    ok(&aws, "DeleteSecurityGroup", &[("GroupId", &group)]);

    let gateway = create(&aws, "CreateTransitGateway", "transitGatewayId", &[]);
    let attach = [("TransitGatewayId", gateway.as_str()), ("VpcId", &hub), ("SubnetIds.1", &net)];
    let attachment = create(&aws, "CreateTransitGatewayVpcAttachment", "transitGatewayAttachmentId", &attach);
    no("DeleteTransitGateway", &[("TransitGatewayId", &gateway)]);
    no("DeleteSubnet", &[("SubnetId", &net)]);
    no(
        "DeleteTransitGatewayVpcAttachment",
        &[("TransitGatewayAttachmentId", "tgw-attach-00000000000000000")],
    );
    ok(&aws, "DeleteTransitGatewayVpcAttachment", &[("TransitGatewayAttachmentId", &attachment)]);
    ok(&aws, "DeleteTransitGateway", &[("TransitGatewayId", &gateway)]);

    let twin = vpc(&aws, "10.1.0.0/16");
    let peer = ok(&aws, "CreateVpcPeeringConnection", &[("VpcId", &hub), ("PeerVpcId", &twin)]);
    let peering = peer.text("vpcPeeringConnectionId");
    let seen = ok(&aws, "DescribeVpcPeeringConnections", &[("VpcPeeringConnectionId.1", peering)]);
    assert_eq!((peer.text("code"), seen.text("code")), ("failed", "failed"));
    no("AcceptVpcPeeringConnection", &[("VpcPeeringConnectionId", peering)]);

    for id in [&igw, &second] {
        ok(&aws, "DeleteInternetGateway", &[("InternetGatewayId", id)]);
    }
    ok(&aws, "DeleteSubnet", &[("SubnetId", &net)]);
    for id in [&hub, &twin] {
        ok(&aws, "DeleteVpc", &[("VpcId", id)]);
    }
    assert!(aws.leftovers().unwrap().is_empty(), "{}", aws.leftovers().unwrap());
    aws.proxy().assert_valid();
    insta::assert_snapshot!(said.join("\n"));
}

/// As [the guide](https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html) and hashicorp/aws
/// (`aws_route`, `aws_eip_association`) describe it.
#[test]
fn ranges_are_normalised_and_tokens_give_the_same_object() {
    let aws = start();
    let made = ok(&aws, "CreateVpc", &[("CidrBlock", "10.1.2.3/16")]);
    assert_eq!(made.text("cidrBlock"), "10.1.0.0/16");
    let net = subnet(&aws, made.text("vpcId"), "10.1.7.9/24");
    assert_eq!(ok(&aws, "DescribeSubnets", &[("SubnetId.1", &net)]).text("cidrBlock"), "10.1.7.0/24");

    let params = |net: &str| {
        vec![("SubnetId".to_owned(), net.to_owned()), ("ConnectivityType".into(), "private".into())]
    };
    let nat = |token: &str, net: &str| {
        let mut all = params(net);
        all.push(("ClientToken".into(), token.to_owned()));
        let all: Vec<(&str, &str)> =
            all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        ec2(&aws, "CreateNatGateway", &all)
    };
    let first = nat("a", &net).text("natGatewayId").to_owned();
    // The answer to the first is lost; the repeat with the same token still finds the same object.
    assert_eq!(nat("a", &net).text("natGatewayId"), first);
    assert_ne!(nat("b", &net).text("natGatewayId"), first);
    assert_eq!(nat("a", "subnet-00000000000000000").text("Code"), "IdempotentParameterMismatch");
    assert_eq!(aws.inventory().unwrap().of(Kind::NatGateway).count(), 2);

    let dry = refused(&aws, "CreateVpc", &[("CidrBlock", "10.5.0.0/16"), ("DryRun", "true")]);
    assert!(dry.starts_with("DryRunOperation"));
    assert!(!aws.inventory().unwrap().of(Kind::Vpc).any(|vpc| vpc.cidr.as_deref() == Some("10.5.0.0/16")));
}

#[test]
fn tag_filters_hold_for_kinds_where_the_emulator_ignores_them() {
    let aws = start();
    let hub = vpc(&aws, "10.1.0.0/16");
    let net = subnet(&aws, &hub, "10.1.0.0/24");
    for name in ["one", "two"] {
        let tags = [
            ("SubnetId", net.as_str()),
            ("ConnectivityType", "private"),
            ("TagSpecification.1.ResourceType", "natgateway"),
            ("TagSpecification.1.Tag.1.Key", "warren:name"),
            ("TagSpecification.1.Tag.1.Value", name),
        ];
        ok(&aws, "CreateNatGateway", &tags);
    }
    let filter = [("Filter.1.Name", "tag:warren:name"), ("Filter.1.Value.1", "two")];
    assert_eq!(ok(&aws, "DescribeNatGateways", &filter).texts("natGatewayId").len(), 1);
    aws.proxy().assert_valid();
}

#[test]
fn wrong_requests_are_refused_and_recorded() {
    let aws = start();
    let wrong: &[(&str, &[(&str, &str)])] = &[
        ("CreateVpcs", &[("CidrBlock", "10.0.0.0/16")]),
        ("CreateVpc", &[("CidrBlok", "10.0.0.0/16")]),
        ("CreateSubnet", &[("CidrBlock", "10.0.0.0/24")]),
        ("CreateVpc", &[("CidrBlock", "10.0.0.0/16"), ("InstanceTenancy", "shared")]),
        ("CreateVpc", &[("CidrBlock", "10.0.0.0/16"), ("AmazonProvidedIpv6CidrBlock", "yes")]),
        ("DescribeVpcs", &[("VpcId", "vpc-1")]),
        ("DescribeVpcs", &[("VpcId.2", "vpc-1")]),
        ("DescribeVpcs", &[("Filter.1.Names", "x")]),
        (
            "CreateFlowLogs",
            &[("ResourceType", "VPC"), ("ResourceId.1", "vpc-1"), ("MaxAggregationInterval", "ten")],
        ),
    ];
    for (action, params) in wrong {
        assert_eq!(ec2(&aws, action, params).status, 400, "{action}");
    }
    assert_eq!(ecr(&aws, "CreateRepository", r#"{"repositoryNam":"x"}"#).status, 400);
    assert_eq!(ecr(&aws, "CreateRepository", r#"{"repositoryName":7}"#).status, 400);
    let sts = http(&aws, "POST", "/", "sts", "", "Action=GetCallerIdentity&Version=2011-06-15&X=1").unwrap();
    assert_eq!(sts.status, 400);
    assert_eq!(ec2(&aws, "DescribeIpams", &[]).text("Code"), "UnsupportedByEmulator");
    let said: Vec<String> = aws.proxy().violations().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(said.join("\n"));
    assert!(aws.leftovers().unwrap().is_empty());
}

#[test]
fn s3_and_ecr_and_sts_pass_through() {
    let aws = start();
    let s3 = |method: &str, path: &str, headers: &str, body: &str| {
        http(&aws, method, path, "s3", headers, body).unwrap()
    };
    assert_eq!(s3("PUT", "/claims", "", "").status, 200);
    assert_eq!(s3("PUT", "/claims/a/b.json", "if-none-match: *\r\n", "one").status, 200);
    let again = s3("PUT", "/claims/a/b.json", "if-none-match: *\r\n", "two");
    assert_eq!((again.status, again.text("Code")), (412, "PreconditionFailed"));
    let head = s3("GET", "/claims/a/b.json", "", "");
    assert_eq!(head.body, "one");
    let tag = head
        .head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("etag: ").map(str::to_owned))
        .unwrap();
    assert_eq!(s3("PUT", "/claims/a/b.json", &format!("if-match: {tag}\r\n"), "two").status, 200);
    let stale = s3("PUT", "/claims/a/b.json", &format!("if-match: {tag}\r\n"), "three");
    assert_eq!((stale.status, stale.text("Code")), (412, "PreconditionFailed"));
    assert_eq!(s3("PUT", "/claims/none", &format!("if-match: {tag}\r\n"), "x").status, 404);
    assert_eq!(s3("GET", "/claims/a/b.json", "", "").body, "two");
    aws.proxy().inject(
        Fault::error(409, "ConditionalRequestConflict", "A conflicting operation occurred.").on("PutObject"),
    );
    assert_eq!(s3("PUT", "/claims/a/b.json", "", "x").text("Code"), "ConditionalRequestConflict");
    let call = &aws.proxy().calls_of("PutObject")[0];
    let param = |name| call.params.get(name);
    assert_eq!((param("bucket"), param("key"), param("if-none-match")), ("claims", "a/b.json", "*"));

    // Of writers that all create the same object only if it does not exist, exactly one wins.
    let wins = std::thread::scope(|scope| {
        let put = |n: usize| {
            http(&aws, "PUT", "/claims/race", "s3", "if-none-match: *\r\n", &n.to_string()).unwrap().status
        };
        let writers: Vec<_> = (0..8).map(|n| scope.spawn(move || put(n))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).filter(|status| *status == 200).count()
    });
    assert_eq!(wins, 1);

    let made = ecr(&aws, "CreateRepository", r#"{"repositoryName":"train"}"#);
    assert!(made.status == 200 && made.body.contains("repositoryUri"), "{}", made.body);
    assert_eq!(aws.inventory().unwrap().of(Kind::EcrRepository).count(), 1);
    let who = http(&aws, "POST", "/", "sts", "", "Action=GetCallerIdentity&Version=2011-06-15").unwrap();
    assert_eq!(who.text("Account"), "123456789012");
    aws.proxy().assert_valid();
}

/// A process that creates VPCs, one after another, through the proxy. It ends at the first lost connection.
const CREATES: &str = r#"
import sys, urllib.parse, urllib.request
for n in range(1, 6):
    form = {"Action": "CreateVpc", "Version": "2016-11-15", "CidrBlock": f"10.{n}.0.0/16"}
    scope = "AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/ec2/aws4_request"
    headers = {"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}
    request = urllib.request.Request(sys.argv[1], urllib.parse.urlencode(form).encode(), headers)
    urllib.request.urlopen(request, timeout=20).read()
"#;

#[test]
fn kill_points_end_the_caller_exactly_there() {
    let aws = start();
    let python = Venv::ensure().unwrap().python();
    for (phase, made) in [(Phase::Before, 2), (Phase::After, 3)] {
        let before = aws.inventory().unwrap();
        aws.proxy().arm(KillSwitch::caller(3, phase));
        let status = Command::new(&python).args(["-c", CREATES, &aws.endpoint()]).output().unwrap().status;
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{phase:?} {status}");
        let now = aws.inventory().unwrap().since(&before);
        assert_eq!(now.added.iter().filter(|(kind, _)| *kind == Kind::Vpc).count(), made, "{phase:?}");
        let call = aws.proxy().disarm().unwrap();
        assert_eq!(call.params.get("CidrBlock"), "10.3.0.0/16");
    }
    // Counting calls that change something.
    aws.proxy().arm(KillSwitch::writer(2, Phase::After));
    Command::new(&python).args(["-c", CREATES, &aws.endpoint()]).output().unwrap();
    assert_eq!(aws.proxy().disarm().unwrap().params.get("CidrBlock"), "10.2.0.0/16");
    // Before the first call for which a condition holds.
    let mut asked = 0;
    aws.proxy().arm(KillSwitch::once(move || {
        asked += 1;
        asked == 4
    }));
    Command::new(&python).args(["-c", CREATES, &aws.endpoint()]).output().unwrap();
    assert_eq!(aws.proxy().disarm().unwrap().params.get("CidrBlock"), "10.4.0.0/16");
    // By process id, and by a callback.
    let mut bystander = Command::new("sleep").arg("60").spawn().unwrap();
    aws.proxy().arm(KillSwitch::pid(1, Phase::Before, bystander.id()));
    assert!(try_ec2(&aws, "DescribeVpcs", &[]).is_none());
    assert!(!bystander.wait().unwrap().success());
    let (tell, told) = std::sync::mpsc::channel();
    aws.proxy().arm(KillSwitch::run(2, Phase::After, move |call| tell.send(call.action.clone()).unwrap()));
    assert_eq!(ec2(&aws, "DescribeVpcs", &[]).status, 200);
    assert!(try_ec2(&aws, "DescribeSubnets", &[]).is_none());
    assert_eq!(told.recv().unwrap(), "DescribeSubnets");
    assert_eq!(ec2(&aws, "DescribeVpcs", &[]).status, 200);
}

#[tokio::test]
async fn works_inside_an_async_runtime() {
    let aws = start();
    assert!(aws.leftovers().unwrap().is_empty());
}

#[test]
fn botocore_speaks_to_it_without_violations() {
    let aws = Emulator::start(ProxyConfig::realistic()).unwrap();
    let python = Venv::ensure().unwrap().python();
    let output = Command::new(python)
        .args(["-c", include_str!("botocore_round_trip.py"), &aws.endpoint()])
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    aws.proxy().assert_valid();
    assert!(aws.leftovers().unwrap().is_empty(), "{}", aws.leftovers().unwrap());
    assert!(aws.proxy().calls().len() > 40);
}
