//! The goals, as ratios within one run.

use crate::figures::table;
use crate::throughput::{Case, Measured, Results};

/// The name under which the newest wireguard-go is given: `WARREN_BENCH_PEER_WIREGUARD_GO_NEW=/path`.
const NEWEST: &str = "wireguard-go-new";

/// One goal and what was measured.
struct Goal {
    what: String,
    value: Option<f64>,
    limit: f64,
    at_least: bool,
}

/// Prints the goals and whether they are met. A goal whose peer was not measured is NOT MEASURED, and not met.
pub(crate) fn print(results: &Results) {
    let Some(ours) = results.get("warren-tunnel") else { return };
    let mut goals = Vec::new();
    for (peer, factor) in [(NEWEST, 2.0), ("boringtun-cli", 5.0), ("gotatun-cli", 4.0), ("wireguard-go", 4.5)]
    {
        for case in [Case::P1Up, Case::P1Down, Case::P4Up, Case::P4Down] {
            let value = ratio(ours, results.get(peer), case);
            goals.push(least(format!("{case:?}, times {peer}"), value, factor));
        }
    }
    for case in [Case::PlainUp, Case::PlainDown] {
        goals.push(least(format!("{case:?}, times {NEWEST}"), ratio(ours, results.get(NEWEST), case), 2.5));
    }
    for case in [Case::P1Up, Case::P1Down, Case::P4Up, Case::P4Down] {
        goals.push(most(format!("{case:?}, CPU seconds per GB"), ours.cpu(case), 2.7));
    }
    goals.push(most("peak memory, MB".into(), ours.memory(), 16.0));
    let one_way = ours.gbits(Case::P1Up).zip(ours.gbits(Case::P1Down)).map(|(up, down)| up + down);
    let both = ours.gbits(Case::Both).zip(one_way).map(|(both, alone)| both / alone);
    goals.push(least("both ways at once, times the sum of each alone".into(), both, 0.8));
    goals.push(least("UDP received, Gbit/s".into(), ours.gbits(Case::Udp), 1.99));
    goals.push(most("UDP lost, %".into(), ours.of(Case::Udp, |udp| udp.lost), 0.1));
    let best = results.values().filter_map(Measured::ping).min_by(f64::total_cmp);
    goals.push(most("ping, times the best".into(), ours.ping().zip(best).map(|(our, best)| our / best), 1.1));
    println!("\nGoals\n");
    let rows: Vec<Vec<String>> = goals.iter().map(Goal::row).collect();
    table(&["goal", "measured", "wanted", ""], &rows);
}

impl Goal {
    fn met(&self) -> bool {
        self.value.is_some_and(|value| if self.at_least { value >= self.limit } else { value <= self.limit })
    }

    fn row(&self) -> Vec<String> {
        let sign = if self.at_least { "≥" } else { "≤" };
        vec![
            self.what.clone(),
            crate::figures::cell(self.value, 2),
            format!("{sign} {}", self.limit),
            match self.value {
                None => "NOT MEASURED",
                Some(_) if self.met() => "met",
                Some(_) => "NOT met",
            }
            .to_owned(),
        ]
    }
}

fn ratio(ours: &Measured, theirs: Option<&Measured>, case: Case) -> Option<f64> {
    Some(ours.gbits(case)? / theirs?.gbits(case)?)
}

fn least(what: String, value: Option<f64>, limit: f64) -> Goal {
    Goal { what, value, limit, at_least: true }
}

fn most(what: String, value: Option<f64>, limit: f64) -> Goal {
    Goal { what, value, limit, at_least: false }
}
