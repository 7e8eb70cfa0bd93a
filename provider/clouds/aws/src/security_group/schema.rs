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
        /// Purpose.
        pub description: Attr<String>,
        /// Name of the group in AWS.
        pub group_name: Attr<String>,
        /// Inbound rules.
        pub ingress: Attr<Vec<Rule>>,
        /// Outbound rules.
        pub egress: Attr<Vec<Rule>>,
        /// Whether rules may admit the internet.
        pub allow_public_ingress: Attr<bool>,
        /// Account ID.
        pub owner_id: Attr<String>,
        /// Amazon Resource Name.
        pub arn: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }

    /// A rule: a protocol, its ports and its peers.
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
        /// Purpose.
        pub description: Attr<String>,
    }
}

common!(SecurityGroup, "warren_aws_security_group");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a security group with all of its rules. Rules that are not listed are removed, including \
         the rule that AWS adds to every new group to allow all outbound traffic. Rules cannot admit the \
         internet unless `allow_public_ingress` is `true`.",
    )
    .attributes(common::head("security group"))
    .attributes([
        Attribute::string("vpc_id")
            .required()
            .replaces()
            .describe("ID of the VPC. Changing this replaces the security group."),
        Attribute::string("description")
            .default("Managed by Warren")
            .replaces()
            .validate(check_description)
            .describe(
                "Purpose of the group, 1 to 255 characters from `a-z A-Z 0-9`, space and \
                 `._-:/()#,@[]+=&;{}!$*`. AWS cannot update it, so changing this replaces the security \
                 group. Defaults to `Managed by Warren`.",
            ),
        Attribute::string("group_name").computed().keeps().describe(
            "Name of the group in AWS: `name`, with the prefix `g-` if it begins with `sg-`, and with a \
             random suffix if another group in the VPC already has that name. Stays the same when `name` \
             changes.",
        ),
        rule("ingress", "source", "inbound"),
        rule("egress", "destination", "outbound"),
        Attribute::bool("allow_public_ingress").default(false).describe(
            "Whether `ingress` may contain `0.0.0.0/0`, `::/0` or another large part of the internet \
             (IPv4 ranges shorter than `/8`, IPv6 ranges shorter than `/16`). Such rules are rejected \
             otherwise. Defaults to `false`.",
        ),
        Attribute::string("owner_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account that owns the security group."),
        Attribute::string("arn")
            .computed()
            .keeps()
            .describe("Amazon Resource Name (ARN) of the security group."),
    ])
    .attributes(common::tail())
}

fn rule(name: &str, peer: &str, what: &str) -> Attribute {
    Attribute::nested(
        name,
        Nesting::Set,
        [
            Attribute::string("protocol").required().validate(check_protocol).describe(
                "Protocol: `tcp`, `udp`, `icmp`, `icmpv6`, the number of another protocol (0 to 255), or \
                 `-1` for all protocols.",
            ),
            Attribute::number("from_port").optional().validate(check_whole).describe(
                "First port of the range, 0 to 65535. For ICMP, the type, or -1 for all types. Required \
                 for `tcp`, `udp`, `icmp` and `icmpv6`.",
            ),
            Attribute::number("to_port").optional().validate(check_whole).describe(
                "Last port of the range, 0 to 65535. For ICMP, the code, or -1 for all codes. Required \
                 for `tcp`, `udp`, `icmp` and `icmpv6`.",
            ),
            Attribute::of("cidr_blocks", Type::set(Type::String))
                .optional()
                .validate(ranges::each(ranges::any(Cloud::Aws, Family::V4)))
                .describe(&format!("IPv4 ranges in CIDR notation as the {peer}.")),
            Attribute::of("ipv6_cidr_blocks", Type::set(Type::String))
                .optional()
                .validate(ranges::each(ranges::any(Cloud::Aws, Family::V6)))
                .describe(&format!("IPv6 ranges in CIDR notation as the {peer}.")),
            Attribute::of("prefix_list_ids", Type::set(Type::String))
                .optional()
                .describe(&format!("IDs of managed prefix lists as the {peer}.")),
            Attribute::of("security_group_ids", Type::set(Type::String))
                .optional()
                .describe(&format!("IDs of security groups whose network interfaces are the {peer}.")),
            Attribute::bool("same_group").default(false).describe(&format!(
                "Whether the network interfaces in this group are a {peer}. Defaults to `false`."
            )),
            Attribute::string("description").optional().validate(check_description).describe(
                "Purpose of the rule, 1 to 255 characters from the same set as the `description` of the \
                 group.",
            ),
        ],
    )
    .optional()
    .describe(&format!(
        "Rules for {what} traffic. Each rule needs at least one {peer}. If not set, no {what} traffic is \
         allowed. Updated in place."
    ))
}

/// The state of the object that was found, based on `before`.
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
            "Protocol number with a name",
            format!("AWS reports protocol {number} as `{name}`. Use `{name}` instead of the number."),
        );
    } else if !number && !["tcp", "udp", "icmp", "icmpv6", "-1"].contains(&text) {
        diagnostics.error_at(
            path.clone(),
            "Unknown protocol",
            format!(
                "{text:?} is not a protocol. Use `tcp`, `udp`, `icmp`, `icmpv6`, a number from 0 to 255, \
                 or `-1` for all protocols."
            ),
        );
    }
}

fn check_whole(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let whole = match value {
        Value::Number(number) => number.to_i64().is_some_and(|port| (-1..=65535).contains(&port)),
        _ => false,
    };
    if !whole {
        diagnostics.error_at(
            path.clone(),
            "Port out of range",
            "The value is not a port number. Use a whole number from 0 to 65535, or -1 for all ICMP types \
             or codes.",
        );
    }
}

fn check_description(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_alphanumeric() || " ._-:/()#,@[]+=&;{}!$*".contains(c);
    if !(1..=255).contains(&text.len()) || !text.chars().all(allowed) {
        diagnostics.error_at(
            path.clone(),
            "Invalid description",
            "The description is empty, too long, or contains characters that AWS does not accept. Use 1 \
             to 255 characters from `a-z A-Z 0-9`, space and `._-:/()#,@[]+=&;{}!$*`.",
        );
    }
}
