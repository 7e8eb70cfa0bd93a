//! Attributes and state of `warren_aws_security_group`.

use std::collections::BTreeSet;

use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};

use super::api::Found;
use super::rules;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_cidr::{Cloud, Family};
use warren_managed::{Timeouts, ranges};

model! {
    /// A security group.
    pub struct SecurityGroup {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `sg-..`.
        pub id: Attr<String>,
        /// The VPC.
        pub vpc_id: Attr<String>,
        /// What it is for.
        pub description: Attr<String>,
        /// AWS's name of the group.
        pub group_name: Attr<String>,
        /// What may come in.
        pub ingress: Attr<Vec<Rule>>,
        /// What may go out.
        pub egress: Attr<Vec<Rule>>,
        /// Whether rules may let the internet in.
        pub allow_public_ingress: Attr<bool>,
        /// Account id.
        pub owner_id: Attr<String>,
        /// Amazon resource name.
        pub arn: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }

    /// A rule: a protocol, its ports, and everybody it is for.
    pub struct Rule {
        /// `tcp`, `udp`, `icmp`, `icmpv6`, a number, or `-1` for all.
        pub protocol: Attr<String>,
        /// First port, or ICMP type.
        pub from_port: Attr<i64>,
        /// Last port, or ICMP code.
        pub to_port: Attr<i64>,
        /// IPv4 ranges.
        pub cidr_blocks: Attr<BTreeSet<Attr<String>>>,
        /// IPv6 ranges.
        pub ipv6_cidr_blocks: Attr<BTreeSet<Attr<String>>>,
        /// Managed prefix lists.
        pub prefix_list_ids: Attr<BTreeSet<Attr<String>>>,
        /// Members of these groups.
        pub security_group_ids: Attr<BTreeSet<Attr<String>>>,
        /// Members of this group.
        pub same_group: Attr<bool>,
        /// What it is for.
        pub description: Attr<String>,
    }
}

common!(SecurityGroup, "warren_aws_security_group");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A security group with all its rules: what is not listed is removed, also the rule that AWS adds to every \
         new group and that lets everything out. The internet is not let in unless `allow_public_ingress` is set.",
    )
    .attributes(common::head("security group"))
    .attributes([
        Attribute::string("vpc_id").required().replaces().describe("Id of the VPC. A change replaces the group."),
        Attribute::string("description")
            .default("Managed by Warren")
            .replaces()
            .validate(check_description)
            .describe(
                "What the group is for, 1 to 255 characters of `a-z A-Z 0-9`, space and `._-:/()#,@[]+=&;{}!$*`. AWS \
                 cannot change it: a change replaces the group. Default: `Managed by Warren`.",
            ),
        Attribute::string("group_name").computed().keeps().describe(
            "AWS's name of the group: `name`, with a suffix where a group of the VPC has that name already. Stays when \
             `name` changes.",
        ),
        rule("ingress", "source", "come in"),
        rule("egress", "destination", "go out"),
        Attribute::bool("allow_public_ingress").default(false).describe(
            "Whether `ingress` may name `0.0.0.0/0`, `::/0` or another large part of the internet (shorter than `/8`, \
             IPv6 `/16`); refused otherwise. Default: `false`.",
        ),
        Attribute::string("owner_id").computed().keeps().describe("Id of the account, 12 digits."),
        Attribute::string("arn").computed().keeps().describe("Amazon resource name."),
    ])
    .attributes(common::tail())
}

fn rule(name: &str, peer: &str, what: &str) -> Attribute {
    Attribute::nested(
        name,
        Nesting::Set,
        [
            Attribute::string("protocol").required().validate(check_protocol).describe(
                "`tcp`, `udp`, `icmp`, `icmpv6`, another protocol's number (0 to 255), or `-1` for all.",
            ),
            Attribute::number("from_port")
                .optional()
                .validate(check_whole)
                .describe("First port, 0 to 65535; for ICMP the type, -1 for all."),
            Attribute::number("to_port")
                .optional()
                .validate(check_whole)
                .describe("Last port, 0 to 65535; for ICMP the code, -1 for all."),
            Attribute::of("cidr_blocks", Type::set(Type::String))
                .optional()
                .validate(ranges::each(ranges::any(Cloud::Aws, Family::V4)))
                .describe(&format!("IPv4 ranges as {peer}.")),
            Attribute::of("ipv6_cidr_blocks", Type::set(Type::String))
                .optional()
                .validate(ranges::each(ranges::any(Cloud::Aws, Family::V6)))
                .describe(&format!("IPv6 ranges as {peer}.")),
            Attribute::of("prefix_list_ids", Type::set(Type::String))
                .optional()
                .describe(&format!("Ids of managed prefix lists as {peer}.")),
            Attribute::of("security_group_ids", Type::set(Type::String))
                .optional()
                .describe(&format!("Ids of security groups, whose members are the {peer}.")),
            Attribute::bool("same_group")
                .default(false)
                .describe(&format!("Whether members of this group are a {peer}. Default: `false`.")),
            Attribute::string("description")
                .optional()
                .validate(check_description)
                .describe("What the rule is for, 1 to 255 characters as in the group's `description`."),
        ],
    )
    .optional()
    .describe(&format!("What may {what}; nothing when not set."))
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &SecurityGroup) -> SecurityGroup {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.vpc_id = found.vpc_id.into();
    state.description = found.description.into();
    state.group_name = found.group_name.into();
    let rules = |grants, before: &Attr<Vec<Rule>>| {
        let known = before.known().map(Vec::as_slice).unwrap_or_default();
        let rules = rules::grouped(grants, known, &found.id);
        if rules.is_empty() && !before.is_known() { Attr::Null } else { Attr::Known(rules) }
    };
    state.ingress = rules(found.ingress, &before.ingress);
    state.egress = rules(found.egress, &before.egress);
    if !state.allow_public_ingress.is_known() {
        state.allow_public_ingress = false.into();
    }
    state.arn = found.arn.into();
    state.owner_id = found.owner.into();
    state.id = found.id.into();
    state
}

fn check_protocol(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let number = text.parse::<u8>().is_ok_and(|number| number.to_string() == text);
    let named = [("1", "icmp"), ("6", "tcp"), ("17", "udp"), ("58", "icmpv6")];
    if let Some((number, name)) = named.iter().find(|(number, _)| *number == text) {
        diagnostics.error_at(
            path.clone(),
            "Protocol with a name",
            format!("AWS calls protocol {number} `{name}`: write the name."),
        );
    } else if !number && !["tcp", "udp", "icmp", "icmpv6", "-1"].contains(&text) {
        diagnostics.error_at(
            path.clone(),
            "Unknown protocol",
            format!("{text:?} is not `tcp`, `udp`, `icmp`, `icmpv6`, a number of 0 to 255, or `-1` for all."),
        );
    }
}

fn check_whole(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let whole = match value {
        Value::Number(number) => number.to_i64().is_some_and(|port| (-1..=65535).contains(&port)),
        _ => false,
    };
    if !whole {
        diagnostics.error_at(path.clone(), "Port out of range", "A port is a whole number of 0 to 65535.");
    }
}

fn check_description(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_alphanumeric() || " ._-:/()#,@[]+=&;{}!$*".contains(c);
    if !(1..=255).contains(&text.len()) || !text.chars().all(allowed) {
        diagnostics.error_at(
            path.clone(),
            "Description not possible",
            "A description has 1 to 255 characters of `a-z A-Z 0-9`, space and `._-:/()#,@[]+=&;{}!$*`.",
        );
    }
}
