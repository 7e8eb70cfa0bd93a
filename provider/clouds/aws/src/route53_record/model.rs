//! `warren_aws_route53_record`: schema and state.

use std::fmt::Debug;

use tf_provider_rs::validators::{between, length_between, size_at_least};
use tf_provider_rs::{Attr, Choice, Object, Resource};
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::common::{AwsPart, Global};
use crate::ids::ZoneId;
use crate::route53::check_name;

/// Manages the records of one name and type in a hosted zone, or an alias for an AWS resource such as an interface
/// endpoint.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_route53_record", noun = "record, `ZONE_NAME_TYPE`")]
pub(crate) struct Record {
    #[attr(flatten)]
    pub(crate) part: AwsPart<Global>,
    /// ID of the zone. Changing this replaces the record.
    #[attr(required, replaces)]
    pub(crate) zone_id: Attr<ZoneId>,
    /// Fully qualified name, which is the domain of the zone or below it. The first label may be `*`, which stands for
    /// any names that have no record of their own. Case and a final dot make no difference. Changing this to another
    /// name replaces the record.
    #[attr(required, replaces, validate = check_name)]
    pub(crate) name: Attr<String>,
    /// Type of the record. Changing this replaces the record.
    #[attr(required, replaces)]
    pub(crate) r#type: Attr<RecordType>,
    /// Time in seconds for which resolvers may cache the record, 0 to 2147483647. Required with `records`. Updated in
    /// place.
    #[attr(optional, validate = between(0, 2_147_483_647))]
    pub(crate) ttl: Attr<i64>,
    /// Values, at least one, such as `["10.0.0.5"]`. `TXT` values are in double quotes. Set exactly one of `records` and
    /// `alias`. Updated in place.
    #[attr(optional, validate = size_at_least(1))]
    pub(crate) records: Texts,
    /// AWS resource whose addresses answer for the name. The type must be `A` or `AAAA` for interface endpoints. Updated
    /// in place.
    #[attr(optional)]
    pub(crate) alias: Attr<Alias>,
}

/// The target of an alias.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Alias {
    /// DNS name of the target, such as `dns_entries[0].dns_name` of a `warren_aws_vpc_endpoint`.
    #[attr(required, validate = check_name)]
    pub(crate) dns_name: Attr<String>,
    /// ID of the hosted zone of the target, such as `dns_entries[0].hosted_zone_id` of a `warren_aws_vpc_endpoint`.
    #[attr(required, validate = length_between(1, 32))]
    pub(crate) zone_id: Attr<String>,
    /// Whether the alias answers only while its target is healthy. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) evaluate_target_health: Attr<bool>,
}

/// A type of record that private zones support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum RecordType {
    #[choice("A")]
    A,
    #[choice("AAAA")]
    Aaaa,
    #[choice("CAA")]
    Caa,
    #[choice("CNAME")]
    Cname,
    #[choice("HTTPS")]
    Https,
    #[choice("MX")]
    Mx,
    #[choice("NAPTR")]
    Naptr,
    #[choice("NS")]
    Ns,
    #[choice("PTR")]
    Ptr,
    #[choice("SRV")]
    Srv,
    #[choice("SVCB")]
    Svcb,
    #[choice("TXT")]
    Txt,
}

impl HasShared for Record {
    type Shared = AwsPart<Global>;
}
