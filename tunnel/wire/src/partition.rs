//! The domains of AWS, which has several partitions: sets of regions with their own accounts and names.

/// The domain of a region of no other partition.
pub const COMMERCIAL: &str = "amazonaws.com";

/// The beginnings of regions and the domains of their services: `regionRegex` and `outputs.dnsSuffix` of botocore's
/// `data/partitions.json`.
const DOMAINS: [(&str, &str); 6] = [
    ("cn-", "amazonaws.com.cn"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("eusc-", "amazonaws.eu"),
];

/// The domain of the services of an AWS region: `ec2.REGION.DOMAIN`.
pub fn domain(region: &str) -> &'static str {
    DOMAINS.iter().find(|(start, _)| region.starts_with(start)).map_or(COMMERCIAL, |(_, domain)| domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region of each partition in botocore's `data/partitions.json`.
    #[test]
    fn every_partition_has_its_domain() {
        for (region, expected) in [
            ("us-east-1", "amazonaws.com"),
            ("us-gov-west-1", "amazonaws.com"),
            ("cn-north-1", "amazonaws.com.cn"),
            ("us-iso-east-1", "c2s.ic.gov"),
            ("us-isob-east-1", "sc2s.sgov.gov"),
            ("us-isof-south-1", "csp.hci.ic.gov"),
            ("eu-isoe-west-1", "cloud.adc-e.uk"),
            ("eusc-de-east-1", "amazonaws.eu"),
            ("mars-north-1", "amazonaws.com"),
        ] {
            assert_eq!(domain(region), expected, "{region}");
        }
    }
}
