//! What AWS reads into a request: ranges in canonical form (10.1.2.3/16 becomes 10.1.0.0/16) and defaults. The emulator
//! keeps host bits and stumbles over absent values.

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
