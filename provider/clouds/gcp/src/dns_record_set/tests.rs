use tf_provider_rs::Attr;
use warren_managed::sets;

use super::model::RecordType;
use super::*;
use crate::dns_zone::Type;
use crate::memory::PlannedZone;

fn records(r#type: RecordType, datas: &[&str]) -> RecordSet {
    let rrdatas = sets::of(datas.iter().map(|data| (*data).to_owned()));
    RecordSet { r#type: r#type.into(), rrdatas, ..RecordSet::default() }
}

fn told(records: &RecordSet) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    check::records(records, &mut diagnostics);
    diagnostics.0.into_iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect()
}

#[test]
fn data_fits_the_type() {
    for (r#type, datas) in [
        (RecordType::A, &["199.36.153.8", "199.36.153.9"][..]),
        (RecordType::Aaaa, &["fd20::1"]),
        (RecordType::Cname, &["private.googleapis.com."]),
        (RecordType::Txt, &["\"v=1\""]),
        (RecordType::Mx, &["10 mail.example.com."]),
    ] {
        assert_eq!(told(&records(r#type, datas)), Vec::<String>::new());
    }
    assert_eq!(
        told(&RecordSet { rrdatas: Attr::Unknown, ..records(RecordType::A, &[]) }),
        Vec::<String>::new()
    );
    let wrong = [
        records(RecordType::A, &[]),
        records(RecordType::A, &["fd20::1"]),
        records(RecordType::Aaaa, &["10.0.0.1"]),
        records(RecordType::Cname, &["a.example.com.", "b.example.com."]),
        records(RecordType::Cname, &["private.googleapis.com"]),
        records(RecordType::Txt, &["v=1"]),
    ];
    let told: Vec<String> = wrong.iter().map(|records| told(records).join("\n")).collect();
    insta::assert_snapshot!(told.join("\n---\n"));
}

#[test]
fn a_record_is_in_its_zone() {
    let told = |name: &str, r#type| {
        let zone = PlannedZone { dns_name: "pkg.dev.".to_owned(), r#type };
        let mut diagnostics = Diagnostics::default();
        check::in_zone(name, &zone, &mut diagnostics);
        diagnostics.0.into_iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect::<Vec<_>>()
    };
    for name in ["pkg.dev.", "*.pkg.dev.", "us-docker.pkg.dev."] {
        assert_eq!(told(name, Some(Type::Records)), Vec::<String>::new(), "{name}");
        assert_eq!(told(name, None), Vec::<String>::new(), "{name}");
    }
    let wrong = [told("xpkg.dev.", None), told("pkg.dev.", Some(Type::Peering))].concat();
    insta::assert_snapshot!(wrong.join("\n---\n"));
}

#[test]
fn both_forms_of_an_id_are_imported() {
    let whole = "projects/acme-ml/managedZones/pkg-dev/rrsets/*.pkg.dev./CNAME";
    for id in [whole, "acme-ml/pkg-dev/*.pkg.dev./CNAME"] {
        let model = model::imported(id).unwrap();
        assert_eq!((model.object.id, model.object.name), (whole.into(), "*.pkg.dev.".into()));
        assert_eq!(model.r#type, RecordType::Cname.into());
        assert_eq!(model.zone.known().unwrap().id(), "projects/acme-ml/managedZones/pkg-dev");
    }
    for id in ["pkg.dev.", "acme-ml/pkg-dev/pkg.dev./SOA"] {
        assert!(model::imported(id).is_err(), "{id}");
    }
}
