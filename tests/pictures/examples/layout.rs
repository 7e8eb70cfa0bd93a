//! Compares the layout of diagrams with that of Graphviz `dot`: `cargo run --release -p warren-pictures --example layout`.
//! `-- plan 625` prints the plan of a hub with spokes instead, to measure time and memory.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

#[path = "../../../provider/diagram/tests/common/mod.rs"]
mod common;

use std::time::Instant;

use anyhow::Result;
use warren_diagram::{Detail, Options, Scene, scene};
use warren_model::topology::Plan;
use warren_pictures::corpus;
use warren_pictures::layout::{Figures, dot, ours};

/// Settings of `dot`, each with a name.
const SETTINGS: &[(&str, &str)] = &[
    ("dot", "rankdir=LR"),
    ("dot, top-down", "rankdir=TB"),
    ("dot, orthogonal", "rankdir=LR; splines=ortho"),
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, count] = words.as_slice()
        && word == "plan"
    {
        println!("{}", common::spokes(count.parse()?, true));
        return Ok(());
    }
    let mut plans: Vec<(String, Plan, Detail)> = Vec::new();
    for count in [30, 300] {
        let text = common::spokes(count, true);
        plans.push((format!("{count} networks"), common::read("plan", &text), Detail::Auto));
    }
    for (name, plan, _) in corpus::plans()? {
        plans.push((name, plan, Detail::Full));
    }
    println!(
        "| Plan | Layout | Boxes | Links | Crossings | Across boxes | Shared | Size | Area | Length | Time |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, plan, detail) in &plans {
        let start = Instant::now();
        let scene = scene(plan, &Options { diff: true, detail: *detail, ..Options::default() });
        let spent = start.elapsed();
        let (layout, links) = ours(&scene);
        if links.is_empty() {
            continue;
        }
        row(name, "warren", &layout.figures(links.len()), spent.as_secs_f64());
        for (kind, settings) in SETTINGS {
            compare(name, kind, settings, &scene, links.len())?;
        }
    }
    Ok(())
}

fn compare(name: &str, kind: &str, settings: &str, scene: &Scene, links: usize) -> Result<()> {
    let start = Instant::now();
    let layout = dot(scene, settings)?;
    let spent = start.elapsed();
    row(name, kind, &layout.figures(links), spent.as_secs_f64());
    Ok(())
}

fn row(name: &str, kind: &str, figures: &Figures, seconds: f64) {
    let Figures { boxes, links, crossings, through, shared, covered, size: (w, h), length } = figures;
    assert_eq!(*covered, 0, "boxes lie on each other");
    println!(
        "| {name} | {kind} | {boxes} | {links} | {crossings} | {through} | {shared:.0} px | {w:.0} × {h:.0} | {:.2} Mpx | {:.1} kpx | {seconds:.2} s |",
        w * h / 1e6,
        length / 1e3
    );
}
