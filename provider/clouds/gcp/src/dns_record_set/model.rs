//! The schema and state of `warren_gcp_dns_record_set`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Diagnostic, Diagnostics, Path, Resource, Value};
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::common::{GcpObject, Naming, Part, Unmarked};
use crate::dns;
use crate::link::ZoneRef;

/// Manages the records of one name and type in a zone of Cloud DNS.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_dns_record_set",
    noun = "record set",
    scope = "zone",
    id = "`projects/PROJECT/managedZones/ZONE/rrsets/NAME/TYPE`, the same as in hashicorp/google"
)]
pub(crate) struct RecordSet {
    #[attr(flatten)]
    pub(crate) object: GcpObject<Unmarked, RecordName, Part>,
    /// ID of the zone, from this provider or from hashicorp/google. Changing this replaces the record set.
    #[attr(required, replaces)]
    pub(crate) zone: Attr<ZoneRef>,
    /// Type of the records: `A`, `AAAA`, `CNAME`, `MX`, `NS`, `PTR`, `SRV` or `TXT`. Changing this replaces the record
    /// set.
    #[attr(required, replaces)]
    pub(crate) r#type: Attr<RecordType>,
    /// Time in seconds for which resolvers may cache the records, 0 to 2147483647. Updated in place. Defaults to `300`.
    #[attr(default = 300, validate = between(0, i32::MAX))]
    pub(crate) ttl: Attr<i32>,
    /// Data of the records: IPv4 addresses for `A`, IPv6 addresses for `AAAA`, one name with a final dot for `CNAME`, and
    /// texts in double quotes for `TXT`. Updated in place.
    #[attr(required)]
    pub(crate) rrdatas: Texts,
}

/// The type of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum RecordType {
    #[choice("A")]
    A,
    #[choice("AAAA")]
    Aaaa,
    #[choice("CNAME")]
    Cname,
    #[choice("MX")]
    Mx,
    #[choice("NS")]
    Ns,
    #[choice("PTR")]
    Ptr,
    #[choice("SRV")]
    Srv,
    #[choice("TXT")]
    Txt,
}

/// The name of a record, which may be a wildcard.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecordName;

impl Naming for RecordName {
    const DESCRIPTION: &'static str = "DNS name of the records, in lowercase and with a final dot, such as \
                                       `private.googleapis.com.`. A first label `*` matches all names that have no \
                                       records of their own. Changing this replaces the record set.";

    fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
        let name = value.as_str().unwrap_or_default();
        if !dns::is_name(name) {
            diagnostics.error_at(
                path.clone(),
                "Invalid DNS name",
                format!(
                    "{name:?} is not the name of a record. Write it in lowercase and with a final dot, such as \
                     `private.googleapis.com.`."
                ),
            );
        }
    }
}

impl HasShared for RecordSet {
    type Shared = GcpObject<Unmarked, RecordName, Part>;
}

/// The ID of the records of a zone with this name and type.
pub(super) fn id(zone: &ZoneRef, name: &str, r#type: RecordType) -> String {
    format!("{}/rrsets/{name}/{}", zone.id(), r#type.as_str())
}

/// A model with the ID and its parts, for the next read.
pub(super) fn imported(text: &str) -> Result<RecordSet, Diagnostics> {
    let parts: Vec<&str> = text.split('/').collect();
    let parsed = match parts[..] {
        ["projects", project, "managedZones", zone, "rrsets", name, r#type]
        | [project, zone, name, r#type] => {
            let zone = format!("projects/{project}/managedZones/{zone}").parse::<ZoneRef>();
            zone.ok().zip(r#type.parse::<RecordType>().ok()).map(|(zone, r#type)| (zone, name, r#type))
        }
        _ => None,
    };
    let Some((zone, name, r#type)) = parsed else {
        return Err(Diagnostic::error(
            "Invalid record set ID",
            format!(
                "{text:?} is not the ID of a record set. Use `projects/PROJECT/managedZones/ZONE/rrsets/NAME/TYPE` \
                 or `PROJECT/ZONE/NAME/TYPE`."
            ),
        )
        .into());
    };
    let id = id(&zone, name, r#type);
    let object = GcpObject { name: name.into(), id: id.into(), ..GcpObject::default() };
    Ok(RecordSet { object, zone: zone.into(), r#type: r#type.into(), ..RecordSet::default() })
}
