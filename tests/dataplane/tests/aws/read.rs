//! An account of the emulated AWS, read through its API.

use std::process::Command;

use warren_dataplane::aws::{Account, EndpointKind};
use warren_dataplane::servers::SIGNED;
use warren_harness::{Element, Emulator, Params, ProxyConfig};

use crate::world::World;

/// A client that makes what a test needs.
struct Client(String);

impl Client {
    fn send(&self, service: &str, arguments: &[&str], path: &str) -> String {
        let who = format!(
            "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/{service}/aws4_request, \
             SignedHeaders=host, Signature=0"
        );
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--header",
            &who,
            "--header",
            "content-type: application/xml",
        ])
        .args(arguments)
        .arg(format!("{}{path}", self.0));
        String::from_utf8(curl.output().unwrap().stdout).unwrap()
    }

    /// Calls an action of EC2 and returns the text at a path of the answer.
    fn make(&self, action: &str, params: &[(&str, &str)], path: &str) -> String {
        let mut form = Params::from(params);
        form.set("Action", action);
        form.set("Version", "2016-11-15");
        let text = self.send("ec2", &["--data", &form.to_form()], "/");
        let answer = Element::parse(&text).unwrap();
        assert!(answer.child("Errors").is_none(), "{action}: {text}");
        answer.text_at(path).to_owned()
    }

    fn named(&self, id: &str, name: &str) {
        self.make(
            "CreateTags",
            &[("ResourceId.1", id), ("Tag.1.Key", "Name"), ("Tag.1.Value", name)],
            "return",
        );
    }
}

#[test]
fn what_the_api_shows_carries_packets() {
    let aws = Emulator::start(ProxyConfig::default()).unwrap();
    let client = Client(aws.endpoint());
    let vpc = client.make("CreateVpc", &[("CidrBlock", "10.20.0.0/16")], "vpc/vpcId");
    client.make("ModifyVpcAttribute", &[("VpcId", &vpc), ("EnableDnsHostnames.Value", "true")], "return");
    let subnet = |name: &str, cidr: &str| {
        let params = [("VpcId", vpc.as_str()), ("CidrBlock", cidr), ("AvailabilityZone", "us-east-1a")];
        let id = client.make("CreateSubnet", &params, "subnet/subnetId");
        client.named(&id, name);
        id
    };
    let (public, private) = (subnet("public", "10.20.0.0/24"), subnet("private", "10.20.1.0/24"));
    let gateway = client.make("CreateInternetGateway", &[], "internetGateway/internetGatewayId");
    client.make("AttachInternetGateway", &[("InternetGatewayId", &gateway), ("VpcId", &vpc)], "return");
    let address = client.make("AllocateAddress", &[("Domain", "vpc")], "allocationId");
    let params = [("SubnetId", public.as_str()), ("AllocationId", address.as_str())];
    let nat = client.make("CreateNatGateway", &params, "natGateway/natGatewayId");
    let table = |subnet: &str, target: (&str, &str)| {
        let id = client.make("CreateRouteTable", &[("VpcId", &vpc)], "routeTable/routeTableId");
        let to = [("RouteTableId", id.as_str()), ("DestinationCidrBlock", "0.0.0.0/0"), target];
        client.make("CreateRoute", &to, "return");
        client.make("AssociateRouteTable", &[("RouteTableId", &id), ("SubnetId", subnet)], "associationId");
        id
    };
    table(&public, ("GatewayId", &gateway));
    let routes = table(&private, ("NatGatewayId", &nat));
    let s3 =
        [("VpcId", vpc.as_str()), ("ServiceName", "com.amazonaws.us-east-1.s3"), ("RouteTableId.1", &routes)];
    let endpoint = client.make("CreateVpcEndpoint", &s3, "vpcEndpoint/vpcEndpointId");
    let group = [("GroupName", "web"), ("GroupDescription", "web"), ("VpcId", vpc.as_str())];
    let group = client.make("CreateSecurityGroup", &group, "groupId");
    let rule = [
        ("GroupId", group.as_str()),
        ("IpPermissions.1.IpProtocol", "tcp"),
        ("IpPermissions.1.FromPort", "443"),
        ("IpPermissions.1.ToPort", "443"),
        ("IpPermissions.1.IpRanges.1.CidrIp", "10.20.1.0/24"),
    ];
    client.make("AuthorizeSecurityGroupIngress", &rule, "return");
    let run = [
        ("ImageId", "ami-1e749f67"),
        ("MinCount", "1"),
        ("MaxCount", "1"),
        ("SubnetId", public.as_str()),
        ("SecurityGroupId.1", group.as_str()),
    ];
    client.make("RunInstances", &run, "reservationId");
    let zone = format!(
        "<CreateHostedZoneRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><Name>corp.test</Name>\
         <VPC><VPCRegion>us-east-1</VPCRegion><VPCId>{vpc}</VPCId></VPC><CallerReference>1</CallerReference>\
         <HostedZoneConfig><PrivateZone>true</PrivateZone></HostedZoneConfig></CreateHostedZoneRequest>"
    );
    let made = client.send("route53", &["--data", &zone], "/2013-04-01/hostedzone");
    let made = Element::parse(&made).unwrap_or_else(|error| panic!("{error}: {made}\n{}", aws.log()));
    let id = made.text_at("HostedZone/Id").trim_start_matches("/hostedzone/");
    let record = "<ChangeResourceRecordSetsRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><ChangeBatch><Changes>\
         <Change><Action>CREATE</Action><ResourceRecordSet><Name>*.corp.test</Name><Type>A</Type><TTL>60</TTL><ResourceRecords>\
         <ResourceRecord><Value>10.20.1.99</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></Change>\
         </Changes></ChangeBatch></ChangeResourceRecordSetsRequest>";
    client.send("route53", &["--data", record], &format!("/2013-04-01/hostedzone/{id}/rrset/"));
    client.send("s3", &["--request", "PUT"], "/corpus");
    client.send("s3", &["--request", "PUT"], "/open");
    let policy = format!(
        r#"{{"Statement":[{{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::corpus/*",
        "Condition":{{"StringNotEquals":{{"aws:SourceVpce":"{endpoint}"}}}}}}]}}"#
    );
    client.send("s3", &["--request", "PUT", "--data", &policy], "/corpus?policy");

    let account = Account::read(&aws.endpoint(), "us-east-1").unwrap();
    assert_eq!((account.vpcs.len(), account.subnets.len(), account.interfaces.len()), (1, 2, 1));
    assert!(
        matches!(&account.endpoints[0].kind, EndpointKind::Gateway { route_tables } if *route_tables == [routes])
    );
    let world = World::new(&account);
    let instance = account.interfaces[0].name.as_str();
    world.reaches("private", instance, instance);
    world.closed("public", instance);
    world.reaches("private", "52.216.1.1", &endpoint);
    world.reaches("private", "8.8.8.8", "internet");
    let read = |from: &str, bucket: &str| world.get(from, bucket, &[SIGNED]).server().map(str::to_owned);
    assert_eq!(read("private", "corpus"), Some(endpoint));
    assert_eq!(read("public", "corpus"), None);
    assert_eq!(read("public", "open").as_deref(), Some("public services"));
    assert_eq!(world.names("private", "any.corp.test"), ["10.20.1.99"]);
    aws.proxy().assert_valid();
}
