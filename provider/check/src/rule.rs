//! The rules, by their stable names.

use serde::{Serialize, Serializer};
use std::{fmt, str::FromStr};

macro_rules! rules {
    ($($variant:ident $id:literal $short:literal $long:literal;)*) => {
        /// What a finding is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $short] $variant,)* }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)*];

            /// The stable name.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$variant => $id,)* }
            }

            /// One line.
            pub fn short(self) -> &'static str {
                match self { $(Rule::$variant => $short,)* }
            }

            /// What it means and what to do.
            pub fn long(self) -> &'static str {
                match self { $(Rule::$variant => $long,)* }
            }
        }
    };
}

rules! {
    Overlap "overlap" "Two networks have the same addresses."
        "Inside one fabric every address belongs to one network; two networks that share addresses cannot be routed to each other. Everything given to one run counts as one fabric. Move one of them: the hint names the nearest free range of the same size.";
    SubnetOverlap "subnet-overlap" "Two subnets of one network have the same addresses."
        "The cloud refuses the second subnet. Move one of them to a free part of the network.";
    OutsideParent "outside-parent" "A subnet lies outside its network."
        "No range of the network contains the subnet, and the cloud refuses it. Move the subnet, or add a secondary range to the network. For a subnet that exists already it is a warning: its network must have a range that the inputs do not show.";
    ForeignReservation "foreign-reservation" "A network lies in a range that another owner reserved."
        "An entry of an address plan, or a claim, reserves its range for its owner. If both are yours, say so: --owner NAME=FILE for each file with the same name. Else choose a range of your own reservation.";
    BeyondReservation "beyond-reservation" "A network reaches beyond its owner's own reservation."
        "The network contains a range that the address plan holds for something smaller. Make the network smaller or the entry larger.";
    Reserved "reserved" "A range that nothing may touch is used."
        "Address plans name such ranges under `reserved`: on-premises networks, Docker's bridge. Choose another range.";
    HostBits "host-bits" "A range has bits set beyond its prefix length."
        "10.0.1.5/16 is an address, not a network; clouds refuse it. The message names the network that was probably meant, and the check goes on with it.";
    BadCidr "bad-cidr" "A text is not a CIDR range."
        "Write an address and a prefix length: 10.0.0.0/16 or fd00::/48.";
    Size "size" "A range is too large or too small for its cloud."
        "AWS takes /16 to /28 for a VPC and its subnets; Google takes /8 to /29 for a subnet.";
    Forbidden "forbidden" "A range touches a block that its cloud forbids."
        "Loopback, link-local, multicast and some blocks of the cloud itself cannot be used.";
    ServiceBlock "service-block" "A range touches a block that services of its cloud use."
        "The cloud takes the range, but something will not work, such as Docker's bridge 172.17.0.0/16 inside managed notebooks.";
    Secondary "secondary" "A secondary range does not go with the primary one."
        "AWS restricts which ranges can be added to a VPC, by the private block that its primary range is in.";
    Peering "peering" "Two networks that overlap are peered."
        "The cloud refuses the peering of networks that overlap in any of their ranges.";
    Infeasible "infeasible" "The demands of an address plan do not fit together."
        "The message lists the smallest set of demands that cannot hold together. Enlarge the pool, make one of them smaller, or move one to another pool.";
    Undecided "undecided" "The solver hit its bound."
        "Neither a plan nor a proof that there is none was found. Pin some networks, or give each network one pool.";
    BadRequest "bad-request" "An address plan contradicts itself."
        "A pool that does not exist, a network without pool and range, a size that its cloud cannot hold.";
    Policy "policy" "An assertion of a policy file does not hold."
        "A file of --policy says who must or must not reach whom. The finding tells the path, hop by hop, or why there is none. Where a part of the path is known only after apply it is a warning.";
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
            format!("no such rule; the rules are {}", ids.join(", "))
        })
    }
}
