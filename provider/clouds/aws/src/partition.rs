//! The partitions of AWS: ARNs, and names of endpoint services. Their domains are in [`warren_wire::partition`], because
//! gateways need them as well.
//!
//! Names are those of botocore's `data/partitions.json` (`id`, `regionRegex`).

/// A partition: a set of regions with their own accounts, domains and ARNs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// In ARNs, such as `aws-cn`.
    pub(crate) name: &'static str,
    /// The beginning of the full names of its endpoint services.
    prefix: &'static str,
    /// The beginnings of its regions.
    regions: &'static [&'static str],
    /// Examples for advice, the first one for a region that cannot be guessed.
    known: &'static [&'static str],
}

/// The one with the most regions comes first, since regions of no partition are in it.
const PARTITIONS: [Partition; 8] = [
    Partition {
        name: "aws",
        prefix: "com.amazonaws",
        regions: &["us-", "eu-", "ap-", "sa-", "ca-", "me-", "af-", "il-", "mx-"],
        known: &[
            "us-east-1",
            "us-east-2",
            "us-west-1",
            "us-west-2",
            "af-south-1",
            "ap-east-1",
            "ap-east-2",
            "ap-northeast-1",
            "ap-northeast-2",
            "ap-northeast-3",
            "ap-south-1",
            "ap-south-2",
            "ap-southeast-1",
            "ap-southeast-2",
            "ap-southeast-3",
            "ap-southeast-4",
            "ap-southeast-5",
            "ap-southeast-6",
            "ap-southeast-7",
            "ca-central-1",
            "ca-west-1",
            "eu-central-1",
            "eu-central-2",
            "eu-north-1",
            "eu-south-1",
            "eu-south-2",
            "eu-west-1",
            "eu-west-2",
            "eu-west-3",
            "il-central-1",
            "me-central-1",
            "me-south-1",
            "mx-central-1",
            "sa-east-1",
        ],
    },
    Partition {
        name: "aws-cn",
        prefix: "cn.com.amazonaws",
        regions: &["cn-"],
        known: &["cn-north-1", "cn-northwest-1"],
    },
    Partition {
        name: "aws-us-gov",
        prefix: "com.amazonaws",
        regions: &["us-gov-"],
        known: &["us-gov-east-1", "us-gov-west-1"],
    },
    Partition {
        name: "aws-iso",
        prefix: "com.amazonaws",
        regions: &["us-iso-"],
        known: &["us-iso-east-1", "us-iso-west-1"],
    },
    Partition {
        name: "aws-iso-b",
        prefix: "com.amazonaws",
        regions: &["us-isob-"],
        known: &["us-isob-east-1", "us-isob-west-1"],
    },
    Partition {
        name: "aws-iso-e",
        prefix: "com.amazonaws",
        regions: &["eu-isoe-"],
        known: &["eu-isoe-west-1"],
    },
    Partition {
        name: "aws-iso-f",
        prefix: "gov.ic.hci.csp",
        regions: &["us-isof-"],
        known: &["us-isof-east-1", "us-isof-south-1"],
    },
    Partition { name: "aws-eusc", prefix: "eu.amazonaws", regions: &["eusc-"], known: &["eusc-de-east-1"] },
];

impl Partition {
    /// The partition of a region: the one with the longest matching beginning, or else `aws`.
    pub(crate) fn of(region: &str) -> &'static Partition {
        let matched = |partition: &Partition| {
            let lengths = partition.regions.iter().filter(|start| region.starts_with(**start));
            lengths.map(|start| start.len()).max()
        };
        PARTITIONS.iter().rev().max_by_key(|partition| matched(partition)).unwrap_or(&PARTITIONS[0])
    }

    /// The beginning of the full name of an endpoint service. In China, some services keep that of the partition `aws`.
    pub(crate) fn service_prefix(&self, short: &str, gateway: bool) -> &'static str {
        if self.name == "aws-cn" && (gateway || !CHINESE.contains(&short)) {
            return PARTITIONS[0].prefix;
        }
        self.prefix
    }

    /// The beginnings of full names of endpoint services: those above, and the domains in reverse.
    pub(crate) fn service_prefixes() -> impl Iterator<Item = &'static str> {
        const REVERSED: [&str; 3] = ["gov.ic.c2s", "gov.sgov.sc2s", "uk.adc-e.cloud"];
        PARTITIONS.iter().map(|partition| partition.prefix).chain(REVERSED)
    }
}

/// The interface endpoints of China whose names begin with `cn.` (`describe-vpc-endpoint-services` of cn-north-1 and
/// cn-northwest-1, as listed in aws-cdk's `vpc-endpoint.ts`).
const CHINESE: [&str; 28] = [
    "account",
    "application-autoscaling",
    "athena",
    "autoscaling",
    "backup",
    "batch",
    "cloudformation",
    "ebs",
    "ec2",
    "ecr.api",
    "ecr.dkr",
    "eks",
    "elasticache",
    "elasticfilesystem",
    "execute-api",
    "fsx",
    "kinesis-streams",
    "lambda",
    "monitoring",
    "rds",
    "s3",
    "sagemaker.api",
    "sagemaker.runtime",
    "sqs",
    "states",
    "sts",
    "transfer",
    "xray",
];

/// Whether AWS had the region when this version was released.
pub(crate) fn is_known(region: &str) -> bool {
    PARTITIONS.iter().any(|partition| partition.known.contains(&region))
}

/// The known region that is most like `region`.
pub(crate) fn nearest(region: &str) -> Option<&'static str> {
    let known = PARTITIONS.iter().flat_map(|partition| partition.known);
    let best = known.map(|known| (distance(region, known), *known)).min()?;
    (best.0 <= 3).then_some(best.1)
}

/// The number of letters to insert, remove or replace to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region of each partition with `id` and `dnsSuffix` of botocore's `data/partitions.json`, and the full name of
    /// ECR's endpoint service.
    #[test]
    fn every_partition_has_its_names() {
        for (region, name, domain, prefix) in [
            ("us-east-1", "aws", "amazonaws.com", "com.amazonaws"),
            ("eu-west-1", "aws", "amazonaws.com", "com.amazonaws"),
            ("cn-north-1", "aws-cn", "amazonaws.com.cn", "cn.com.amazonaws"),
            ("us-gov-west-1", "aws-us-gov", "amazonaws.com", "com.amazonaws"),
            ("us-iso-east-1", "aws-iso", "c2s.ic.gov", "com.amazonaws"),
            ("us-isob-east-1", "aws-iso-b", "sc2s.sgov.gov", "com.amazonaws"),
            ("eu-isoe-west-1", "aws-iso-e", "cloud.adc-e.uk", "com.amazonaws"),
            ("us-isof-south-1", "aws-iso-f", "csp.hci.ic.gov", "gov.ic.hci.csp"),
            ("eusc-de-east-1", "aws-eusc", "amazonaws.eu", "eu.amazonaws"),
            ("mars-north-1", "aws", "amazonaws.com", "com.amazonaws"),
        ] {
            let partition = Partition::of(region);
            assert_eq!((partition.name, warren_wire::partition::domain(region)), (name, domain), "{region}");
            assert_eq!(partition.service_prefix("ecr.api", false), prefix, "{region}");
        }
        let china = Partition::of("cn-north-1");
        assert_eq!(china.service_prefix("s3", true), "com.amazonaws");
        assert_eq!(china.service_prefix("logs", false), "com.amazonaws");
        for partition in &PARTITIONS {
            for region in partition.known {
                assert_eq!(Partition::of(region), partition, "{region}");
            }
        }
    }

    #[test]
    fn a_mistyped_region_is_recognised() {
        assert!(is_known("us-east-1") && !is_known("us-east-9"));
        for (typed, meant) in
            [("us-est-1", "us-east-1"), ("eu-central1", "eu-central-1"), ("useast1", "us-east-1")]
        {
            assert_eq!(nearest(typed), Some(meant));
        }
        assert_eq!(nearest("mars-north-1"), None);
    }
}
