//! Ranges of VPCs and subnets. The emulator checks only that a subnet lies in its VPC and overlaps no other.

use ipnet::{IpNet, Ipv4Net};

use super::{Context, Verdict};
use crate::front::reply::Rejection;

/// The blocks that AWS tells apart when a second range is added to a VPC.
const TEN: &str = "10.0.0.0/8";
const ONE_SEVENTY_TWO: &str = "172.16.0.0/12";
const ONE_NINETY_TWO: &str = "192.168.0.0/16";
/// Used by AWS itself for the managed interfaces of services.
const RESERVED: &str = "198.19.0.0/16";

/// Blocks that are no unicast addresses of a network, so no VPC may have them.
const NEVER: &[&str] = &["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"];

/// A VPC is between /16 and /28, because subnets are carved from it and AWS keeps five addresses of each.
pub(super) fn vpc(context: &Context<'_>) -> Verdict {
    let Ok(net) = context.get("CidrBlock").parse::<Ipv4Net>() else { return Ok(()) };
    sized(net, "InvalidVpc.Range")?;
    if NEVER.iter().any(|block| overlaps(net, block)) {
        return Err(Rejection::new("InvalidVpc.Range", format!("The CIDR '{net}' is invalid.")));
    }
    Ok(())
}

/// A subnet is between /16 and /28.
pub(super) fn subnet(context: &Context<'_>) -> Verdict {
    let Ok(net) = context.get("CidrBlock").parse::<Ipv4Net>() else { return Ok(()) };
    sized(net, "InvalidSubnet.Range")
}

/// A second range overlaps none of the VPC's, and is not private space of another family than theirs, because
/// AWS routes those families apart inside one VPC.
pub(super) async fn secondary(context: &Context<'_>) -> Verdict {
    let Ok(net) = context.get("CidrBlock").parse::<Ipv4Net>() else { return Ok(()) };
    sized(net, "InvalidVpc.Range")?;
    let Some(vpc) = context.vpc(context.get("VpcId")).await else { return Ok(()) };
    let mut held: Vec<Ipv4Net> = vpc
        .items("cidrBlockAssociationSet")
        .filter(|item| item.text_at("cidrBlockState/state") != "disassociated")
        .filter_map(|item| item.text_at("cidrBlock").parse().ok())
        .collect();
    held.extend(vpc.text_at("cidrBlock").parse::<Ipv4Net>());
    if let Some(other) = held.iter().find(|other| overlaps_net(net, **other)) {
        let message = format!("The CIDR '{net}' conflicts with another CIDR '{other}' of the VPC");
        return Err(Rejection::new("CidrConflict", message));
    }
    if held.iter().any(|other| is_restricted(net, *other)) || NEVER.iter().any(|block| overlaps(net, block)) {
        let message = format!(
            "The CIDR '{net}' is restricted. Use a CIDR from the same private address range as the current VPC CIDR, \
             or use a publicly-routable CIDR."
        );
        return Err(Rejection::new("InvalidVpc.Range", message));
    }
    Ok(())
}

/// The VPC user guide's table "IPv4 CIDR block association restrictions".
fn is_restricted(net: Ipv4Net, held: Ipv4Net) -> bool {
    let forbidden: &[&str] = match held {
        held if within(held, "10.0.0.0/15") => &["10.0.0.0/16", ONE_SEVENTY_TWO, ONE_NINETY_TWO, RESERVED],
        held if within(held, TEN) => &[ONE_SEVENTY_TWO, ONE_NINETY_TWO, RESERVED],
        held if within(held, ONE_SEVENTY_TWO) => &[TEN, ONE_NINETY_TWO, "172.31.0.0/16", RESERVED],
        held if within(held, ONE_NINETY_TWO) => &[TEN, ONE_SEVENTY_TWO, RESERVED],
        held if within(held, RESERVED) => &[TEN, ONE_SEVENTY_TWO, ONE_NINETY_TWO],
        _ => &[TEN, ONE_SEVENTY_TWO, ONE_NINETY_TWO, RESERVED],
    };
    forbidden.iter().any(|block| overlaps(net, block))
}

fn sized(net: Ipv4Net, code: &str) -> Verdict {
    if (16..=28).contains(&net.prefix_len()) {
        return Ok(());
    }
    Err(Rejection::new(code, format!("The CIDR '{net}' is invalid.")))
}

fn within(net: Ipv4Net, block: &str) -> bool {
    block.parse::<Ipv4Net>().is_ok_and(|block| block.contains(&net))
}

fn overlaps(net: Ipv4Net, block: &str) -> bool {
    block.parse::<Ipv4Net>().is_ok_and(|block| overlaps_net(net, block))
}

/// Whether two aligned ranges share an address: then one holds the other.
pub(super) fn overlaps_net(one: impl Into<IpNet>, two: impl Into<IpNet>) -> bool {
    let (one, two) = (one.into(), two.into());
    one.contains(&two) || two.contains(&one)
}
