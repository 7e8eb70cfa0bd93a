//! Checks of record sets at plan time, which Cloud DNS repeats.

use std::net::{Ipv4Addr, Ipv6Addr};

use tf_provider_rs::{Diagnostics, Path};
use warren_managed::sets;

use super::model::{RecordSet, RecordType};
use crate::dns;
use crate::dns_zone::Type;
use crate::memory::PlannedZone;

/// Reports data that does not fit the type.
pub(super) fn records(records: &RecordSet, diagnostics: &mut Diagnostics) {
    let Some(r#type) = records.r#type.known() else { return };
    let mut wrong = |summary: &str, detail: String| {
        diagnostics.error_at(Path::of("rrdatas"), summary, detail);
    };
    if sets::is_empty(&records.rrdatas) && records.rrdatas.is_known() {
        wrong(
            "Record set without records",
            "The set is empty. Add the data of at least one record.".to_owned(),
        );
    }
    if *r#type == RecordType::Cname && records.rrdatas.known().is_some_and(|datas| datas.len() > 1) {
        wrong("More than one CNAME", "A name has at most one CNAME. Keep one of them.".to_owned());
    }
    for data in sets::known(&records.rrdatas) {
        let expected = match r#type {
            RecordType::A if data.parse::<Ipv4Addr>().is_err() => "an IPv4 address, such as `199.36.153.8`",
            RecordType::Aaaa if data.parse::<Ipv6Addr>().is_err() => "an IPv6 address, such as `fd20::1`",
            RecordType::Cname | RecordType::Ns | RecordType::Ptr if !dns::is_name(&data) => {
                "a DNS name in lowercase with a final dot, such as `private.googleapis.com.`"
            }
            RecordType::Txt if !is_quoted(&data) => r#"texts in double quotes, such as `"\"v=1\""`"#,
            _ => continue,
        };
        wrong(
            "Invalid record data",
            format!("{data:?} is not valid for the type {}. Use {expected}.", r#type.as_str()),
        );
    }
}

/// Reports a record outside its zone, and one in a zone that has no records.
pub(super) fn in_zone(name: &str, zone: &PlannedZone, diagnostics: &mut Diagnostics) {
    let PlannedZone { dns_name, r#type } = zone;
    if name != dns_name && !name.ends_with(&format!(".{dns_name}")) {
        diagnostics.error_at(
            Path::of("name"),
            "Record outside its zone",
            format!("`{name}` is not in the zone of `{dns_name}`. Use a name that ends in `.{dns_name}`."),
        );
    }
    if r#type.is_some_and(|found| found != Type::Records) {
        diagnostics.error_at(
            Path::of("zone"),
            "Record in a zone without records",
            "The zone forwards queries or has another network resolve them, so its own records would never be used. \
             Use a zone without `forwarding_targets` and `peering_network`.",
        );
    }
}

fn is_quoted(data: &str) -> bool {
    data.len() >= 2 && data.starts_with('"') && data.ends_with('"')
}
