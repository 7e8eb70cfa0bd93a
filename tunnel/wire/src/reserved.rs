//! Destinations that no rule of a gateway opens: the gateway's own machine and link, and the metadata services of clouds.
//!
//! Whoever reads a metadata service from a gateway gets the credentials of the gateway's instance. The same IPv4 address has
//! several spellings in IPv6, and a translator or tunnel between the gateway and the service would accept each of them.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IPv4 ranges.
const V4: [&str; 7] = [
    // "This network" (RFC 791 section 3.2): Linux connects 0.0.0.0 to loopback.
    "0.0.0.0/8",
    // Loopback (RFC 1122 section 3.2.1.3).
    "127.0.0.0/8",
    // Link-local (RFC 3927): the metadata, credentials, DNS and time services of AWS, and the metadata of Google Cloud and Azure.
    "169.254.0.0/16",
    // Multicast (RFC 5771) and limited broadcast (RFC 919 section 7).
    "224.0.0.0/4",
    "255.255.255.255/32",
    // The metadata services of Azure (WireServer) and Alibaba Cloud.
    "168.63.129.16/32",
    "100.100.100.200/32",
];

/// IPv6 ranges.
const V6: [&str; 9] = [
    // Unspecified, loopback, and IPv4-compatible addresses (RFC 4291 sections 2.5.2, 2.5.3, 2.5.5.1).
    "::/96",
    // IPv4-mapped addresses (RFC 4291 section 2.5.5.2), which never occur in packets.
    "::ffff:0:0/96",
    // Teredo (RFC 4380), which ends in an inverted IPv4 address.
    "2001::/32",
    // Link-local and multicast (RFC 4291 sections 2.5.6, 2.7).
    "fe80::/10",
    "ff00::/8",
    // The same services of AWS as in 169.254.0.0/16: fd00:ec2::254, ::253, ::123, ::23.
    "fd00:ec2::/32",
    // The metadata services of Google Cloud and Scaleway. Around Google's, subnets of customers begin.
    "fd20:ce::254/128",
    "fd00:42::42/128",
    // Site-local (RFC 3879 deprecates it).
    "fec0::/10",
];

/// IPv6 prefixes that an IPv4 address follows at once.
const EMBEDDINGS: [&str; 4] = [
    // IPv4-translated (RFC 2765 section 2.1).
    "::ffff:0:0:0/96",
    // NAT64: the well-known prefix (RFC 6052 section 2.1), and the first of local use (RFC 8215).
    "64:ff9b::/96",
    "64:ff9b:1::/96",
    // 6to4 (RFC 3056 section 2).
    "2002::/16",
];

static RANGES: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    let v4: Vec<Ipv4Net> = V4.iter().filter_map(|net| net.parse().ok()).collect();
    let v6 = V6.iter().filter_map(|net| net.parse().ok());
    let embeddings = EMBEDDINGS.iter().filter_map(|net| net.parse::<Ipv6Net>().ok());
    let embedded = embeddings.flat_map(|around| v4.iter().filter_map(move |net| embed(around, *net)));
    let all: Vec<IpNet> =
        v4.iter().copied().map(IpNet::V4).chain(v6.chain(embedded).map(IpNet::V6)).collect();
    IpNet::aggregate(&all)
});

/// The range of IPv6 addresses that spell the addresses of `net` behind `around`.
fn embed(around: Ipv6Net, net: Ipv4Net) -> Option<Ipv6Net> {
    let shift = 96_u8.checked_sub(around.prefix_len())?;
    let bits = u128::from(around.network()) | (u128::from(u32::from(net.network())) << shift);
    Ipv6Net::new(Ipv6Addr::from(bits), around.prefix_len() + net.prefix_len()).ok()
}

/// All ranges, in ascending order and without overlaps.
#[must_use]
pub fn ranges() -> &'static [IpNet] {
    &RANGES
}

/// Whether no rule opens an address.
#[must_use]
pub fn is_reserved(address: IpAddr) -> bool {
    RANGES.iter().any(|net| net.contains(&address))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn reserved(address: &str) -> bool {
        is_reserved(address.parse().unwrap())
    }

    #[test]
    fn every_line_of_the_table_counts() {
        for net in V4.iter().chain(&V6).chain(&EMBEDDINGS) {
            let net: IpNet = net.parse().unwrap();
            assert_eq!(net, net.trunc());
        }
        insta::assert_snapshot!(ranges().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn metadata_services_have_many_spellings() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "2001:0:1:2:3:4:5601:5601",
        ] {
            assert!(reserved(address), "{address}");
        }
        for address in
            ["10.0.0.1", "169.253.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::1", "fd20:ce::253", "2600::1"]
        {
            assert!(!reserved(address), "{address}");
        }
    }

    proptest! {
        /// A reserved IPv4 address is reserved in each spelling; another one only where the whole form is.
        #[test]
        fn a_spelling_has_the_answer_of_its_address(bits in any::<u32>(), low in any::<u64>(), near in 0..V4.len() + 1) {
            let net = V4.get(near).map(|net| net.parse::<Ipv4Net>().unwrap());
            let bits = net.map_or(bits, |net| u32::from(net.network()) | bits & u32::from(net.hostmask()));
            let expected = is_reserved(Ipv4Addr::from(bits).into());
            prop_assert!(net.is_none() || expected);
            let address = u128::from(bits);
            for (around, shift, rest) in [
                ("64:ff9b::", 0, 0),
                ("64:ff9b:1::", 0, 0),
                ("::ffff:0:0:0", 0, 0),
                ("2002::", 80, u128::from(low)),
            ] {
                let around: Ipv6Addr = around.parse().unwrap();
                let spelled = Ipv6Addr::from(u128::from(around) | address << shift | rest);
                prop_assert_eq!(is_reserved(spelled.into()), expected, "{}", spelled);
            }
            prop_assert!(is_reserved(Ipv4Addr::from(bits).to_ipv6_mapped().into()));
            prop_assert!(is_reserved(Ipv4Addr::from(bits).to_ipv6_compatible().into()));
        }
    }
}
