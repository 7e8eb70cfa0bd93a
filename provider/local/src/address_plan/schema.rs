//! Attributes and state of `warren_address_plan`.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, Attribute, Nesting, Number, Schema, Type, model};

/// The name that a plan has when the user gives none.
pub(super) const DEFAULT_NAME: &str = "main";

/// Attributes by key.
pub(super) type Map<T> = Attr<BTreeMap<String, Attr<T>>>;

model! {
    /// State of an address plan.
    pub(crate) struct State {
        /// Tells several plans of one fabric and owner apart.
        pub(crate) name: Attr<String>,
        /// Address space by pool.
        pub(crate) pools: Map<Vec<Attr<String>>>,
        /// Excluded ranges by what uses them.
        pub(crate) reserved: Map<Vec<Attr<String>>>,
        /// What is asked for, by key.
        pub(crate) networks: Map<Network>,
        /// Paths that may move.
        pub(crate) acknowledge_renumbering: Attr<Vec<Attr<String>>>,
        /// Ranges by path.
        pub(crate) cidrs: Map<String>,
        /// The planned networks by key.
        pub(crate) network: Map<PlannedNetwork>,
        /// Free blocks by pool.
        pub(crate) free: Map<Vec<Attr<String>>>,
    }

    /// A network as asked for.
    pub(crate) struct Network {
        /// Exactly this range.
        pub(crate) cidr: Attr<String>,
        /// A block of this prefix length.
        pub(crate) prefix: Attr<Number>,
        /// Room for so many hosts.
        pub(crate) hosts: Attr<Number>,
        /// Factor on `hosts`.
        pub(crate) growth: Attr<Number>,
        /// The pool to take it from.
        pub(crate) pool: Attr<String>,
        /// The pools to take it from.
        pub(crate) pools: Attr<Vec<Attr<String>>>,
        /// Whose limits apply.
        pub(crate) cloud: Attr<String>,
        /// Its subnets by key.
        pub(crate) subnets: Map<Subnet>,
    }

    /// A subnet as asked for.
    pub(crate) struct Subnet {
        /// Exactly this range.
        pub(crate) cidr: Attr<String>,
        /// A block of this prefix length.
        pub(crate) prefix: Attr<Number>,
        /// Room for so many hosts.
        pub(crate) hosts: Attr<Number>,
        /// Factor on `hosts`.
        pub(crate) growth: Attr<Number>,
    }

    /// A planned network.
    pub(crate) struct PlannedNetwork {
        /// Its range.
        pub(crate) cidr: Attr<String>,
        /// Addresses for hosts, less what the cloud keeps.
        pub(crate) usable_hosts: Attr<Number>,
        /// Its subnets by key.
        pub(crate) subnets: Map<PlannedSubnet>,
    }

    /// A planned subnet.
    pub(crate) struct PlannedSubnet {
        /// Its range.
        pub(crate) cidr: Attr<String>,
        /// Addresses for hosts, less what the cloud keeps.
        pub(crate) usable_hosts: Attr<Number>,
    }
}

/// The schema.
pub(super) fn schema() -> Schema {
    let ranges = || Type::map(Type::list(Type::String));
    Schema::new(
        "Address space, divided: every range is known at plan, stays where it is when others come and go, and \
         overlaps nothing.",
    )
    .attribute(Attribute::string("name").default(DEFAULT_NAME).replaces().describe(
        "Tells several address plans of one fabric and owner apart; `main` unless set.",
    ))
    .attribute(Attribute::of("pools", ranges()).required().describe(
        "Address space by pool: lists of IPv4 or IPv6 ranges in CIDR notation.",
    ))
    .attribute(Attribute::of("reserved", ranges()).optional().describe(
        "Ranges that no network may touch, by the name of what uses them, such as `on_prem` or `docker`.",
    ))
    .attribute(
        Attribute::nested("networks", Nesting::Map, network())
            .required()
            .describe("The networks by key. Exactly one of `cidr`, `prefix` and `hosts` says how large each is."),
    )
    .attribute(Attribute::of("acknowledge_renumbering", Type::list(Type::String)).optional().describe(
        "Paths such as `aws` or `aws/public` whose range may change, with everything below them; `*` for all. \
         Without it a plan that moves a range which is in the state is refused.",
    ))
    .attribute(
        Attribute::of("cidrs", Type::map(Type::String))
            .computed()
            .describe("Every range by path: `aws` for a network, `aws/public` for its subnet."),
    )
    .attribute(
        Attribute::nested("network", Nesting::Map, planned_network())
            .computed()
            .describe("Every network by key, with its subnets: `network[\"aws\"].subnets[\"public\"].cidr`."),
    )
    .attribute(
        Attribute::of("free", ranges())
            .computed()
            .describe("What is left of every pool: as few and large blocks as possible, by pool."),
    )
}

fn size() -> Vec<Attribute> {
    vec![
        Attribute::string("cidr").optional().describe("Exactly this range, in CIDR notation."),
        Attribute::number("prefix")
            .optional()
            .describe("A block of this prefix length: 0 to 32 for IPv4, 0 to 128 for IPv6."),
        Attribute::number("hosts").optional().describe(
            "The smallest block that holds so many hosts (1 or more), what the cloud keeps for itself, and all \
             subnets.",
        ),
        Attribute::number("growth")
            .optional()
            .describe("Room to grow: a factor from 1.0 (none; the default) to 1000.0 on `hosts`."),
    ]
}

fn network() -> Vec<Attribute> {
    let mut attributes = size();
    attributes.extend([
        Attribute::string("pool").optional().describe("The pool that it is taken from."),
        Attribute::of("pools", Type::list(Type::String))
            .optional()
            .describe("The pools that it may be taken from, in place of `pool`."),
        Attribute::string("cloud")
            .optional()
            .describe("Whose limits apply: `aws`, `gcp` or `overlay`. Nothing is checked unless set."),
        Attribute::nested("subnets", Nesting::Map, size()).optional().describe(
            "Its subnets by key. Exactly one of `cidr`, `prefix` and `hosts` says how large each is.",
        ),
    ]);
    attributes
}

fn planned_network() -> Vec<Attribute> {
    let mut attributes = planned();
    attributes.push(
        Attribute::nested("subnets", Nesting::Map, planned()).computed().describe("Its subnets by key."),
    );
    attributes
}

fn planned() -> Vec<Attribute> {
    vec![
        Attribute::string("cidr").computed().describe("Its range, in CIDR notation."),
        Attribute::number("usable_hosts")
            .computed()
            .describe("Addresses for hosts: the size of the range less what the cloud keeps for itself."),
    ]
}
