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
    // 98 GB in 15 minutes are 871.1 Mbit/s, for which 70 % are 1,244.4 Mbit/s: with the overhead of 1452 / 1368, 1,320.9 Mbit/s for
    // two gateways and eight agents.
    assert_eq!(made.planned_rate_mbit, 661.into());
    assert_eq!(made.agent_planned_rate_mbit, 166.into());
    assert_eq!(made.recommended_training, "one-site".into());
    let demand = made.demand.known().unwrap();
    assert_eq!(demand.up_bits_per_second, 871_111_112.into());
    assert_eq!(demand.planned_bits_per_second, 1_244_444_446.into());
    let links = made.link.known().unwrap();
    let gateways = links["gateways"].known().unwrap();
    assert_eq!(gateways.verdict, "fits".into());
    assert_eq!(gateways.monthly_cost, 324.2.into());
    assert_eq!(gateways.rate_bits_per_second, 3_000_000_000_i64.into());
    assert_eq!(gateways.peak_utilisation, 0.2904.into());
    // 40 s of 30 min and 40 s.
    assert_eq!(gateways.lost_to_checkpoints, 0.0217.into());
    let transfers = gateways.transfers.known().unwrap();
    // 98 GB at 3 Gbit/s, of 15 min.
    let checkpoint = transfers["checkpoint"].known().unwrap();
    assert_eq!((&checkpoint.time_seconds, &checkpoint.within_seconds), (&261.333.into(), &900.0.into()));
    assert_eq!(transfers["tokens"].known().unwrap().in_time, true.into());
    assert_eq!(links["cloud-sync"].known().unwrap().verdict, "unusable".into());
    let training = made.training_plan.known().unwrap();
    assert_eq!((&training.groups, &training.gradients_bytes), (&8.into(), &14_000_000_000_i64.into()));
    let modes = training.modes.known().unwrap();
    assert_eq!(modes.keys().collect::<Vec<_>>(), ["federated", "one-site", "parameter-server"]);
    let one_site = modes["one-site"].known().unwrap();
    assert_eq!((&one_site.time_per_step_seconds, &one_site.acceptable), (&1.96.into(), &true.into()));
    assert_eq!(modes["parameter-server"].known().unwrap().acceptable, false.into());
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
    assert_eq!((made.planned_rate_mbit, made.agent_planned_rate_mbit), (Attr::Null, Attr::Null));
    assert_eq!((made.recommended_training, made.training_plan), (Attr::Null, Attr::Null));
    let links = made.link.known().unwrap();
    // 2 TB are 1,862.6 GiB.
    assert_eq!(links["direct-connect"].known().unwrap().monthly_egress, 18.63.into());
}

#[test]
fn agents_and_copies_need_a_number_of_pods() {
    let of = |pods: Option<i64>, per_pod: bool| {
        compute(CapacityPlan {
            training: Attr::Null,
            checkpoint: Attr::Null,
            pods: pods.into(),
            datasets: map([(
                "tokens",
                Dataset {
                    size: "100 GB".into(),
                    within: "1 h".into(),
                    per_pod: per_pod.into(),
                    ..Dataset::default()
                },
            )]),
            ..config()
        })
    };
    assert_eq!(of(None, false).unwrap().agent_planned_rate_mbit, Attr::Null);
    // 222.2 Mbit/s / 70 % × 1452 / 1368, for four agents.
    assert_eq!(of(Some(4), false).unwrap().agent_planned_rate_mbit, 85.into());
    let four_copies = of(Some(4), true).unwrap();
    assert_eq!(four_copies.demand.known().unwrap().down_bits_per_second, 888_888_889.into());
    let refused = of(None, true).unwrap_err();
    assert_eq!(
        refused.0[0].path.as_ref().map(ToString::to_string).as_deref(),
        Some("datasets[\"tokens\"].per_pod")
    );
    assert!(refused.0[0].detail.ends_with("for example `pods = 8`."), "{}", refused.0[0].detail);
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
