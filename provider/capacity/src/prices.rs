//! The price table: prices with their date and sources, which a plan can override.

use crate::units::{Bytes, Usd};
use std::collections::BTreeMap;

/// The day on which the table was compared with its sources.
pub const DATE: &str = "2026-11-23";
/// Hours of a month, as clouds count them.
pub const HOURS: f64 = 730.0;

/// An item of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table describes the items")]
pub enum Item {
    AwsInternet,
    AwsDirectConnect,
    AwsPort1g,
    AwsPort10g,
    AwsPort100g,
    AwsVpn,
    AwsTransitAttachment,
    AwsTransit,
    AwsGateway,
    GcpInternet,
    GcpInterconnect,
    GcpPort10g,
    GcpPort100g,
    GcpAttachment,
    GcpVpn,
    GcpGateway,
}

/// What a price is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A GiB of traffic out of the cloud. Clouds write GB and count 2³⁰ bytes.
    Gib,
    /// An hour.
    Hour,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Price {
    /// The item.
    pub item: Item,
    /// Its key in `prices`.
    pub key: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What the price is for.
    pub unit: Unit,
    /// The price in US dollars from an amount of GiB in a month on. One tier for a price without tiers.
    pub tiers: &'static [(u64, f64)],
    /// The price list of the vendor.
    pub list: &'static str,
    /// What confirms the price; none if it was not found in a source.
    pub confirmed_by: Option<&'static str>,
}

const EC2: &str = "https://aws.amazon.com/ec2/pricing/on-demand/";
const DIRECT_CONNECT: &str = "https://aws.amazon.com/directconnect/pricing/";
const AWS_VPN: &str = "https://aws.amazon.com/vpn/pricing/";
const TRANSIT: &str = "https://aws.amazon.com/transit-gateway/pricing/";
const STORAGE: &str = "https://cloud.google.com/storage/pricing";
const INTERCONNECT: &str = "https://cloud.google.com/network-connectivity/docs/interconnect/pricing";
const CLOUD_VPN: &str = "https://cloud.google.com/network-connectivity/docs/vpn/pricing";
const COMPUTE: &str = "https://cloud.google.com/compute/vm-instance-pricing";
const C3X: Option<&str> = Some("https://c3x.dev/resources/aws/aws_dx_connection");
const C3X_TRANSIT: Option<&str> = Some("https://c3x.dev/blog/aws-transit-gateway-cost-explained/");
const GOOGLE_2021: Option<&str> = Some("https://cloud.google.com/interconnect/pricing (undated copy)");

/// The table: us-east-1 and us-central1, on demand, without discounts.
pub const TABLE: &[Price] = &[
    Price {
        item: Item::AwsInternet,
        key: "aws_internet",
        what: "AWS, traffic to the internet",
        unit: Unit::Gib,
        tiers: &[(0, 0.0), (100, 0.09), (10_240, 0.085), (51_200, 0.07), (153_600, 0.05)],
        list: EC2,
        confirmed_by: Some("https://wring.co/blog/aws-data-transfer-pricing-guide"),
    },
    Price {
        item: Item::AwsDirectConnect,
        key: "aws_direct_connect",
        what: "AWS, traffic to Direct Connect",
        unit: Unit::Gib,
        tiers: &[(0, 0.02)],
        list: DIRECT_CONNECT,
        confirmed_by: C3X,
    },
    Price {
        item: Item::AwsPort1g,
        key: "aws_port_1g",
        what: "Direct Connect, port of 1 Gbit/s",
        unit: Unit::Hour,
        tiers: &[(0, 0.30)],
        list: DIRECT_CONNECT,
        confirmed_by: C3X,
    },
    Price {
        item: Item::AwsPort10g,
        key: "aws_port_10g",
        what: "Direct Connect, port of 10 Gbit/s",
        unit: Unit::Hour,
        tiers: &[(0, 2.25)],
        list: DIRECT_CONNECT,
        confirmed_by: C3X,
    },
    Price {
        item: Item::AwsPort100g,
        key: "aws_port_100g",
        what: "Direct Connect, port of 100 Gbit/s",
        unit: Unit::Hour,
        tiers: &[(0, 22.50)],
        list: DIRECT_CONNECT,
        confirmed_by: C3X,
    },
    Price {
        item: Item::AwsVpn,
        key: "aws_vpn",
        what: "AWS Site-to-Site VPN, one connection",
        unit: Unit::Hour,
        tiers: &[(0, 0.05)],
        list: AWS_VPN,
        confirmed_by: Some("https://www.egresscost.com/aws"),
    },
    Price {
        item: Item::AwsTransitAttachment,
        key: "aws_transit_attachment",
        what: "Transit gateway, one attachment",
        unit: Unit::Hour,
        tiers: &[(0, 0.05)],
        list: TRANSIT,
        confirmed_by: C3X_TRANSIT,
    },
    Price {
        item: Item::AwsTransit,
        key: "aws_transit",
        what: "Transit gateway, traffic",
        unit: Unit::Gib,
        tiers: &[(0, 0.02)],
        list: TRANSIT,
        confirmed_by: C3X_TRANSIT,
    },
    Price {
        item: Item::AwsGateway,
        key: "aws_gateway",
        what: "Gateway on AWS, c6in.large",
        unit: Unit::Hour,
        tiers: &[(0, 0.1134)],
        list: EC2,
        confirmed_by: None,
    },
    Price {
        item: Item::GcpInternet,
        key: "gcp_internet",
        what: "Cloud Storage, traffic to the internet",
        unit: Unit::Gib,
        tiers: &[(0, 0.12), (1_024, 0.11), (10_240, 0.08)],
        list: STORAGE,
        confirmed_by: Some("https://cloud.google.com/storage/pricing-examples (first tier)"),
    },
    Price {
        item: Item::GcpInterconnect,
        key: "gcp_interconnect",
        what: "Google Cloud, traffic to Interconnect",
        unit: Unit::Gib,
        tiers: &[(0, 0.02)],
        list: INTERCONNECT,
        confirmed_by: GOOGLE_2021,
    },
    Price {
        item: Item::GcpPort10g,
        key: "gcp_port_10g",
        what: "Interconnect, circuit of 10 Gbit/s",
        unit: Unit::Hour,
        tiers: &[(0, 2.328)],
        list: INTERCONNECT,
        confirmed_by: GOOGLE_2021,
    },
    Price {
        item: Item::GcpPort100g,
        key: "gcp_port_100g",
        what: "Interconnect, circuit of 100 Gbit/s",
        unit: Unit::Hour,
        tiers: &[(0, 17.808)],
        list: INTERCONNECT,
        confirmed_by: GOOGLE_2021,
    },
    Price {
        item: Item::GcpAttachment,
        key: "gcp_attachment",
        what: "Interconnect, attachment of 10 Gbit/s",
        unit: Unit::Hour,
        tiers: &[(0, 0.10)],
        list: INTERCONNECT,
        confirmed_by: GOOGLE_2021,
    },
    Price {
        item: Item::GcpVpn,
        key: "gcp_vpn",
        what: "Cloud VPN, one tunnel",
        unit: Unit::Hour,
        tiers: &[(0, 0.05)],
        list: CLOUD_VPN,
        confirmed_by: None,
    },
    Price {
        item: Item::GcpGateway,
        key: "gcp_gateway",
        what: "Gateway on Google Cloud, n2-standard-2",
        unit: Unit::Hour,
        tiers: &[(0, 0.0971)],
        list: COMPUTE,
        confirmed_by: None,
    },
];

/// The prices of a plan: the table, and what the user overrides. An override has no tiers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<Item, f64>);

impl Prices {
    /// Overrides an item.
    pub(crate) fn set(&mut self, item: Item, usd: f64) {
        self.0.insert(item, usd);
    }

    /// Whether the user overrides prices.
    pub fn overridden(&self) -> bool {
        !self.0.is_empty()
    }

    fn tiers(&self, item: Item) -> Vec<(u64, f64)> {
        match (self.0.get(&item), TABLE.iter().find(|row| row.item == item)) {
            (Some(usd), _) => vec![(0, *usd)],
            (None, Some(row)) => row.tiers.to_vec(),
            (None, None) => Vec::new(),
        }
    }

    /// The price of traffic in a month: each GiB costs the price of its tier.
    pub fn traffic(&self, item: Item, bytes: Bytes) -> Usd {
        let (gib, tiers) = (bytes.gib(), self.tiers(item));
        let ends = tiers.iter().skip(1).map(|(from, _)| *from as f64).chain([f64::INFINITY]);
        let parts = tiers.iter().zip(ends).map(|((from, usd), end)| {
            let part = (gib.min(end) - *from as f64).max(0.0);
            part * usd
        });
        Usd(parts.sum())
    }

    /// The price of `count` of an item for a month.
    pub fn month(&self, item: Item, count: u64) -> Usd {
        let hour = self.tiers(item).first().map_or(0.0, |(_, usd)| *usd);
        Usd(hour * HOURS * count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(prices: &Prices, item: Item, gib: u64) -> f64 {
        (prices.traffic(item, Bytes(gib << 30)).0 * 100.0).round() / 100.0
    }

    #[test]
    fn each_gib_costs_the_price_of_its_tier() {
        let prices = Prices::default();
        assert_eq!(traffic(&prices, Item::AwsInternet, 100), 0.0);
        assert_eq!(traffic(&prices, Item::AwsInternet, 10_240), 912.6);
        assert_eq!(traffic(&prices, Item::AwsInternet, 10_340), 921.1);
        assert_eq!(traffic(&prices, Item::GcpInternet, 1_024), 122.88);
        assert_eq!(traffic(&prices, Item::GcpInternet, 2_048), 235.52);
        assert_eq!(traffic(&prices, Item::AwsDirectConnect, 51_200), 1024.0);
        assert_eq!(prices.month(Item::AwsPort10g, 2).0, 3285.0);
    }

    #[test]
    fn an_override_replaces_all_tiers() {
        let mut prices = Prices::default();
        prices.set(Item::AwsInternet, 0.05);
        assert!(prices.overridden());
        assert_eq!(traffic(&prices, Item::AwsInternet, 20_000), 1000.0);
    }

    #[test]
    fn every_item_is_one_row_with_tiers_in_order() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.item as usize, index, "{}", row.key);
            assert_eq!(row.tiers[0].0, 0, "{}", row.key);
            assert!(row.tiers.is_sorted_by(|a, b| a.0 < b.0), "{}", row.key);
        }
        assert_eq!(TABLE.len(), Item::GcpGateway as usize + 1);
    }
}
