//! Transit gateways, their attachments and route tables, shown by raw calls.

use super::without_ids;
use crate::support::{create, ok, refused, subnet, vpc};
use warren_harness::{Emulator, ProxyConfig};

#[test]
fn what_is_not_attached_is_refused() {
    let aws = Emulator::start(ProxyConfig { pending: 1, ..ProxyConfig::default() }).unwrap();
    let hub = vpc(&aws, "10.1.0.0/16");
    let net = subnet(&aws, &hub, "10.1.0.0/24");
    let mut said = Vec::new();
    let mut no =
        |action: &str, params: &[(&str, &str)]| said.push(without_ids(&refused(&aws, action, params)));

    let address = create(&aws, "AllocateAddress", "allocationId", &[("Domain", "vpc")]);
    let nat = [("SubnetId", net.as_str()), ("AllocationId", address.as_str())];
    let made = ok(&aws, "CreateNatGateway", &nat);
    let id = made.text("natGatewayId").to_owned();
    let state = || {
        let seen = ok(&aws, "DescribeNatGateways", &[("NatGatewayId.1", &id)]);
        [seen.text("state").to_owned(), seen.text("failureCode").to_owned()]
    };
    assert_eq!(state(), ["pending", ""]);
    assert_eq!(state(), ["failed", "Gateway.NotAttached"]);
    ok(&aws, "DeleteNatGateway", &[("NatGatewayId", &id)]);
    assert_eq!(state()[0], "deleted");
    let inner = create(
        &aws,
        "CreateNatGateway",
        "natGatewayId",
        &[("SubnetId", &net), ("ConnectivityType", "private")],
    );
    let seen = || ok(&aws, "DescribeNatGateways", &[("NatGatewayId.1", &inner)]).text("state").to_owned();
    assert_eq!([seen(), seen()], ["pending", "available"]);

    let interface = create(&aws, "CreateNetworkInterface", "networkInterfaceId", &[("SubnetId", &net)]);
    let associate = [("NetworkInterfaceId", interface.as_str()), ("AllocationId", address.as_str())];
    no("AssociateAddress", &associate);
    let igw = create(&aws, "CreateInternetGateway", "internetGatewayId", &[]);
    let table = create(&aws, "CreateRouteTable", "routeTableId", &[("VpcId", &hub)]);
    let route = |target: &'static str, id: &str| {
        [
            ("RouteTableId", table.clone()),
            ("DestinationCidrBlock", "0.0.0.0/0".to_owned()),
            (target, id.to_owned()),
        ]
    };
    let public = route("GatewayId", &igw);
    let public: Vec<(&str, &str)> = public.iter().map(|(name, value)| (*name, value.as_str())).collect();
    no("CreateRoute", &public);
    ok(&aws, "AttachInternetGateway", &[("InternetGatewayId", &igw), ("VpcId", &hub)]);
    ok(&aws, "CreateRoute", &public);
    ok(&aws, "AssociateAddress", &associate);

    let gateway = create(&aws, "CreateTransitGateway", "transitGatewayId", &[]);
    ok(&aws, "DescribeTransitGateways", &[]);
    let transit = route("TransitGatewayId", &gateway);
    let transit: Vec<(&str, &str)> = transit.iter().map(|(name, value)| (*name, value.as_str())).collect();
    no("ReplaceRoute", &transit);
    let attach = [("TransitGatewayId", gateway.as_str()), ("VpcId", &hub), ("SubnetIds.1", &net)];
    create(&aws, "CreateTransitGatewayVpcAttachment", "transitGatewayAttachmentId", &attach);
    no("ReplaceRoute", &transit);
    ok(&aws, "DescribeTransitGatewayVpcAttachments", &[]);
    ok(&aws, "ReplaceRoute", &transit);
    aws.proxy().assert_valid();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn tables_of_transit_gateways_hold_what_was_put_into_them() {
    let aws = Emulator::start(ProxyConfig { pending: 1, deleting: 1, ..ProxyConfig::default() }).unwrap();
    let mut said = Vec::new();
    let mut no =
        |action: &str, params: &[(&str, &str)]| said.push(without_ids(&refused(&aws, action, params)));
    let gateway = |options: &[(&str, &str)]| {
        let id = create(&aws, "CreateTransitGateway", "transitGatewayId", options);
        ok(&aws, "DescribeTransitGateways", &[]);
        id
    };
    let attach = |gateway: &str, cidr: &str| {
        let vpc = vpc(&aws, cidr);
        let net = subnet(&aws, &vpc, cidr);
        let on = [("TransitGatewayId", gateway), ("VpcId", &vpc), ("SubnetIds.1", &net)];
        let id = create(&aws, "CreateTransitGatewayVpcAttachment", "transitGatewayAttachmentId", &on);
        ok(&aws, "DescribeTransitGatewayVpcAttachments", &[]);
        id
    };
    let tables = |gateway: &str| {
        let filter = [("Filter.1.Name", "transit-gateway-id"), ("Filter.1.Value.1", gateway)];
        let seen = ok(&aws, "DescribeTransitGatewayRouteTables", &filter);
        seen.texts("transitGatewayRouteTableId").iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()
    };
    let states = |action: &str, table: &str| {
        let seen = ok(&aws, action, &[("TransitGatewayRouteTableId", table)]);
        let ids = seen.texts("transitGatewayAttachmentId").into_iter().map(str::to_owned);
        ids.zip(seen.texts("state").into_iter().map(str::to_owned)).collect::<Vec<_>>()
    };
    let associations = |table: &str| states("GetTransitGatewayRouteTableAssociations", table);
    let propagations = |table: &str| states("GetTransitGatewayRouteTablePropagations", table);
    let is = |id: &str, state: &str| (id.to_owned(), state.to_owned());

    // A gateway with defaults: its table has every attachment.
    let plain = gateway(&[]);
    let spoke = attach(&plain, "10.1.0.0/16");
    let default = tables(&plain).remove(0);
    assert_eq!(associations(&default), [is(&spoke, "associating")]);
    assert_eq!(associations(&default), [is(&spoke, "associated")]);
    assert_eq!([propagations(&default), propagations(&default)].concat()[1], is(&spoke, "enabled"));

    // One without has no table of its own.
    let off = ["DefaultRouteTableAssociation", "DefaultRouteTablePropagation"]
        .map(|name| format!("Options.{name}"));
    let hub = gateway(&[(&off[0], "disable"), (&off[1], "disable")]);
    assert!(tables(&hub).is_empty());
    assert_eq!(
        ok(&aws, "DescribeTransitGateways", &[]).texts("associationDefaultRouteTableId"),
        [default.as_str()]
    );
    let (left, right) = (attach(&hub, "10.2.0.0/16"), attach(&hub, "10.3.0.0/16"));
    let made = [("TransitGatewayId", hub.as_str())];
    let (one, two) = {
        let table = || create(&aws, "CreateTransitGatewayRouteTable", "transitGatewayRouteTableId", &made);
        (table(), table())
    };
    fn pair<'a>(table: &'a str, attachment: &'a str) -> [(&'a str, &'a str); 2] {
        [("TransitGatewayRouteTableId", table), ("TransitGatewayAttachmentId", attachment)]
    }
    no("AssociateTransitGatewayRouteTable", &pair(&one, &left));
    assert_eq!(tables(&hub).len(), 2);
    ok(&aws, "AssociateTransitGatewayRouteTable", &pair(&one, &left));
    no("AssociateTransitGatewayRouteTable", &pair(&two, &left));
    no("DisassociateTransitGatewayRouteTable", &pair(&one, &left));
    no("DisassociateTransitGatewayRouteTable", &pair(&two, &left));
    for table in [&one, &two] {
        ok(&aws, "EnableTransitGatewayRouteTablePropagation", &pair(table, &left));
    }
    no("EnableTransitGatewayRouteTablePropagation", &pair(&one, &left));
    assert_eq!(propagations(&two), [is(&left, "enabling")]);
    no("DeleteTransitGatewayRouteTable", &[("TransitGatewayRouteTableId", &one)]);

    // Routes: a static one has precedence, and drops packets once its attachment is gone.
    let route = |to: &'static str| [pair(&one, &right).as_slice(), &[("DestinationCidrBlock", to)]].concat();
    ok(&aws, "CreateTransitGatewayRoute", &route("0.0.0.0/0"));
    no("CreateTransitGatewayRoute", &route("0.0.0.0/0"));
    no("DeleteTransitGatewayRoute", &[pair(&one, "")[0], ("DestinationCidrBlock", "10.9.0.0/16")]);
    let search = |filter: &'static str, value: &'static str| {
        let filter =
            [("Filter.1.Name", filter), ("Filter.1.Value.1", value), ("TransitGatewayRouteTableId", &one)];
        let seen = ok(&aws, "SearchTransitGatewayRoutes", &filter);
        let states = seen.texts("state").into_iter().map(str::to_owned).collect::<Vec<_>>();
        let to = seen.texts("destinationCidrBlock").into_iter().map(str::to_owned);
        to.zip(states).collect::<Vec<_>>()
    };
    assert_eq!(search("type", "static"), [is("0.0.0.0/0", "active")]);
    assert_eq!(search("type", "propagated"), [is("10.2.0.0/16", "active")]);
    let over = [pair(&one, "").as_slice(), &[("DestinationCidrBlock", "10.2.0.0/16"), ("Blackhole", "true")]]
        .concat();
    let over: Vec<_> = over.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    ok(&aws, "CreateTransitGatewayRoute", &over);
    assert_eq!(search("route-search.exact-match", "10.2.0.0/16"), [is("10.2.0.0/16", "blackhole")]);
    ok(&aws, "DeleteTransitGatewayVpcAttachment", &[("TransitGatewayAttachmentId", &right)]);
    assert_eq!(search("route-search.exact-match", "0.0.0.0/0"), [is("0.0.0.0/0", "blackhole")]);

    assert_eq!(associations(&one), [is(&left, "associated")]);
    ok(&aws, "DisassociateTransitGatewayRouteTable", &pair(&one, &left));
    no("AssociateTransitGatewayRouteTable", &pair(&two, &left));
    assert_eq!([associations(&one), associations(&one)].concat(), [is(&left, "disassociating")]);
    ok(&aws, "DeleteTransitGatewayRouteTable", &[("TransitGatewayRouteTableId", &one)]);
    no("GetTransitGatewayRouteTableAssociations", &[("TransitGatewayRouteTableId", &one)]);
    aws.proxy().assert_valid();
    insta::assert_snapshot!(said.join("\n"));
}
