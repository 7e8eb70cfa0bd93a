//! The goals, as ratios within one run. They depend on the machine, so a missed one does not fail the measurement.

use crate::figures::{cell, table};
use crate::losses::OURS;
use crate::sheet::Sheet;
use crate::throughput::Case;

/// The newest wireguard-go.
const NEWEST: &str = "wireguard-go-new";
pub(crate) const TUNNEL: &str = "warren-tunnel";
/// Peers that the best one is chosen from, at least.
const PEERS: usize = 2;

/// One goal and what was measured.
#[derive(Debug)]
pub(crate) struct Goal {
    what: String,
    value: Option<f64>,
    limit: f64,
    at_least: bool,
}

/// Prints goals and whether they are met.
pub(crate) fn print(goals: &[Goal]) {
    if goals.is_empty() {
        return;
    }
    println!("\nGoals: {} of {} met\n", goals.iter().filter(|goal| goal.met()).count(), goals.len());
    let rows: Vec<Vec<String>> = goals.iter().map(Goal::row).collect();
    table(&["goal", "measured", "wanted", ""], &rows);
}

/// The goals of the tunnel with a TUN device.
pub(crate) fn tunnel(sheet: &Sheet) -> Vec<Goal> {
    let mut goals = Vec::new();
    let streams = [Case::P1Up, Case::P1Down, Case::P4Up, Case::P4Down];
    let times = |case: Case, peer: &str, factor: f64| {
        let value = ratio(sheet, TUNNEL, peer, case.title(), "Gbit/s");
        least(format!("{}, times {peer}", case.title()), value, factor)
    };
    let (newest, cost) = if has_ifma() { (2.8, 2.0) } else { (2.1, 2.6) };
    for (peer, factor) in
        [(NEWEST, newest), ("boringtun-cli", 5.0), ("gotatun-cli", 4.0), ("wireguard-go", 4.5)]
    {
        goals.extend(streams.map(|case| times(case, peer, factor)));
    }
    goals.extend([Case::PlainUp, Case::PlainDown].map(|case| times(case, NEWEST, 2.5)));
    let cpu = |case: Case| sheet.of(TUNNEL, case.title(), "CPU s/GB");
    goals.extend(streams.map(|case| most(format!("{}, CPU s/GB", case.title()), cpu(case), cost)));
    goals.push(most("peak memory, MB".into(), sheet.of(TUNNEL, "peak memory", "MB"), 16.0));
    // One direction can fill all cores, so the sum of both directions is no goal.
    let one_way = cpu(Case::P1Up).zip(cpu(Case::P1Down)).map(|(up, down)| f64::midpoint(up, down));
    let both = cpu(Case::Both).zip(one_way).and_then(|(both, one)| quotient(both, one));
    goals.push(most("both directions at once, CPU per byte, times one direction".into(), both, 1.05));
    // What the kernel or the receiver loses depends on the machine. Packets that reached us must come through.
    for place in OURS {
        goals.push(most(
            format!("{}, {place}", Case::Udp.title()),
            sheet.of(TUNNEL, Case::Udp.title(), place),
            0.0,
        ));
    }
    // Not to read packets is no way to lose none.
    let udp = times_best(sheet, Case::Udp.title(), "Gbit/s", f64::max);
    goals.push(least(format!("{}, received, times the best peer", Case::Udp.title()), udp, 1.0));
    let ping = times_best(sheet, Case::Ping.title(), "ms", f64::min);
    goals.push(most("ping, times the best peer".into(), ping, 1.1));
    goals
}

/// Whether this processor runs the faster cipher of `warren-cipher`.
fn has_ifma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512ifma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// The goals of a pod without privileges.
pub(crate) fn pod(sheet: &Sheet) -> Vec<Goal> {
    let of = |case: &str, unit: &str| sheet.of(TUNNEL, case, unit);
    let times = |case: &str| ratio(sheet, TUNNEL, "wireproxy", case, "Gbit/s");
    let mut goals = Vec::new();
    for (case, gbits, factor) in [("one stream down", 3.0, 2.0), ("one stream up", 2.5, 4.0)] {
        goals.push(least(format!("{case}, Gbit/s"), of(case, "Gbit/s"), gbits));
        goals.push(least(format!("{case}, times wireproxy"), times(case), factor));
        goals.push(most(format!("{case}, CPU s/GB"), of(case, "CPU s/GB"), 2.5));
    }
    goals.push(most("peak memory, MB".into(), of("peak memory", "MB"), 64.0));
    goals.push(most("first byte, ms".into(), of("first byte", "ms"), 20.0));
    goals
}

/// The goals of `sync`: faster than each tool on every path, in little memory. `path` is the subject of what the path carries.
pub(crate) fn sync(sheet: &Sheet, path: &str) -> Vec<Goal> {
    let mut goals = Vec::new();
    for case in sheet.cases(TUNNEL) {
        let ours = sheet.of(TUNNEL, &case, "MB/s");
        let tools = sheet.subjects().filter(|name| ![TUNNEL, path].contains(name));
        let best = tools.filter_map(|name| sheet.of(name, &case, "MB/s")).reduce(f64::max);
        let times = ours.zip(best).and_then(|(ours, best)| quotient(ours, best));
        goals.push(least(format!("{case}, times the fastest other tool"), times, 1.0));
        goals.push(most(
            format!("{case}, peak memory, MB"),
            sheet.of(TUNNEL, &case, "peak memory, MB"),
            128.0,
        ));
    }
    goals
}

/// The goal of splitting TCP at the gateway.
pub(crate) fn forward(sheet: &Sheet, case: &str) -> Vec<Goal> {
    let value = ratio(sheet, "user", "kernel", case, "Mbit/s");
    vec![least(format!("{case}, times the kernel's"), value, 10.0)]
}

impl Goal {
    /// A goal without a value is not met.
    fn met(&self) -> bool {
        self.value.is_some_and(|value| if self.at_least { value >= self.limit } else { value <= self.limit })
    }

    fn row(&self) -> Vec<String> {
        let sign = if self.at_least { "≥" } else { "≤" };
        let verdict = match self.value {
            None => "NOT MEASURED",
            Some(_) if self.met() => "met",
            Some(_) => "NOT met",
        };
        vec![self.what.clone(), cell(self.value, 2), format!("{sign} {}", self.limit), verdict.to_owned()]
    }
}

/// Our figure by that of the best peer, which is the `better` one of any two. One peer alone is not the best of anything.
fn times_best(sheet: &Sheet, case: &str, unit: &str, better: fn(f64, f64) -> f64) -> Option<f64> {
    let peers = sheet.others(TUNNEL, case, unit);
    let best = peers.iter().copied().reduce(better).filter(|_| peers.len() >= PEERS)?;
    quotient(sheet.of(TUNNEL, case, unit)?, best)
}

fn ratio(sheet: &Sheet, ours: &str, theirs: &str, case: &str, unit: &str) -> Option<f64> {
    quotient(sheet.of(ours, case, unit)?, sheet.of(theirs, case, unit)?)
}

/// Nothing is a multiple of zero.
fn quotient(ours: f64, theirs: f64) -> Option<f64> {
    (theirs > 0.0).then(|| ours / theirs)
}

pub(crate) fn least(what: String, value: Option<f64>, limit: f64) -> Goal {
    Goal { what, value, limit, at_least: true }
}

pub(crate) fn most(what: String, value: Option<f64>, limit: f64) -> Goal {
    Goal { what, value, limit, at_least: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(sheet: &Sheet, what: &str) -> Goal {
        tunnel(sheet).into_iter().find(|goal| goal.what.contains(what)).unwrap()
    }

    #[test]
    fn nothing_measured_meets_no_goal() {
        let sheet = Sheet::default();
        let goals: Vec<Goal> =
            [tunnel(&sheet), pod(&sheet), forward(&sheet, "long")].into_iter().flatten().collect();
        assert!(goals.iter().all(|goal| !goal.met() && goal.row()[3] == "NOT MEASURED"), "{goals:?}");
    }

    #[test]
    fn the_best_peer_is_one_of_at_least_two_and_never_ours() {
        let mut sheet = Sheet::default();
        let times = |sheet: &Sheet| goal(sheet, "ping").value;
        sheet.note(TUNNEL, "ping", "ms", 0.3);
        assert_eq!(times(&sheet), None);
        sheet.note("boringtun-cli", "ping", "ms", 0.2);
        assert_eq!(times(&sheet), None);
        sheet.note("gotatun-cli", "ping", "ms", 0.4);
        assert!((times(&sheet).unwrap() - 1.5).abs() < 1e-9);
        assert!(!goal(&sheet, "ping").met());
        sheet.contain::<()>("boringtun-cli", "ping", Err(anyhow::anyhow!("planted")));
        assert_eq!(times(&sheet), None);
    }

    #[test]
    fn both_ways_cost_a_byte_at_most_a_twentieth_more_than_one_way() {
        let mut sheet = Sheet::default();
        for (case, cpu) in [(Case::P1Up, 2.0), (Case::P1Down, 3.0), (Case::Both, 2.6)] {
            assert!(!goal(&sheet, "CPU per byte").met());
            sheet.note(TUNNEL, case.title(), "CPU s/GB", cpu);
        }
        assert!(goal(&sheet, "CPU per byte").met());
        sheet.note(TUNNEL, Case::Both.title(), "CPU s/GB", 2.8);
        assert!(!goal(&sheet, "CPU per byte").met());
    }

    #[test]
    fn one_packet_lost_by_us_misses_the_goal_and_those_of_others_do_not_count() {
        let mut sheet = Sheet::default();
        for place in OURS {
            sheet.note(TUNNEL, Case::Udp.title(), place, 0.0);
        }
        sheet.note(TUNNEL, Case::Udp.title(), crate::losses::TUN, 9_000.0);
        let udp = |sheet: &Sheet| {
            tunnel(sheet).into_iter().filter(|goal| goal.what.contains("lost")).all(|goal| goal.met())
        };
        assert!(udp(&sheet));
        for _ in 0..2 {
            sheet.note(TUNNEL, Case::Udp.title(), OURS[0], 1.0);
        }
        assert!(!udp(&sheet));
    }

    #[test]
    fn a_peer_that_carried_nothing_gives_no_ratio() {
        assert_eq!(quotient(4.0, 0.0), None);
    }
}
