//! The rules and their explanations.

use serde::{Serialize, Serializer};
use std::{fmt, str::FromStr};

macro_rules! rules {
    ($($variant:ident $id:literal $short:literal $long:literal;)*) => {
        /// The rule that a finding reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $short] $variant,)* }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)*];

            /// The stable name.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$variant => $id,)* }
            }

            /// Summary in one line.
            pub fn short(self) -> &'static str {
                match self { $(Rule::$variant => $short,)* }
            }

            /// Explanation, and what to do.
            pub fn long(self) -> &'static str {
                match self { $(Rule::$variant => $long,)* }
            }
        }
    };
}

rules! {
    Overlap "overlap" "Two networks use or reserve the same addresses."
        "Inside one fabric, every address belongs to one network: traffic cannot be routed between two networks that share addresses. Entries of address plans and claims, and networks that the files connect, belong to one fabric. If nothing in the files connects two networks, the finding is a warning: they cannot be connected later. `--connected`, `--unconnected` and `warren.toml` change this. Move one of the networks; the hint names the nearest free range of the same size.";
    SubnetOverlap "subnet-overlap" "Two subnets of one network use the same addresses."
        "The cloud rejects the second subnet. Move one of them to a free part of the network.";
    OutsideParent "outside-parent" "A subnet is outside the ranges of its network."
        "The cloud rejects a subnet that no range of its network contains. Move the subnet, or add a secondary range to the network. For a subnet that already exists, this is a warning: its network must have a range that is not in the files.";
    ForeignReservation "foreign-reservation" "A network uses a range that another owner reserved."
        "An entry of an address plan, or a claim, reserves its range for its owner. If you own both files, set the same owner for them: `--owner NAME=FILE` for each file. Otherwise, choose a range that your own address plan reserves.";
    BeyondReservation "beyond-reservation" "A network is larger than the range that its owner reserved for it."
        "The network contains a range that the address plan reserves for something smaller. Shrink the network, or enlarge the entry of the address plan.";
    Reserved "reserved" "A network uses a reserved range."
        "Address plans list ranges that no network may use under `reserved`, such as on-premises networks or Docker's default bridge. The ranges of Kubernetes services (Amazon EKS) and of AWS Client VPN clients count as reserved, too. Choose another range.";
    HostBits "host-bits" "A range has bits set after its prefix length."
        "10.0.1.5/16 is an address in a network, not a network, and clouds reject it. The hint names the network; the check continues with that range.";
    BadCidr "bad-cidr" "A value is not a range in CIDR notation."
        "Write an address and a prefix length, such as 10.0.0.0/16 or fd00::/48.";
    Size "size" "A range is too large or too small for its cloud."
        "AWS allows /16 to /28 for a VPC and its subnets. Google Cloud allows /8 to /29 for a subnet. Choose a prefix length within these limits.";
    Forbidden "forbidden" "A range overlaps a block that its cloud does not allow."
        "Clouds do not allow loopback, link-local and multicast addresses, and some blocks that they use themselves. Choose another range.";
    ServiceBlock "service-block" "A range overlaps a block that services of its cloud use."
        "The cloud accepts the range, but something will not work. For example, managed notebooks that use 172.17.0.0/16 for Docker's bridge cannot reach a network with that range. Choose another range unless you do not use these services.";
    Secondary "secondary" "A secondary range cannot be combined with the primary range of its VPC."
        "AWS restricts the ranges that can be added to a VPC, depending on the private block that contains its primary range. Choose another secondary range.";
    Peering "peering" "Two peered networks overlap."
        "The cloud rejects a peering of networks if any of their ranges overlap. Move one of the networks.";
    SiteRoute "site-route" "A static route to a site behind a VPN leads into the range of a network."
        "Inside a VPC, its own range is more specific than any route, so its hosts never reach the site at these addresses, and networks behind the same transit gateway do not reach the VPC. Move the network, or translate the addresses of the site.";
    Infeasible "infeasible" "The networks of an address plan do not fit into their pools."
        "The message lists the smallest set of networks and reserved ranges that do not fit together. Enlarge the pool, shrink one of the networks, or move one to another pool.";
    Undecided "undecided" "The search for an address plan stopped without a result."
        "Within its limit, the search found neither an address plan nor a proof that none exists. Pin some of the networks, or let each network use one pool only.";
    BadRequest "bad-request" "An address plan contradicts itself."
        "For example, a network names a pool that does not exist, or has neither a pool nor a range. Correct the entry that the message names.";
    Policy "policy" "An assertion of a policy file does not hold."
        "A policy file states what must or must not be able to reach what. The finding lists the path hop by hop, or the reason why there is none. If part of the path is known only after apply, the finding is a warning.";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Rule::ALL.iter().find(|rule| rule.id() == text).copied().ok_or_else(|| {
            let ids: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
            format!("unknown rule; the rules are {}", ids.join(", "))
        })
    }
}
