mod s3;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use tf_provider_rs::{Diagnostics, Severity, async_trait};

use super::object::Object;
use super::{Change, Claim, ClaimRole, Document, Store, StoreError, Wanted};
use crate::{ClaimsUrl, Guard, GuardConfig, Key, Location, PlannedResource, Role};

const VPC: &str = "warren_aws_vpc";

/// An object store in memory that counts writes and fails on demand.
#[derive(Debug, Default)]
struct Bucket {
    objects: InMemory,
    writes: AtomicUsize,
    refused: AtomicUsize,
    /// Of so many writes the answer is lost: the write takes place, the client sees an error.
    lose_answers: AtomicUsize,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bucket")
    }
}

#[async_trait]
impl ObjectStore for Bucket {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        // Others get in between read and write.
        tokio::task::yield_now().await;
        let result = self.objects.put_opts(location, payload, options).await;
        if result.is_err() {
            self.refused.fetch_add(1, Ordering::SeqCst);
        }
        let take = |left: usize| left.checked_sub(1);
        if result.is_ok() && self.lose_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
        {
            return Err(Error::Generic { store: "bucket", source: "connection reset".into() });
        }
        result
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.objects.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

fn config(owner: &str) -> GuardConfig {
    GuardConfig { fabric: "llm".into(), owner: owner.into(), ..GuardConfig::default() }
}

fn store(bucket: &Arc<Bucket>, owner: &str) -> Arc<Store> {
    let object = Object::of(Arc::clone(bucket) as Arc<dyn ObjectStore>, "claims.json");
    Arc::new(Store::over_object(object, &config(owner)))
}

fn claim(name: &str, nets: &[&str]) -> Change {
    let nets = nets.iter().map(|net| net.parse().unwrap()).collect();
    Change::Claim(Wanted { key: Key::new(VPC, name), role: ClaimRole::Occupy, nets, own_elsewhere: false })
}

fn wanted(name: &str, region: &str, net: &str) -> Wanted {
    let key = Key::new(VPC, name).at(Location::aws("123456789012", region));
    Wanted { key, role: ClaimRole::Occupy, nets: vec![net.parse().unwrap()], own_elsewhere: false }
}

fn shown(document: &Document) -> Vec<String> {
    let show = |claim: &Claim| {
        let planned = if claim.planned_until.is_some() { " planned" } else { "" };
        format!("{} {} {:?}{planned}", claim.net, claim.name, claim.region)
    };
    document.claims.iter().map(show).collect()
}

fn release(name: &str) -> Change {
    Change::Release { key: Key::new(VPC, name) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_sixteen_overlapping_claimants_wins_and_none_is_lost() {
    let bucket = Arc::new(Bucket::default());
    let claims = (0..32).map(|number| {
        let store = store(&bucket, &format!("owner-{number:02}"));
        tokio::spawn(async move {
            let range = if number < 16 {
                format!("10.0.0.0/{}", 8 + number % 8)
            } else {
                format!("172.16.{number}.0/24")
            };
            store.change(claim("hub", &[&range])).await.unwrap().is_empty()
        })
    });
    let granted: Vec<bool> = join_all(claims).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(granted[..16].iter().filter(|granted| **granted).count(), 1, "{granted:?}");
    assert!(granted[16..].iter().all(|granted| *granted), "{granted:?}");
    let document = store(&bucket, "reader").read().await.unwrap();
    assert_eq!(document.claims.len(), 17);
    assert!(bucket.refused.load(Ordering::SeqCst) > 0, "the claimants did meet");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_claims_of_one_process_share_writes() {
    let bucket = Arc::new(Bucket::default());
    let store = store(&bucket, "platform");
    let claims = (0..1000).map(|number| {
        let store = Arc::clone(&store);
        let range = format!("10.{}.{}.0/24", number / 256, number % 256);
        tokio::spawn(async move { store.change(claim(&format!("v{number}"), &[&range])).await })
    });
    for outcome in join_all(claims).await {
        assert_eq!(outcome.unwrap(), Ok(Vec::new()));
    }
    assert_eq!(store.read().await.unwrap().claims.len(), 1000);
    let writes = bucket.writes.load(Ordering::SeqCst);
    assert!(writes < 500, "{writes} writes");
}

#[tokio::test]
async fn a_claim_is_idempotent_and_replaced_and_released() {
    let bucket = Arc::new(Bucket::default());
    let ours = store(&bucket, "ours");
    let nets =
        |document: Document| document.claims.iter().map(|claim| claim.net.to_string()).collect::<Vec<_>>();
    ours.change(claim("hub", &["10.0.0.0/16", "10.1.0.0/16"])).await.unwrap();
    ours.change(claim("hub", &["10.0.0.0/16", "10.1.0.0/16"])).await.unwrap();
    assert_eq!(bucket.writes.load(Ordering::SeqCst), 1, "the second claim changes nothing");
    ours.change(claim("hub", &["10.2.0.0/16"])).await.unwrap();
    assert_eq!(nets(ours.read().await.unwrap()), ["10.2.0.0/16"]);
    assert_eq!(store(&bucket, "theirs").change(claim("x", &["10.0.0.0/16"])).await.unwrap(), []);
    assert_eq!(store(&bucket, "theirs").change(release("hub")).await.unwrap(), []);
    assert_eq!(nets(ours.read().await.unwrap()).len(), 2, "the release of another owner's key does nothing");
    ours.change(release("hub")).await.unwrap();
    ours.change(release("hub")).await.unwrap();
    assert_eq!(nets(ours.read().await.unwrap()), ["10.0.0.0/16"]);
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_found_by_the_next_claim() {
    let bucket = Arc::new(Bucket::default());
    bucket.lose_answers.store(1, Ordering::SeqCst);
    let ours = store(&bucket, "ours");
    let failed = ours.change(claim("hub", &["10.0.0.0/16"])).await.unwrap_err();
    insta::assert_snapshot!(failed);
    assert_eq!(ours.change(claim("hub", &["10.0.0.0/16"])).await.unwrap(), []);
    assert_eq!(store(&bucket, "theirs").change(claim("hub", &["10.0.0.0/8"])).await.unwrap().len(), 1);
    assert_eq!(ours.read().await.unwrap().claims.len(), 1);
}

#[tokio::test]
async fn a_cancelled_claim_does_not_hold_up_others() {
    let bucket = Arc::new(Bucket::default());
    let ours = store(&bucket, "ours");
    for number in 0..50 {
        let store = Arc::clone(&ours);
        let task =
            tokio::spawn(async move { store.change(claim(&format!("v{number}"), &["10.0.0.0/16"])).await });
        for _ in 0..number % 5 {
            tokio::task::yield_now().await;
        }
        task.abort();
    }
    assert_eq!(ours.change(claim("last", &["10.0.0.0/16"])).await.unwrap(), []);
}

#[tokio::test]
async fn the_document_is_sorted_and_read_by_people() {
    let bucket = Arc::new(Bucket::default());
    store(&bucket, "platform").change(claim("spoke", &["10.1.0.0/16", "fd00:1::/48"])).await.unwrap();
    store(&bucket, "ml-team").change(claim("hub", &["10.9.0.0/16", "10.2.0.0/16"])).await.unwrap();
    store(&bucket, "platform").change(claim("a \"quoted\" name", &["10.3.0.0/16"])).await.unwrap();
    let text = bucket.objects.get(&Path::from("claims.json")).await.unwrap().bytes().await.unwrap();
    insta::assert_snapshot!(String::from_utf8(text.to_vec()).unwrap());
}

#[test]
fn the_same_name_in_two_regions_has_two_claims() {
    let mut document = Document::new("llm");
    assert_eq!(document.claim("ours", &wanted("hub", "us-east-1", "10.0.0.0/16"), 0), []);
    assert_eq!(document.claim("ours", &wanted("hub", "eu-west-1", "10.1.0.0/16"), 0), []);
    assert_eq!(shown(&document), ["10.1.0.0/16 hub \"eu-west-1\"", "10.0.0.0/16 hub \"us-east-1\""]);
    // Both are defended against other owners.
    for range in ["10.0.0.0/20", "10.1.0.0/20"] {
        assert_eq!(document.claim("theirs", &wanted("x", "us-east-1", range), 0).len(), 1, "{range}");
    }
    document.release("ours", &wanted("hub", "us-east-1", "10.0.0.0/16").key);
    assert_eq!(shown(&document), ["10.1.0.0/16 hub \"eu-west-1\""]);
}

#[test]
fn claims_of_the_same_owner_elsewhere_count_where_processes_cannot_meet() {
    let mut document = Document::new("llm");
    document.claim("ours", &wanted("hub", "us-east-1", "10.0.0.0/16"), 0);
    let elsewhere = wanted("hub", "eu-west-1", "10.0.0.0/16");
    let apart = Wanted { own_elsewhere: true, ..elsewhere.clone() };
    assert_eq!(document.clone().claim("ours", &apart, 0).len(), 1);
    assert_eq!(document.clone().plan("ours", &apart, 0).len(), 1);
    assert_eq!(document.clone().claim("ours", &elsewhere, 0), []);
    let here = Wanted { own_elsewhere: true, ..wanted("spoke", "us-east-1", "10.0.0.0/16") };
    assert_eq!(document.claim("ours", &here, 0), [], "in one location, the run itself is compared");
}

#[test]
fn a_plan_claims_until_it_is_applied_or_lapses() {
    let (mut document, hub) = (Document::new("llm"), wanted("hub", "us-east-1", "10.0.0.0/16"));
    document.claim("ours", &hub, 0);
    // The object keeps its claim while another range is planned for it.
    let moved = wanted("hub", "us-east-1", "10.1.0.0/16");
    assert_eq!(document.plan("ours", &moved, 1000), []);
    assert_eq!(shown(&document), ["10.0.0.0/16 hub \"us-east-1\"", "10.1.0.0/16 hub \"us-east-1\" planned"]);
    let theirs = wanted("x", "us-east-1", "10.1.0.0/16");
    assert_eq!(document.clone().plan("theirs", &theirs, 4600).len(), 1);
    assert_eq!(document.clone().claim("theirs", &theirs, 4601), []);
    // A plan soon after changes nothing, a later one extends the claim, and one that is as the object is removes it.
    let planned = document.clone();
    document.plan("ours", &moved, 2800);
    assert_eq!(document, planned);
    document.plan("ours", &moved, 2801);
    assert!(document != planned && shown(&document) == shown(&planned));
    document.plan("ours", &hub, 3000);
    assert_eq!(shown(&document), ["10.0.0.0/16 hub \"us-east-1\""]);
    // The apply settles.
    document.plan("ours", &moved, 3000);
    document.claim("ours", &moved, 3000);
    assert_eq!(shown(&document), ["10.1.0.0/16 hub \"us-east-1\""]);
    document.plan("ours", &theirs, 3000);
    document.lapse(6601);
    assert_eq!(shown(&document), ["10.1.0.0/16 hub \"us-east-1\""]);
}

fn located(name: &str, region: &str, net: &str) -> PlannedResource {
    let resource = PlannedResource::new(wanted(name, region, net).key);
    resource.range(net.parse().unwrap(), tf_provider_rs::Path::of("cidr_block"), Role::Occupy)
}

#[tokio::test]
async fn a_plan_is_refused_what_another_owner_has_planned() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    let of = |owner: &str| {
        Guard::new(GuardConfig { claims: Some(ClaimsUrl::File(file.clone())), ..config(owner) })
    };
    let (ours, early, late) = (of("ours"), of("theirs"), of("theirs"));
    // One of the others has read the claims before, and compares again when it claims.
    assert!(early.plan(located("other", "eu-west-1", "10.5.0.0/16")).await.is_empty());
    assert!(ours.plan(located("hub", "us-east-1", "10.0.0.0/16")).await.is_empty());
    let told = early.plan(located("hub", "eu-west-1", "10.0.128.0/17")).await;
    insta::assert_snapshot!(format!("{}\n{}", told.0[0].summary, told.0[0].detail));
    let told = late.plan(located("hub", "eu-west-1", "10.0.128.0/17")).await;
    insta::assert_snapshot!(format!("{}\n{}", told.0[0].summary, told.0[0].detail));
    assert_eq!(std::fs::read_to_string(&file).unwrap().matches("planned_until").count(), 2);

    let hub = wanted("hub", "us-east-1", "10.0.0.0/16");
    ours.claim(&hub.key, ClaimRole::Occupy, &hub.nets).await.unwrap();
    assert!(ours.plan(located("hub", "us-east-1", "10.0.0.0/16")).await.is_empty());
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("planned_until").count(), 1, "settled: {text}");
    ours.release(&hub.key).await.unwrap();
    assert!(!std::fs::read_to_string(&file).unwrap().contains("ours"));
}

#[tokio::test]
async fn a_plan_that_cannot_write_the_claims_warns_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    std::fs::create_dir(folder.path().join("claims.json.lock")).unwrap();
    let guard = Guard::new(GuardConfig { claims: Some(ClaimsUrl::File(file.clone())), ..config("ours") });
    let told = guard.plan(located("a", "us-east-1", "10.0.0.0/16")).await;
    let text = format!("{:?} {}\n{}", told.0[0].severity, told.0[0].summary, told.0[0].detail);
    insta::assert_snapshot!(text.replace(&file.display().to_string(), "claims.json"));
    assert!(guard.plan(located("b", "us-east-1", "10.1.0.0/16")).await.is_empty());
}

/// Two states of one owner, in two regions.
#[tokio::test]
async fn a_claim_of_the_same_owner_elsewhere_is_an_error_unless_the_run_plans_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    let guard = || Guard::new(GuardConfig { claims: Some(ClaimsUrl::File(file.clone())), ..config("ours") });
    let told =
        |told: &Diagnostics| format!("{:?} {}\n{}", told.0[0].severity, told.0[0].summary, told.0[0].detail);
    let hub = wanted("hub", "us-east-1", "10.0.0.0/16");
    guard().claim(&hub.key, ClaimRole::Occupy, &hub.nets).await.unwrap();
    let new = || located("hub", "eu-west-1", "10.0.0.0/16");

    insta::assert_snapshot!(told(&guard().plan(new()).await));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("eu-west-1"), "a refused plan claims nothing: {text}");

    // A move: the run destroys the other network, or gives it another range, whichever of the two it plans first.
    let moves = guard();
    moves.forget(&hub.key, Some("vpc-1"));
    assert!(moves.plan(new()).await.is_empty());
    std::fs::remove_file(&file).unwrap();
    guard().claim(&hub.key, ClaimRole::Occupy, &hub.nets).await.unwrap();
    let swaps = guard();
    let (first, second) = tokio::join!(swaps.plan(new()), async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        swaps.plan(located("hub", "us-east-1", "10.1.0.0/16")).await
    });
    assert_eq!((first, second), (Diagnostics::default(), Diagnostics::default()));

    // The apply of a plan that passed: nothing tells its process what else the plan does.
    assert_eq!(guard().plan(new()).await.0[0].severity, Severity::Warning);
    // Both exist already.
    let both = wanted("hub", "eu-west-1", "10.0.0.0/16");
    guard().claim(&both.key, ClaimRole::Occupy, &both.nets).await.unwrap();
    insta::assert_snapshot!(told(&guard().plan(new()).await));
}

/// A document of version 1, in which the claim of `hub` is that of one of its regions.
fn old() -> Document {
    let text = r#"{"version": 1, "fabric": "llm", "claims": [
        {"owner":"ours","kind":"warren_aws_vpc","name":"hub","net":"10.0.0.0/16","role":"occupy"},
        {"owner":"theirs","kind":"warren_aws_vpc","name":"hub","net":"10.9.0.0/16","role":"occupy"}
    ]}"#;
    Document::parse(Some(text.as_bytes()), "llm", "claims.json").unwrap()
}

#[test]
fn claims_of_version_1_become_those_of_the_resource_that_has_the_range() {
    let theirs = "10.9.0.0/16 hub \"\"";
    let (east, west) = (wanted("hub", "us-east-1", "10.0.0.0/16"), wanted("hub", "eu-west-1", "10.1.0.0/16"));
    let mut document = old();
    assert_eq!(document.claim("new", &wanted("x", "us-east-1", "10.0.0.0/8"), 0).len(), 2, "they count");
    document.plan("ours", &east, 0);
    assert_eq!(document, old(), "a plan of the range needs no other claim");
    document.claim("ours", &west, 0);
    let west_claim = "10.1.0.0/16 hub \"eu-west-1\"";
    assert_eq!(shown(&document), ["10.0.0.0/16 hub \"\"", west_claim, theirs]);
    document.claim("ours", &east, 0);
    let both = [west_claim, "10.0.0.0/16 hub \"us-east-1\"", theirs];
    assert_eq!(shown(&document), both);

    let mut document = old();
    document.release("ours", &east.key);
    assert_eq!(shown(&document), [theirs], "a resource that was never claimed again is released");
    let mut document = old();
    document.claim("ours", &west, 0);
    document.release("ours", &west.key);
    assert_eq!(shown(&document), [theirs], "the last resource of the name takes it along");
}

#[tokio::test]
async fn hostile_documents_are_refused() {
    let claim = |kind: &str, region: &str, net: &str| {
        format!(
            "{{\"version\":2,\"fabric\":\"llm\",\"claims\":[\n{{\"owner\":\"o\",\"kind\":\"{kind}\",\"name\":\"n\",\
             \"region\":\"{region}\",\"net\":\"{net}\",\"role\":\"occupy\"}}]}}"
        )
    };
    let messages: Vec<String> = [
        claim("\\u001b[2J", "r", "10.0.0.0/8"),
        claim("k", "a region", "10.0.0.0/8"),
        claim("k", &"r".repeat(129), "10.0.0.0/8"),
        claim("k", "r", "10.0.0.0/-1"),
        claim("k", "r", "10.0.0.0/8\",\"net\":\"10.0.0.0/8"),
        format!("{{\"version\":2,\"fabric\":{}", "[".repeat(100_000)),
        "{\"version\":2,\"fabric\":\"\\ud800\",\"claims\":[]}".to_owned(),
        "{\"version\":-1}".to_owned(),
        "{\"version\":99999999999999999999}".to_owned(),
    ]
    .iter()
    .map(|text| Document::parse(Some(text.as_bytes()), "llm", "claims.json").unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(messages.join("\n"));

    // Host bits are cut off, so that comparisons are of whole blocks.
    let text = claim("k", "r", "10.0.0.1/8");
    let document = Document::parse(Some(text.as_bytes()), "llm", "claims.json").unwrap();
    assert_eq!(document.claims[0].net.to_string(), "10.0.0.0/8");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    let large = std::fs::File::create(&file).unwrap();
    large.set_len(1 << 40).unwrap();
    let at = |url: ClaimsUrl| Store::open(&url, &config("ours")).unwrap();
    let refused = at(ClaimsUrl::File(file)).read().await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
    let refused = at(ClaimsUrl::File("/dev/zero".into())).read().await;
    assert!(matches!(refused, Err(StoreError::Read { .. })), "{refused:?}");

    let bucket = Arc::new(Bucket::default());
    let large = PutPayload::from(vec![b' '; (16 << 20) + 1]);
    bucket.objects.put(&Path::from("claims.json"), large).await.unwrap();
    let refused = store(&bucket, "ours").read().await;
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
}

#[test]
fn documents_that_cannot_be_used() {
    let good = "{\"version\": 1, \"fabric\": \"llm\", \"claims\": [\n";
    let messages: Vec<String> = [
        "",
        "{",
        "[]",
        "{\"version\": 3, \"later\": true}",
        "{\"version\": 1, \"fabric\": \"other\", \"claims\": []}",
        "{\"version\": 1, \"fabric\": \"llm\", \"claims\": [], \"extra\": 1}",
        &format!("{good}{{\"owner\":\"o\",\"kind\":\"k\",\"name\":\"n\",\"net\":\"10.0.0.0/33\",\"role\":\"occupy\"}}]}}"),
        &format!("{good}{{\"owner\":\"o\",\"kind\":\"k\",\"name\":\"n\",\"net\":\"10.0.0.0/8\",\"role\":\"own\"}}]}}"),
    ]
    .iter()
    .map(|text| Document::parse(Some(text.as_bytes()), "llm", "claims.json").unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(messages.join("\n"));
    assert_eq!(Document::parse(None, "llm", "claims.json").unwrap(), Document::new("llm"));
}

#[tokio::test]
async fn a_damaged_file_is_told_once_at_plan_and_refuses_claims() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    std::fs::write(&file, "{\n  \"version\": 1,\n  \"fabric\"").unwrap();
    let claims = Some(ClaimsUrl::File(file.clone()));
    let guard = Guard::new(GuardConfig { claims, ..config("ours") });
    let vpc = |name: &str, net: &str| {
        let resource = PlannedResource::new(Key::new(VPC, name));
        resource.range(net.parse().unwrap(), tf_provider_rs::Path::of("cidr_block"), Role::Occupy)
    };
    let place = file.display().to_string();
    let told = guard.plan(vpc("a", "10.0.0.0/16")).await.0;
    insta::assert_snapshot!(
        format!("{}\n{}", told[0].summary, told[0].detail).replace(&place, "claims.json")
    );
    assert!(guard.plan(vpc("b", "10.1.0.0/16")).await.is_empty());
    let key = Key::new(VPC, "a");
    assert!(guard.claim(&key, ClaimRole::Occupy, &["10.0.0.0/16".parse().unwrap()]).await.is_err());
    assert!(guard.release(&key).await.is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\n  \"version\": 1,\n  \"fabric\"", "untouched");
}

#[tokio::test]
async fn what_a_writer_left_that_died_before_the_rename_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deeper").join("claims.json");
    let guard = Guard::new(GuardConfig { claims: Some(ClaimsUrl::File(file.clone())), ..config("ours") });
    let hub = Key::new(VPC, "hub");
    guard.claim(&hub, ClaimRole::Occupy, &["10.0.0.0/16".parse().unwrap()]).await.unwrap();
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file.with_file_name("claims.json.next"), "{\"version\": 1, \"fab").unwrap();
    guard.claim(&hub, ClaimRole::Occupy, &["10.0.0.0/16".parse().unwrap()]).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    guard.claim(&Key::new(VPC, "b"), ClaimRole::Reserve, &["10.1.0.0/16".parse().unwrap()]).await.unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().contains("10.1.0.0/16"));
    assert!(!file.with_file_name("claims.json.next").exists());
}

#[test]
fn claims_locations() {
    let show = |text: &str| match text.parse::<ClaimsUrl>() {
        Ok(url) => format!("{text} -> {url:?} -> {url}"),
        Err(error) => format!("{text} -> {error}"),
    };
    insta::assert_snapshot!(
        [
            "claims.json",
            "file:///var/lib/claims%20of%20all.json",
            "s3://bucket/deep/claims.json",
            "gs://bucket/claims.json",
            "",
            "file://host/claims.json",
            "s3://bucket",
            "s3://bucket/",
            "s3:///key",
            "https://host/claims.json",
        ]
        .map(show)
        .join("\n")
    );
}
