//! Attributes and state of `warren_address_plan`.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, Attribute, Nesting, Number, Schema, Type, model};

/// The default name of a plan.
pub(super) const DEFAULT_NAME: &str = "main";

/// Attributes by key.
pub(super) type Map<T> = Attr<BTreeMap<String, Attr<T>>>;

model! {
    /// State of an address plan.
    pub(crate) struct State {
        /// Distinguishes several plans of one fabric and owner.
        pub(crate) name: Attr<String>,
        /// Address space by pool.
        pub(crate) pools: Map<Vec<Attr<String>>>,
        /// Excluded ranges by what uses them.
        pub(crate) reserved: Map<Vec<Attr<String>>>,
        /// Requested networks by key.
        pub(crate) networks: Map<Network>,
        /// Paths whose ranges may move.
        pub(crate) acknowledge_renumbering: Attr<Vec<Attr<String>>>,
        /// Ranges by path.
        pub(crate) cidrs: Map<String>,
        /// The planned networks by key.
        pub(crate) network: Map<PlannedNetwork>,
        /// Free blocks by pool.
        pub(crate) free: Map<Vec<Attr<String>>>,
    }

    /// A requested network.
    pub(crate) struct Network {
        /// Exactly this range.
        pub(crate) cidr: Attr<String>,
        /// A block of this prefix length.
        pub(crate) prefix: Attr<Number>,
        /// Room for so many hosts.
        pub(crate) hosts: Attr<Number>,
        /// Factor on `hosts`.
        pub(crate) growth: Attr<Number>,
        /// The pool to allocate from.
        pub(crate) pool: Attr<String>,
        /// The pools to allocate from.
        pub(crate) pools: Attr<Vec<Attr<String>>>,
        /// The cloud whose limits apply.
        pub(crate) cloud: Attr<String>,
        /// Its subnets by key.
        pub(crate) subnets: Map<Subnet>,
    }

    /// A requested subnet.
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
        "Allocates non-overlapping ranges for networks and subnets from pools of address space. Every range is known at \
         plan time and stays the same when other networks are added or removed. The resource calls no cloud API.",
    )
    .attribute(Attribute::string("name").default(DEFAULT_NAME).replaces().describe(
        "Name of the address plan, unique within the fabric and owner. Changing this replaces the plan. Defaults to \
         `main`.",
    ))
    .attribute(Attribute::of("pools", ranges()).required().describe(
        "Address space to allocate from, by pool name: lists of IPv4 or IPv6 ranges in CIDR notation.",
    ))
    .attribute(Attribute::of("reserved", ranges()).optional().describe(
        "Ranges that no network may overlap, by the name of what uses them, such as `on_prem` or `docker`.",
    ))
    .attribute(
        Attribute::nested("networks", Nesting::Map, network())
            .required()
            .describe("Networks to allocate, by key. Each network sets exactly one of `cidr`, `prefix` and `hosts`. \
                       A key must not be empty or contain a slash."),
    )
    .attribute(Attribute::of("acknowledge_renumbering", Type::list(Type::String)).optional().describe(
        "Paths whose ranges may change, such as `aws` or `aws/public`; a path includes everything below it, and `*` \
         means all. A plan that would change any other range in the state fails.",
    ))
    .attribute(
        Attribute::of("cidrs", Type::map(Type::String))
            .computed()
            .describe("All ranges by path: `aws` for a network, `aws/public` for a subnet of it."),
    )
    .attribute(
        Attribute::nested("network", Nesting::Map, planned_network())
            .computed()
            .describe("Planned networks by key, with their subnets, such as \
                       `network[\"aws\"].subnets[\"public\"].cidr`."),
    )
    .attribute(
        Attribute::of("free", ranges())
            .computed()
            .describe("Free address space by pool name, as the fewest possible CIDR blocks."),
    )
}

fn size(hosts: &str) -> Vec<Attribute> {
    vec![
        Attribute::string("cidr").optional().describe("Fixed range in CIDR notation."),
        Attribute::number("prefix")
            .optional()
            .describe("Prefix length of the block to allocate: 0 to 32 for IPv4, 0 to 128 for IPv6."),
        Attribute::number("hosts").optional().describe(hosts),
        Attribute::number("growth").optional().describe(
            "Factor applied to `hosts` to leave room for growth, `1.0` to `1000.0`. Defaults to `1.0`.",
        ),
    ]
}

fn network() -> Vec<Attribute> {
    let mut attributes = size(
        "Number of hosts, 1 or more. Allocates the smallest block with room for the hosts, the addresses that the \
         cloud reserves, and all subnets.",
    );
    attributes.extend([
        Attribute::string("pool")
            .optional()
            .describe("Pool to allocate the network from. Conflicts with `pools`."),
        Attribute::of("pools", Type::list(Type::String))
            .optional()
            .describe("Pools to allocate the network from. Conflicts with `pool`."),
        Attribute::string("cloud").optional().describe(
            "Cloud whose limits and reserved addresses apply: `aws`, `gcp` or `overlay`. Without it, no \
                       cloud limits are checked.",
        ),
        Attribute::nested("subnets", Nesting::Map, subnet()).optional().describe(
            "Subnets of the network, by key. Each subnet sets exactly one of `cidr`, `prefix` and `hosts`.",
        ),
    ]);
    attributes
}

fn subnet() -> Vec<Attribute> {
    size(
        "Number of hosts, 1 or more. Allocates the smallest block with room for the hosts and the addresses that the \
         cloud reserves.",
    )
}

fn planned_network() -> Vec<Attribute> {
    let mut attributes = planned();
    attributes.push(
        Attribute::nested("subnets", Nesting::Map, planned()).computed().describe("Planned subnets by key."),
    );
    attributes
}

fn planned() -> Vec<Attribute> {
    vec![
        Attribute::string("cidr").computed().describe("Range in CIDR notation."),
        Attribute::number("usable_hosts").computed().describe(
            "Number of addresses available to hosts: the size of the range minus the addresses that the \
                       cloud reserves.",
        ),
    ]
}
