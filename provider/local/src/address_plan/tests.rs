use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tf_provider_rs::model::{FromValue, ToValue};
use tf_provider_rs::{Change, Context, Diagnostics, Number, Path, Planned, Progress, Resource, Type, Value};
use warren_guard::{ClaimsUrl, Guard, GuardConfig, Key, PlannedResource, Role};

use super::model::State;
use super::{AddressPlan, outcome};

/// Stands for an unknown value.
const UNKNOWN: &str = "?";

/// The example of the documentation.
fn example() -> Json {
    json!({
        "pools": { "gcp": ["10.0.0.0/12"], "aws": ["172.16.0.0/12"], "overlay": ["10.100.0.0/16"] },
        "reserved": { "on_prem": ["10.8.0.0/16"], "docker": ["172.17.0.0/16"] },
        "networks": {
            "gcp_hub": { "pool": "gcp", "prefix": 16 },
            "aws": { "cidr": "172.16.0.0/16", "cloud": "aws", "subnets": {
                "public": { "prefix": 24 }, "data": { "prefix": 24 }, "ml": { "hosts": 200, "growth": 2.0 } } },
            "overlay": { "pool": "overlay", "prefix": 24 },
        },
    })
}

/// One pool `p` and the given networks.
#[expect(clippy::needless_pass_by_value, reason = "called with literals")]
fn with_networks(networks: Json) -> Json {
    json!({ "pools": { "p": ["10.0.0.0/16"] }, "networks": networks })
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => Value::Number(Number::parse(&number.to_string()).unwrap()),
        Json::String(text) if text == UNKNOWN => Value::UNKNOWN,
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(items) => {
            Value::Map(items.iter().map(|(key, item)| (key.clone(), value(item))).collect())
        }
    }
}

/// The configuration, and what the server plans before the resource looks at it.
fn input(json: &Json, guard: &Guard) -> (State, State) {
    let ty = AddressPlan::new(guard.clone()).schema().ty();
    let config = State::from_value(&value(json).conform(&ty), &Path::root()).unwrap();
    let mut planned = config.clone();
    if planned.name.is_null() {
        planned.name = "main".into();
    }
    outcome::leave_open(&mut planned);
    (config, planned)
}

async fn plan_with(guard: &Guard, prior: Option<&State>, json: &Json) -> (State, Diagnostics) {
    let resource = AddressPlan::new(guard.clone());
    let (config, planned) = input(json, guard);
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    if diagnostics.has_error() {
        return (planned, diagnostics);
    }
    let mut change =
        Change { prior: prior.cloned(), config, planned, requires_replace: Vec::new(), deferred: None };
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    (change.planned, diagnostics)
}

async fn plan(prior: Option<&State>, json: &Json) -> (State, Diagnostics) {
    plan_with(&Guard::default(), prior, json).await
}

async fn planned(json: &Json) -> State {
    let (state, diagnostics) = plan(None, json).await;
    assert_eq!(text(&diagnostics), "");
    state
}

fn text(diagnostics: &Diagnostics) -> String {
    let mut text = String::new();
    for diagnostic in &diagnostics.0 {
        let at = diagnostic.path.as_ref().map(ToString::to_string).unwrap_or_default();
        writeln!(text, "{:?}: {}\n[{at}]\n{}\n", diagnostic.severity, diagnostic.summary, diagnostic.detail)
            .unwrap();
    }
    text
}

fn cidrs(state: &State) -> BTreeMap<String, String> {
    outcome::assignment(state).into_iter().map(|(path, net)| (path, net.to_string())).collect()
}

/// The computed attributes.
fn outputs(state: &State) -> String {
    let mut text = String::new();
    for name in ["cidrs", "network", "free"] {
        show(&mut text, name, state.to_value().get(name).unwrap(), 0);
    }
    text
}

fn show(text: &mut String, name: &str, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Map(items) | Value::Object(items) => {
            writeln!(text, "{indent}{name}:").unwrap();
            for (name, item) in items {
                show(text, name, item, depth + 1);
            }
        }
        Value::List(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            writeln!(text, "{indent}{name} = [{}]", items.join(", ")).unwrap();
        }
        Value::String(item) => writeln!(text, "{indent}{name} = {item}").unwrap(),
        other => writeln!(text, "{indent}{name} = {other:?}").unwrap(),
    }
}

#[tokio::test]
async fn every_range_is_known_at_plan() {
    let state = planned(&example()).await;
    let value = state.to_value();
    assert!(["cidrs", "network", "free"].iter().all(|name| value.get(name).unwrap().is_wholly_known()));
    insta::assert_snapshot!(outputs(&state));
}

#[tokio::test]
async fn outputs_are_of_the_schema_s_type() {
    let state = planned(&example()).await.to_value();
    let Type::Object(types) = AddressPlan::new(Guard::default()).schema().ty() else { panic!("an object") };
    for (name, ty) in types {
        let value = state.get(&name).unwrap().clone();
        let Value::Map(_) = &value else { continue };
        assert_eq!(value.leaves(), value.conform(&ty).leaves(), "{name}");
    }
}

/// Counts the leaves of a value: conforming drops what a type does not have.
trait Leaves {
    fn leaves(&self) -> usize;
}

impl Leaves for Value {
    fn leaves(&self) -> usize {
        match self {
            Value::Map(items) | Value::Object(items) => {
                items.values().filter(|item| !item.is_null()).map(Leaves::leaves).sum()
            }
            _ => 1,
        }
    }
}

#[tokio::test]
async fn a_second_plan_changes_nothing() {
    let state = planned(&example()).await;
    let (again, diagnostics) = plan(Some(&state), &example()).await;
    assert_eq!((text(&diagnostics), again), (String::new(), state));
}

#[tokio::test]
async fn unknown_inputs_leave_the_outputs_open_and_fail_nothing() {
    for (pointer, unknown) in [
        ("/pools", json!(UNKNOWN)),
        ("/pools/aws", json!([UNKNOWN])),
        ("/reserved", json!(UNKNOWN)),
        ("/networks", json!(UNKNOWN)),
        ("/networks/aws", json!(UNKNOWN)),
        ("/networks/aws/cidr", json!(UNKNOWN)),
        ("/networks/aws/cloud", json!(UNKNOWN)),
        ("/networks/aws/subnets", json!(UNKNOWN)),
        ("/networks/aws/subnets/ml/hosts", json!(UNKNOWN)),
        ("/networks/aws/subnets/ml/growth", json!(UNKNOWN)),
        ("/networks/gcp_hub/pool", json!(UNKNOWN)),
    ] {
        let mut json = example();
        *json.pointer_mut(pointer).unwrap() = unknown;
        let (state, diagnostics) = plan(None, &json).await;
        assert_eq!(text(&diagnostics), "", "{pointer}");
        assert!(
            state.cidrs.is_unknown() && state.network.is_unknown() && state.free.is_unknown(),
            "{pointer}"
        );
    }
}

#[tokio::test]
async fn what_was_unknown_is_checked_and_filled_at_apply() {
    let guard = Guard::default();
    let resource = AddressPlan::new(guard.clone());
    let (config, state) = input(&example(), &guard);
    let plan = Planned { state, config };
    let made = resource.create(&Context::default(), plan, &Progress::default()).await.unwrap();
    assert_eq!(made, planned(&example()).await);

    let (config, state) = input(&with_networks(json!({ "a": { "pool": "p", "prefix": 8 } })), &guard);
    let plan = Planned { state, config };
    let failed = resource.create(&Context::default(), plan, &Progress::default()).await.unwrap_err();
    assert!(failed.has_error());
}

#[tokio::test]
async fn wrong_attributes() {
    let (_, found) = plan(
        None,
        &json!({
            "pools": { "p": ["10.0.0.1/16", null], "null": null },
            "reserved": { "r": ["10.0.0.0"] },
            "networks": {
                "both": { "pool": "p", "cidr": "10.0.0.0/24", "prefix": 24 },
                "bits": { "cidr": "10.0.3.4/22" },
                "growth": { "pool": "p", "hosts": 10, "growth": 0.5 },
                "cloud": { "pool": "p", "hosts": 10, "cloud": "azure" },
                "half": { "pool": "p", "prefix": 24.5 },
                "none": { "pool": "p", "subnets": { "s": { "hosts": 0 } } },
                "pools": { "pool": "p", "pools": ["p"], "prefix": 24 },
            },
            "acknowledge_renumbering": [null],
        }),
    )
    .await;
    insta::assert_snapshot!(text(&found));
}

#[tokio::test]
async fn refused_requests() {
    let (_, found) = plan(
        None,
        &json!({
            "pools": { "p": ["10.0.0.0/16"] },
            "reserved": { "on_prem": ["10.0.8.0/24"] },
            "networks": {
                "a": { "cidr": "10.0.0.0/20" },
                "b": { "cidr": "10.0.4.0/22" },
                "elsewhere": { "pool": "p", "cidr": "192.168.0.0/24" },
                "typo": { "pool": "q", "prefix": 24 },
                "nowhere": { "prefix": 24 },
                "small": { "cidr": "10.0.128.0/30", "cloud": "aws" },
                "a/b": { "pool": "p", "prefix": 24 },
                "out": { "cidr": "10.0.64.0/24", "subnets": { "s": { "cidr": "10.0.65.0/28" } } },
            },
        }),
    )
    .await;
    insta::assert_snapshot!(text(&found));
}

#[tokio::test]
async fn an_infeasible_request_is_explained() {
    let (_, found) = plan(
        None,
        &with_networks(json!({
            "pinned": { "cidr": "10.0.64.0/18" },
            "first": { "pool": "p", "prefix": 17 },
            "second": { "pool": "p", "prefix": 17 },
            "fits": { "pool": "p", "prefix": 26 },
        })),
    )
    .await;
    let (_, nested) = plan(
        None,
        &with_networks(json!({ "n": { "pool": "p", "prefix": 24, "subnets": {
            "a": { "prefix": 25 }, "b": { "hosts": 100 }, "c": { "prefix": 28 } } } })),
    )
    .await;
    insta::assert_snapshot!(text(&found) + &text(&nested));
}

#[tokio::test]
async fn renumbering_is_refused_unless_acknowledged() {
    let before = with_networks(json!({
        "aws": { "cidr": "10.0.0.0/20", "subnets": { "data": { "prefix": 24 }, "public": { "prefix": 24 } } },
        "gcp": { "pool": "p", "prefix": 24 },
    }));
    let state = planned(&before).await;

    let mut moved = before.clone();
    moved["networks"]["aws"]["cidr"] = json!("10.0.128.0/20");
    moved["networks"]["gcp"]["prefix"] = json!(22);
    let (_, refused) = plan(Some(&state), &moved).await;
    insta::assert_snapshot!(text(&refused));

    for acknowledged in [json!(["aws", "gcp"]), json!(["*"])] {
        moved["acknowledge_renumbering"] = acknowledged;
        let (after, allowed) = plan(Some(&state), &moved).await;
        assert!(!allowed.has_error(), "{}", text(&allowed));
        assert_eq!(cidrs(&after)["aws"], "10.0.128.0/20");
    }

    moved["acknowledge_renumbering"] = json!(["aws", "gpc"]);
    let (_, partly) = plan(Some(&state), &moved).await;
    insta::assert_snapshot!("partly_acknowledged", text(&partly));

    // Only a subnet moves: its path is enough.
    let mut subnet = before;
    subnet["networks"]["aws"]["subnets"]["data"] = json!({ "cidr": "10.0.15.0/24" });
    let (_, refused) = plan(Some(&state), &subnet).await;
    assert!(text(&refused).contains(r#"acknowledge_renumbering = ["aws/data"]"#), "{}", text(&refused));
    subnet["acknowledge_renumbering"] = json!(["aws/data"]);
    assert!(!plan(Some(&state), &subnet).await.1.has_error());
}

#[tokio::test]
async fn a_reserved_range_that_comes_later_renumbers() {
    let before = with_networks(json!({ "a": { "pool": "p", "prefix": 24 } }));
    let state = planned(&before).await;
    let mut later = before;
    later["reserved"] = json!({ "on_prem": ["10.0.0.0/20"] });
    let (_, refused) = plan(Some(&state), &later).await;
    insta::assert_snapshot!(text(&refused));
}

#[tokio::test]
async fn a_discouraged_range_is_a_warning() {
    let json = json!({
        "pools": { "p": ["172.16.0.0/12"] },
        "networks": { "a": { "cidr": "172.17.0.0/16", "cloud": "aws" } },
    });
    let (_, found) = plan(None, &json).await;
    insta::assert_snapshot!(text(&found));
}

#[tokio::test]
async fn the_guard_sees_reservations_and_exclusions() {
    let guard = Guard::new(GuardConfig { fabric: "f".into(), owner: "o".into(), ..GuardConfig::default() });
    let (_, found) = plan_with(&guard, None, &example()).await;
    assert_eq!(text(&found), "");
    let vpc = |name: &str, cidr: &str| {
        let resource = PlannedResource::new(Key::new("warren_aws_vpc", name));
        resource.range(cidr.parse().unwrap(), Path::of("cidr_block"), Role::Occupy)
    };
    assert_eq!(text(&guard.plan(vpc("inside", "172.16.0.0/16")).await), "");
    let beyond = guard.plan(vpc("beyond", "10.8.0.0/13")).await;
    insta::assert_snapshot!(text(&beyond));

    let mut second = with_networks(json!({ "a": { "cidr": "172.16.4.0/24" } }));
    second["name"] = json!("second");
    let (_, found) = plan_with(&guard, None, &second).await;
    insta::assert_snapshot!("two_plans", text(&found));
    second["name"] = json!("main");
    let (_, found) = plan_with(&guard, None, &second).await;
    assert!(text(&found).contains("is used by two warren_address_plan resources"), "{}", text(&found));
}

#[tokio::test]
async fn a_destroyed_plan_is_forgotten() {
    let guard = Guard::default();
    let (state, _) = plan_with(&guard, None, &example()).await;
    AddressPlan::new(guard.clone())
        .plan_destroy(&Context::default(), &state, &mut Diagnostics::default())
        .await;
    let mut second = example();
    second["name"] = json!("second");
    assert_eq!(text(&plan_with(&guard, None, &second).await.1), "");
}

#[tokio::test]
async fn reservations_are_claimed_and_released() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    let owned = |owner: &str| {
        let claims = Some(ClaimsUrl::File(file.clone()));
        Guard::new(GuardConfig { fabric: "f".into(), owner: owner.into(), claims, ..GuardConfig::default() })
    };
    let ours = owned("ours");
    let resource = AddressPlan::new(ours.clone());
    let json =
        with_networks(json!({ "a": { "pool": "p", "prefix": 24, "subnets": { "s": { "prefix": 26 } } } }));
    let (config, _) = input(&json, &ours);
    let (state, _) = plan_with(&ours, None, &json).await;
    let ctx = Context::default();
    let made = resource
        .create(&ctx, Planned { state: state.clone(), config: config.clone() }, &Progress::default())
        .await
        .unwrap();
    insta::assert_snapshot!("claims", std::fs::read_to_string(&file).unwrap());

    let theirs = owned("theirs");
    insta::assert_snapshot!("claimed_by_others", text(&plan_with(&theirs, None, &json).await.1));
    let late = AddressPlan::new(theirs)
        .create(&ctx, Planned { state, config: config.clone() }, &Progress::default())
        .await
        .unwrap_err();
    insta::assert_snapshot!("claimed_meanwhile", text(&late));

    let larger =
        with_networks(json!({ "a": { "pool": "p", "prefix": 24 }, "b": { "pool": "p", "prefix": 24 } }));
    let (state, found) = plan_with(&ours, Some(&made), &larger).await;
    assert_eq!(text(&found), "");
    let updated = resource.update(&ctx, made, Planned { state, config }, &Progress::default()).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap().matches("\"owner\"").count(), 2);
    resource.delete(&ctx, updated).await.unwrap();
    assert!(!std::fs::read_to_string(&file).unwrap().contains("owner"));
}

/// Networks by key: prefix length 20 to 26, and subnets of 27 or 28.
fn arbitrary_networks() -> impl Strategy<Value = BTreeMap<String, (u8, Vec<u8>)>> {
    let network = (20_u8..=26, prop::collection::vec(27_u8..=28, 0..3));
    prop::collection::btree_map("[a-h]", network, 0..8)
}

fn json_of(networks: &BTreeMap<String, (u8, Vec<u8>)>) -> Json {
    let networks: serde_json::Map<String, Json> = networks
        .iter()
        .map(|(key, (prefix, subnets))| {
            let subnets: serde_json::Map<String, Json> = subnets
                .iter()
                .enumerate()
                .map(|(index, prefix)| (format!("s{index}"), json!({ "prefix": prefix })))
                .collect();
            (key.clone(), json!({ "pool": "p", "prefix": prefix, "subnets": subnets }))
        })
        .collect();
    with_networks(Json::Object(networks))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever else comes or goes, a network that stays in the configuration stays where it is.
    #[test]
    fn ranges_stay_when_networks_come_and_go(before in arbitrary_networks(), after in arbitrary_networks()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            // A network of both has the size that it had.
            let mut after = after;
            for (key, network) in &before {
                if let Some(kept) = after.get_mut(key) {
                    *kept = network.clone();
                }
            }
            let first = planned(&json_of(&before)).await;
            let (second, found) = plan(Some(&first), &json_of(&after)).await;
            prop_assert_eq!(text(&found), "");
            let (old, new) = (cidrs(&first), cidrs(&second));
            for (path, net) in &new {
                if let Some(earlier) = old.get(path) {
                    prop_assert_eq!(net, earlier, "{}", path);
                }
            }
            let expected: usize = after.values().map(|(_, subnets)| 1 + subnets.len()).sum();
            prop_assert_eq!(new.len(), expected);
            Ok(())
        })?;
    }
}
