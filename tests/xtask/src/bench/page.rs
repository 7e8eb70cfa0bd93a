//! `docs/benchmarks.md` and its charts, drawn from the recorded measurements.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use super::What;
use super::record::{self, Machine, Record};
use crate::docs::output::Output;
use crate::docs::templates::Templates;

/// What the page shows of a measurement.
struct View {
    what: What,
    title: &'static str,
    about: &'static str,
    /// Charts, each of metrics with one unit.
    charts: &'static [Chart],
}

/// A bar chart.
struct Chart {
    name: &'static str,
    title: &'static str,
    /// Metrics, and their names in the legend.
    metrics: &'static [(&'static str, &'static str)],
}

const VIEWS: [View; 6] = [
    View {
        what: What::Tunnel,
        title: "Tunnel",
        about: "Two network namespaces on one machine, joined by a veth pair with an MTU of 1500. The same implementation runs at both ends, and all processes share the same cores. CPU seconds are those of both ends for 10^9 bytes received. `wireguard-go` is the package of Debian 12, which does not offload segmentation; the newest version is under [Measured earlier](#measured-earlier).",
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
        title: "Forwarding at the gateway",
        about: "A pod reaches a server through a gateway that forwards in the kernel or through sockets (`user`). Both ends of the TCP connection use CUBIC. The long path has a round-trip time of 80 ms, 1 Gbit/s, and 0.1 % loss.",
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
        title: "Enrolment and failover",
        about: "`enrol`: 10,000 pods enrol with one gateway over TLS. `restart`: 1,000 pods restart at once. `failover`: 50 agents use three gateways that share leases through etcd. Pods and gateways share the machine.",
        charts: &[],
    },
    View {
        what: What::Cidr,
        title: "Address solver",
        about: "`overlaps` finds every overlapping pair, `plan` and `heaps` allocate networks, `merge` aggregates ranges.",
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
        what: What::Provider,
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
            let Some(drawing) = drawing(chart, &record) else { continue };
            output.file(
                format!("docs/benchmarks/{}.svg", chart.name),
                templates.render("chart.svg", &drawing)?,
            );
            charts.push(Picture { name: chart.name, title: chart.title });
        }
        sections.push(section(view, record, charts));
    }
    let page = templates.render("benchmarks.md", &serde_json::json!({ "sections": sections }))?;
    output.file("docs/benchmarks.md", page);
    Ok(())
}

fn section(view: &View, record: Record, charts: Vec<Picture>) -> Section {
    let metrics: BTreeSet<&String> = record.figures.values().flat_map(|metrics| metrics.keys()).collect();
    let cell = |subject: &str, metric: &str| {
        record.figures[subject]
            .get(metric)
            .and_then(|runs| median(runs))
            .map_or_else(|| "not measured".to_owned(), text)
    };
    let rows = metrics.into_iter().map(|metric| Row {
        metric: metric.clone(),
        cells: record.figures.keys().map(|subject| cell(subject, metric)).collect(),
    });
    let runs = record.figures.values().flat_map(|metrics| metrics.values().map(Vec::len)).max();
    Section {
        title: view.title,
        about: view.about,
        charts,
        subjects: record.figures.keys().cloned().collect(),
        rows: rows.collect(),
        runs: runs.unwrap_or_default(),
        command: record.command,
        date: record.date,
        machine: record.machine,
    }
}

/// A chart of the medians, with one group of bars for each subject; `None` if no subject was measured.
#[expect(clippy::cast_precision_loss, reason = "lengths of bars are a few hundred pixels")]
fn drawing(chart: &Chart, record: &Record) -> Option<Drawing> {
    let value = |subject: &str, metric: &str| median(record.figures[subject].get(metric)?);
    let all = || {
        record
            .figures
            .keys()
            .flat_map(|subject| chart.metrics.iter().filter_map(move |(metric, _)| value(subject, metric)))
    };
    let longest = all().max_by(f64::total_cmp)?;
    let scale = (WIDTH - LEFT - RIGHT) as f64 / longest.max(f64::MIN_POSITIVE);
    let mut y = TOP;
    let mut groups = Vec::new();
    for subject in record.figures.keys() {
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
        let drawing = drawing(&chart, &record).unwrap();
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
}
