use std::collections::BTreeMap;

use tf_provider_rs::Attr;

use super::compute::compute;
use super::model::{CapacityPlan, Checkpoint, Dataset, LinkOption, ModelSize, Training};

fn map<T, const N: usize>(items: [(&str, T); N]) -> Attr<BTreeMap<String, Attr<T>>> {
    Attr::Known(items.into_iter().map(|(name, item)| (name.to_owned(), Attr::Known(item))).collect())
}

fn link(kind: &str, rate: &str, gateways: Option<i64>) -> LinkOption {
    LinkOption { kind: kind.into(), rate: rate.into(), gateways: gateways.into() }
}

/// The values of `examples/capacity/capacity.yaml`.
fn config() -> CapacityPlan {
    CapacityPlan {
        name: "llama-7b".into(),
        store: "aws".into(),
        private: true.into(),
        datasets: map([(
            "tokens",
            Dataset { size: "2 TB".into(), within: "12 h".into(), ..Dataset::default() },
        )]),
        model: Attr::Known(ModelSize {
            parameters: "7B".into(),
            gradient_bytes: 2.into(),
            checkpoint_bytes: 14.into(),
        }),
        checkpoint: Attr::Known(Checkpoint {
            interval: "30 min".into(),
            pause: "40 s".into(),
            upload_within: "15 min".into(),
            ..Checkpoint::default()
        }),
        training: Attr::Known(Training {
            gpus: 64.into(),
            pods: 8.into(),
            tensor_parallel: 8.into(),
            step: "10 s".into(),
            network: "100 Gbit/s".into(),
            ..Training::default()
        }),
        links: map([
            ("cloud-sync", link("cloud-sync", "1 Gbit/s", None)),
            ("gateways", link("wireguard", "3 Gbit/s", Some(2))),
        ]),
        ..CapacityPlan::default()
    }
}

#[test]
fn the_plan_of_the_example() {
    let made = compute(config()).unwrap();
    assert_eq!(made.fits, true.into());
    assert_eq!(made.recommended_link, "gateways".into());
    // 98 GB in 15 minutes are 871 Mbit/s, of which 70 % leave 1,244 Mbit/s for two gateways and eight agents.
    assert_eq!(made.planned_rate_mbit, 623.into());
    assert_eq!(made.agent_planned_rate_mbit, 156.into());
    assert_eq!(made.recommended_training, "train at one site".into());
    let links = made.link.known().unwrap();
    let gateways = links["gateways"].known().unwrap();
    assert_eq!(gateways.verdict, "fits".into());
    assert_eq!(gateways.monthly_cost, 324.2.into());
    assert_eq!(links["cloud-sync"].known().unwrap().verdict, "unusable".into());
    insta::assert_snapshot!(made.markdown.value().unwrap());
}

#[test]
fn without_gateways_and_training_there_is_nothing_for_them() {
    let made = compute(CapacityPlan {
        place: "site".into(),
        private: Attr::Null,
        training: Attr::Null,
        links: map([("direct-connect", link("direct-connect", "10 Gbit/s", None))]),
        prices: map([("aws_direct_connect", 0.01)]),
        ..config()
    })
    .unwrap();
    assert_eq!((made.planned_rate_mbit, made.recommended_training), (Attr::Null, Attr::Null));
    let links = made.link.known().unwrap();
    // 2 TB are 1,862.6 GiB.
    assert_eq!(links["direct-connect"].known().unwrap().monthly_egress, 18.63.into());
}

#[test]
fn every_wrong_value_is_reported_at_its_attribute() {
    let wrong = CapacityPlan {
        store: "azure".into(),
        datasets: map([(
            "tokens",
            Dataset { size: "2".into(), within: "12 h".into(), ..Dataset::default() },
        )]),
        training: Attr::Known(Training { gpus: 0.into(), ..config().training.into_known().unwrap() }),
        links: map([("gateways", link("wireguard", "10 Gbps", Some(0)))]),
        prices: map([("aws", 1.0)]),
        ..config()
    };
    let refused = compute(wrong).unwrap_err();
    let text: Vec<String> = refused
        .0
        .iter()
        .map(|it| format!("{}: {}", it.path.as_ref().map(ToString::to_string).unwrap_or_default(), it.detail))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}
