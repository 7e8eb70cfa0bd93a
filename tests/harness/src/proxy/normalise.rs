//! What AWS reads into a request: ranges in canonical form (10.1.2.3/16 becomes 10.1.0.0/16), defaults, and tags. The
//! emulator keeps host bits, stumbles over absent values, and looks for an attachment's tags under another type's name.

use ipnet::IpNet;

use crate::query::Params;

/// Parameters that hold a range, by the last part of their name.
const RANGES: &[&str] =
    &["CidrBlock", "Ipv6CidrBlock", "DestinationCidrBlock", "DestinationIpv6CidrBlock", "CidrIp", "CidrIpv6"];

/// Clears host bits in every range.
pub(super) fn ranges(params: &mut Params) {
    let changes: Vec<(String, String)> = params
        .iter()
        .filter(|(name, _)| name.rsplit('.').next().is_some_and(|last| RANGES.contains(&last)))
        .filter_map(|(name, value)| {
            let net: IpNet = value.parse().ok()?;
            (net.trunc() != net).then(|| (name.to_owned(), net.trunc().to_string()))
        })
        .collect();
    for (name, value) in changes {
        params.set(&name, &value);
    }
}

/// Fills in defaults that the emulator lacks.
pub(super) fn defaults(action: &str, params: &mut Params) {
    if action == "CreateVpcEndpoint" && !params.has("VpcEndpointType") {
        params.set("VpcEndpointType", "Gateway");
    }
}

/// Types whose tags the emulator expects under another type's name, by the action that makes them.
const TAGGED_AS: &[(&str, &str, &str)] =
    &[("CreateTransitGatewayVpcAttachment", "transit-gateway-attachment", "transit-gateway-route-table")];

/// Names the tagged type as the emulator does. Else an object would be without tags until a later call brings them,
/// which AWS never shows.
pub(super) fn tags(action: &str, params: &mut Params) {
    for (_, theirs, emulators) in TAGGED_AS.iter().filter(|(made_by, _, _)| *made_by == action) {
        let names: Vec<String> = params
            .iter()
            .filter(|(name, value)| {
                name.starts_with("TagSpecification") && name.ends_with(".ResourceType") && value == theirs
            })
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in names {
            params.set(&name, emulators);
        }
    }
}
