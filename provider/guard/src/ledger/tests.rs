use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::*;
use crate::{Key, Location, Parent, PlannedResource, Role};

fn open(path: &Path) -> Opened {
    Opened::open(path.to_owned()).unwrap()
}

fn planned(name: &str) -> Record {
    let net = "10.0.0.0/16".parse().unwrap();
    let key = Key::new("warren_aws_vpc", name).at(Location::aws("123456789012", "us-east-1"));
    let parent = Parent::of("warren_aws_vpc", None).within(vec![net]);
    let path = tf_provider_rs::Path::of("ranges").key("data");
    let resource = PlannedResource::new(key).range(net, path.clone(), Role::Occupy);
    let resource = resource.range(net, path, Role::Part(parent)).unknown(warren_cidr::Family::V6);
    Record::Planned { fabric: "llm".into(), owner: "platform".into(), resource: (&resource).into() }
}

#[test]
fn each_process_reads_what_the_others_wrote_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let (mut a, mut b) = (open(&path), open(&path));
    assert_eq!(a.exchange(&[planned("a")]), Ok(vec![]));
    assert_eq!(b.exchange(&[planned("b"), Record::Validated {}]), Ok(vec![planned("a")]));
    assert_eq!(a.exchange(&[]), Ok(vec![planned("b"), Record::Validated {}]));
    assert_eq!(a.exchange(&[]), Ok(vec![]));
    assert_eq!(b.exchange(&[]), Ok(vec![]));
    let mut late = open(&path);
    assert_eq!(late.exchange(&[]).map(|records| records.len()), Ok(3));
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap());
}

#[test]
fn what_a_killed_process_wrote_of_a_line_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    open(&path).exchange(&[planned("a")]).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, [&whole, &whole[..length]].concat()).unwrap();
        let mut next = open(&path);
        assert_eq!(next.exchange(&[planned("b")]), Ok(vec![planned("a")]), "{length} bytes");
        assert_eq!(open(&path).exchange(&[]), Ok(vec![planned("a"), planned("b")]), "{length} bytes");
    }
}

#[test]
fn a_damaged_or_enormous_ledger_is_an_error_with_its_position() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    open(&path).exchange(&[planned("a")]).unwrap();
    let mut reader = open(&path);
    reader.exchange(&[]).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"planned\":7}\n").unwrap();
    assert!(matches!(reader.exchange(&[]), Err(Apart::Damaged { line: 2, .. })));
    file.set_len(LIMIT + 1).unwrap();
    assert!(matches!(open(&path).exchange(&[]), Err(Apart::TooLarge { .. })));
}
