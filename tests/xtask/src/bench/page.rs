//! `docs/benchmarks.md` and its charts, drawn from the recorded measurements.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use warren_harness::workspace_root;

use super::What;
use super::record::{self, Figures, Machine, Missing, Record};
use crate::docs::output::Output;
use crate::docs::templates::Templates;

/// What the page shows of a measurement.
struct View {
    what: What,
    title: &'static str,
    about: &'static str,
    /// Charts, each of metrics with one unit.
    charts: &'static [Chart],
    /// Subjects that the table shows, also where they were not measured.
    subjects: &'static [&'static str],
    /// Conditions that a record should have beside those of the machine.
    conditions: &'static [&'static str],
}

/// A bar chart.
struct Chart {
    name: &'static str,
    title: &'static str,
    /// Metrics, and their names in the legend.
    metrics: &'static [(&'static str, &'static str)],
}

/// Conditions that every record should have.
const MACHINE: [&str; 4] = ["commit", "load before the run", "sysctls", "vector instructions"];
/// Conditions of measurements with iperf3.
const STREAMS: &[&str] = &["congestion control", "order", "versions", "warm-up"];

const VIEWS: [View; 8] = [
    View {
        what: What::Tunnel,
        subjects: &["boringtun-cli", "gotatun-cli", "warren-tunnel", "wireguard-go", "wireguard-go-new"],
        conditions: &[
            "congestion control",
            "order",
            "socket buffer of iperf3 for UDP",
            "TUN queue",
            "versions",
            "warm-up",
        ],
        title: "Tunnel",
        about: "Two network namespaces on one machine, joined by a veth pair with an MTU of 1500. The same implementation runs at both ends, and all processes share the same cores. CPU seconds are those of both ends for 10^9 bytes received. `wireguard-go` is the package of Debian 12, which does not offload segmentation. `wireguard-go-new` is its newest version, which does.",
        charts: &[
            Chart {
                name: "tunnel-throughput",
                title: "One TCP stream, Gbit/s (more is better)",
                metrics: &[("one stream up, Gbit/s", "up"), ("one stream down, Gbit/s", "down")],
            },
            Chart {
                name: "tunnel-cpu",
                title: "CPU seconds per GB of one TCP stream, both ends (less is better)",
                metrics: &[("one stream up, CPU s/GB", "up"), ("one stream down, CPU s/GB", "down")],
            },
        ],
    },
    View {
        what: What::Pod,
        subjects: &["onetun", "warren-tunnel", "warren-userns", "wireproxy"],
        conditions: STREAMS,
        title: "Pod without privileges",
        about: "The pod's agent runs its network stack in user space, and programs reach it through a port on loopback. The other end is `warren-tunnel` with a TUN device. CPU seconds are those of the pod's process for 10^9 bytes.",
        charts: &[
            Chart {
                name: "pod-throughput",
                title: "One TCP stream, Gbit/s (more is better)",
                metrics: &[("one stream down, Gbit/s", "down"), ("one stream up, Gbit/s", "up")],
            },
            Chart {
                name: "pod-start",
                title: "From start to the first byte through the tunnel, ms (less is better)",
                metrics: &[("first byte, ms", "first byte")],
            },
        ],
    },
    View {
        what: What::Forward,
        subjects: &["kernel", "kernel, four queues", "user"],
        conditions: STREAMS,
        title: "Forwarding at the gateway",
        about: "A pod reaches a server through a gateway that forwards in the kernel or through sockets (`user`). The long path has a round-trip time of 80 ms, 1 Gbit/s, and 0.1 % loss. Where the kernel forwards, the server's CUBIC sender slows down at each loss. `user` ends the server's connection at the gateway, so that this loss does not reach it. With four queues, the gateway's device has four pairs of threads, and each pod uses one of them.",
        charts: &[
            Chart {
                name: "forward-short",
                title: "Short path, one stream, Mbit/s (more is better)",
                metrics: &[("one stream up, Mbit/s", "up"), ("one stream down, Mbit/s", "down")],
            },
            Chart {
                name: "forward-long",
                title: "Long path, one stream down, Mbit/s (more is better)",
                metrics: &[("long path, one stream down, Mbit/s", "down")],
            },
        ],
    },
    View {
        what: What::Gateway,
        subjects: &["enrol", "failover", "restart"],
        conditions: &["versions"],
        title: "Enrolment and failover",
        about: "`enrol`: 10,000 pods enrol with one gateway over TLS. `restart`: 1,000 pods restart at once. `failover`: 50 agents use three gateways that share leases through etcd. Pods and gateways share the machine.",
        charts: &[],
    },
    View {
        what: What::Sync,
        subjects: &["aws s3 cp", "boto3", "iperf3, four streams", "rclone", "s5cmd", "warren-tunnel"],
        conditions: &["congestion control", "files", "order", "versions"],
        title: "Copies from and to S3",
        about: "`warren-tunnel sync` and other tools copy the same files up and down, through the same tunnel of a pod without privileges, with `exec` and its HTTP proxy. A relay in front of the gateway limits each direction to 1 Gbit/s, delays, and loses datagrams. The server is `s3s-fs` on the gateway's host. The benchmark compares the copies with the originals. `iperf3` shows what the path carries. Memory is that of the tool's largest process. rclone runs with `--transfers 32`, the others with their defaults.",
        charts: &[Chart {
            name: "sync",
            title: "80 ms and 0.1 % loss, MB/s (more is better)",
            metrics: &[("80 ms, 0.1 % loss, up, MB/s", "up"), ("80 ms, 0.1 % loss, down, MB/s", "down")],
        }],
    },
    View {
        what: What::Cidr,
        subjects: &["fastest Python", "Python netaddr", "warren-cidr"],
        conditions: &["versions"],
        title: "Address solver",
        about: "`overlaps` finds every overlapping pair, `pairwise` does so by comparing each with each, `plan` allocates networks, and `merge` aggregates ranges. `Python netaddr` uses the library's own set, and `fastest Python` the best algorithm that we know in Python.",
        charts: &[Chart {
            name: "cidr",
            title: "10,000 ranges, CPU milliseconds (less is better)",
            metrics: &[
                ("overlaps, 10,000 ranges, CPU ms", "overlaps"),
                ("plan, 10,000 ranges, CPU ms", "plan"),
                ("merge, 10,000 ranges, CPU ms", "merge"),
            ],
        }],
    },
    View {
        what: What::Check,
        subjects: &["jq empty", "Python, json.load", "warren check"],
        conditions: &["order", "plan", "versions", "warm-up"],
        title: "Check of a large plan",
        about: "`warren check`, built for release, on a plan of 60 MB with 9,800 resources, from the start of the process to its end. `tests/benches/check/plan.py` writes the plan, with the attributes that hashicorp/aws and hashicorp/google have. The peers only read the same file, because they show what reading JSON costs in general.",
        charts: &[Chart {
            name: "check",
            title: "A plan of 60 MB, CPU seconds (less is better)",
            metrics: &[("CPU s", "CPU")],
        }],
    },
    View {
        what: What::Provider,
        subjects: &["provider"],
        conditions: &["versions"],
        title: "Provider",
        about: "The released binary with real Terraform and an emulated AWS on the same cores. Half of the resources are VPCs, half are subnets.",
        charts: &[],
    },
];

/// The section of a measurement.
#[derive(Serialize)]
struct Section {
    title: &'static str,
    about: &'static str,
    command: String,
    date: String,
    runs: usize,
    machine: Machine,
    charts: Vec<Picture>,
    subjects: Vec<String>,
    rows: Vec<Row>,
    /// Each as `name: value`.
    conditions: Vec<String>,
    not_recorded: String,
    not_measured: Vec<Missing>,
}

/// Results from before records existed: `docs/benchmarks/earlier.json`.
#[derive(Deserialize, Serialize)]
struct Earlier {
    /// Conditions that are not known.
    not_recorded: Vec<String>,
    rows: Vec<BTreeMap<String, String>>,
}

/// A chart of the page.
#[derive(Serialize)]
struct Picture {
    name: &'static str,
    title: &'static str,
}

/// One metric in a table: medians by subject.
#[derive(Serialize)]
struct Row {
    metric: String,
    cells: Vec<String>,
}

/// What the template of a chart needs, in pixels.
#[derive(Serialize)]
struct Drawing {
    title: &'static str,
    width: usize,
    height: usize,
    legend: Vec<Key>,
    groups: Vec<Group>,
}

#[derive(Serialize)]
struct Key {
    name: &'static str,
    x: usize,
    class: usize,
}

#[derive(Serialize)]
struct Group {
    name: String,
    y: usize,
    bars: Vec<Bar>,
}

#[derive(Serialize)]
struct Bar {
    y: usize,
    length: String,
    label_x: String,
    label: String,
    class: usize,
}

const WIDTH: usize = 760;
/// Left of the bars: names of subjects.
const LEFT: usize = 170;
/// Right of the longest bar: its value.
const RIGHT: usize = 70;
const TOP: usize = 66;
const BAR: usize = 18;
const GAP: usize = 14;

/// Adds the page and its charts.
pub(crate) fn pages(output: &mut Output) -> Result<()> {
    let templates = Templates::new()?;
    let mut sections = Vec::new();
    for view in &VIEWS {
        let Some(record) = record::read(view.what)? else { continue };
        let mut charts = Vec::new();
        for chart in view.charts {
            let Some(drawing) = drawing(chart, &record.figures) else { continue };
            output.file(
                format!("docs/benchmarks/{}.svg", chart.name),
                templates.render("chart.svg", &drawing)?,
            );
            charts.push(Picture { name: chart.name, title: chart.title });
        }
        sections.push(section(view, record, charts));
    }
    let earlier = std::fs::read_to_string(workspace_root().join("docs/benchmarks/earlier.json"))?;
    let earlier: Earlier = serde_json::from_str(&earlier).context("earlier.json")?;
    let values = serde_json::json!({ "sections": sections, "earlier": earlier });
    output.file("docs/benchmarks.md", templates.render("benchmarks.md", &values)?);
    Ok(())
}

fn section(view: &View, record: Record, charts: Vec<Picture>) -> Section {
    let Record { command, date, machine, conditions, figures, not_measured } = record;
    let metrics: BTreeSet<&String> = figures.values().flat_map(|metrics| metrics.keys()).collect();
    let subjects: BTreeSet<&str> =
        figures.keys().map(String::as_str).chain(view.subjects.iter().copied()).collect();
    let cell = |subject: &str, metric: &str| {
        let runs = figures.get(subject).and_then(|metrics| metrics.get(metric));
        runs.and_then(|runs| spread(runs)).unwrap_or_else(|| "not measured".to_owned())
    };
    let rows = metrics.into_iter().map(|metric| Row {
        metric: metric.clone(),
        cells: subjects.iter().map(|subject| cell(subject, metric)).collect(),
    });
    let known: BTreeMap<&str, String> = machine
        .conditions()
        .into_iter()
        .chain(conditions.iter().map(|(name, value)| (name.as_str(), value.clone())))
        .collect();
    let wanted = MACHINE.iter().chain(view.conditions);
    let not_recorded: Vec<&str> = wanted.copied().filter(|name| !known.contains_key(name)).collect();
    Section {
        title: view.title,
        about: view.about,
        command,
        date,
        runs: figures.values().flat_map(|metrics| metrics.values().map(Vec::len)).max().unwrap_or_default(),
        charts,
        rows: rows.collect(),
        subjects: subjects.into_iter().map(str::to_owned).collect(),
        conditions: known.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
        not_recorded: not_recorded.join(", "),
        not_measured,
        machine,
    }
}

/// A chart of the medians, with one group of bars for each subject; `None` if no subject was measured.
#[expect(clippy::cast_precision_loss, reason = "lengths of bars are a few hundred pixels")]
fn drawing(chart: &Chart, figures: &Figures) -> Option<Drawing> {
    let value = |subject: &str, metric: &str| median(figures[subject].get(metric)?);
    let all = || {
        figures
            .keys()
            .flat_map(|subject| chart.metrics.iter().filter_map(move |(metric, _)| value(subject, metric)))
    };
    let longest = all().max_by(f64::total_cmp)?;
    let scale = (WIDTH - LEFT - RIGHT) as f64 / longest.max(f64::MIN_POSITIVE);
    let mut y = TOP;
    let mut groups = Vec::new();
    for subject in figures.keys() {
        let mut bars = Vec::new();
        let top = y;
        for (class, (metric, _)) in chart.metrics.iter().enumerate() {
            let Some(value) = value(subject, metric) else { continue };
            let length = (value * scale).max(1.0);
            let label_x = format!("{:.0}", LEFT as f64 + length + 6.0);
            bars.push(Bar { y, length: format!("{length:.0}"), label_x, label: text(value), class });
            y += BAR + 3;
        }
        if !bars.is_empty() {
            groups.push(Group { name: subject.clone(), y: top + (y - top) / 2 + 3, bars });
            y += GAP;
        }
    }
    let legend =
        chart.metrics.iter().enumerate().map(|(class, (_, name))| Key { name, x: LEFT + class * 110, class });
    Some(Drawing { title: chart.title, width: WIDTH, height: y, legend: legend.collect(), groups })
}

/// A number with three significant digits.
fn text(value: f64) -> String {
    let decimals = match value.abs() {
        small if small < 0.0005 => 0,
        small if small < 1.0 => 3,
        small if small < 10.0 => 2,
        small if small < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// The median, with the smallest and the largest run if there are several.
fn spread(runs: &[f64]) -> Option<String> {
    let middle = text(median(runs)?);
    let smallest = text(runs.iter().copied().min_by(f64::total_cmp)?);
    let largest = text(runs.iter().copied().max_by(f64::total_cmp)?);
    Some(if smallest == largest { middle } else { format!("{middle} ({smallest} to {largest})") })
}

/// The median; of an even number of values the mean of the two in the middle.
fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(upper, values[values.len() / 2 - 1]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_bars_in_proportion_and_skips_what_was_not_measured() {
        let record: Record = serde_json::from_value(serde_json::json!({
            "command": "c", "date": "2026-01-01",
            "machine": { "cpu": "x", "cores": 2, "kernel": "6", "congestion_control": "cubic" },
            "figures": { "ours": { "m": [3.0, 1.0, 2.0] }, "peer": { "m": [1.0] }, "absent": {} },
        }))
        .unwrap();
        let chart = Chart { name: "n", title: "t", metrics: &[("m", "metric")] };
        let drawing = drawing(&chart, &record.figures).unwrap();
        let bars: Vec<_> =
            drawing.groups.iter().map(|group| (group.name.as_str(), group.bars[0].length.as_str())).collect();
        assert_eq!(bars, [("ours", "520"), ("peer", "260")]);
        assert_eq!(drawing.groups[0].bars[0].label, "2.00");
    }

    #[test]
    fn the_median_of_an_even_number_of_runs_is_the_mean_of_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_table_shows_spread_peers_that_were_not_measured_and_conditions_that_are_not_known() {
        let record: Record = serde_json::from_value(serde_json::json!({
            "command": "c", "date": "2026-01-01",
            "machine": { "cpu": "x", "cores": 2, "kernel": "6", "congestion_control": "bbr", "load": "0 0 0" },
            "conditions": { "order": "fixed" },
            "figures": { "warren-tunnel": { "m": [3.0, 1.0, 2.0] } },
            "not_measured": [{ "subject": "wireproxy", "case": "everything", "reason": "planted" }],
        }))
        .unwrap();
        let section = section(&VIEWS[1], record, Vec::new());
        assert_eq!(section.subjects, ["onetun", "warren-tunnel", "warren-userns", "wireproxy"]);
        let absent = "not measured";
        assert_eq!(section.rows[0].cells, [absent, "2.00 (1.00 to 3.00)", absent, absent]);
        assert_eq!(section.conditions, ["load before the run: 0 0 0", "order: fixed"]);
        assert_eq!(
            section.not_recorded,
            "commit, sysctls, vector instructions, congestion control, versions, warm-up"
        );
        assert_eq!(section.not_measured[0].reason, "planted");
    }
}
