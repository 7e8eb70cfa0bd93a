//! The plan as text, Markdown, JSON, and SVG.

mod chart;
mod tables;

pub use chart::svg;

use crate::options::{Cost, Verdict};
use crate::plan::Plan;
use crate::request::{LinkKind, Place, Store};
use crate::units::BitRate;
use serde::Serialize;
use tables::Table;

/// The plan as text for a terminal. Names come from the user: `clean` escapes what would steer the terminal.
pub fn human(plan: &Plan, clean: impl Fn(&str) -> String) -> String {
    let mut out = format!("{}\n", clean(&title(plan)));
    for (heading, table) in sections(plan) {
        out.push_str(&format!("\n{heading}\n{}", table.text(&clean)));
    }
    for (heading, reasons) in recommendations(plan) {
        out.push_str(&format!("\n{}\n", clean(&heading)));
        for reason in reasons {
            out.push_str(&format!("  - {}\n", clean(&reason)));
        }
    }
    out.push_str(&format!("\n{}\n", footer(plan)));
    out
}

/// The plan as Markdown for a pull request.
pub fn markdown(plan: &Plan) -> String {
    let mut out = format!("## {}\n", tables::plain(&title(plan)));
    for (heading, table) in sections(plan) {
        out.push_str(&format!("\n### {heading}\n\n{}", table.markdown()));
    }
    for (heading, reasons) in recommendations(plan) {
        out.push_str(&format!("\n**{}**\n\n", tables::plain(&heading)));
        for reason in reasons {
            out.push_str(&format!("- {}\n", tables::plain(&reason)));
        }
    }
    out.push_str(&format!("\n{}\n", tables::plain(&footer(plan))));
    out
}

/// The plan as JSON. `docs/schemas/capacity.v1.json` is its schema.
///
/// # Errors
/// A value cannot be written as JSON, which no plan has.
pub fn json(plan: &Plan) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Versioned<'a> {
        version: u32,
        #[serde(flatten)]
        plan: &'a Plan,
        planned_rate_mbit: Option<u64>,
        agent_planned_rate_mbit: Option<u64>,
    }
    let versioned = Versioned {
        version: 1,
        plan,
        planned_rate_mbit: plan.planned_rate_mbit(),
        agent_planned_rate_mbit: plan.agent_planned_rate_mbit(),
    };
    serde_json::to_string_pretty(&versioned).map(|text| text + "\n")
}

fn title(plan: &Plan) -> String {
    let store = match plan.store {
        Store::Aws => "AWS",
        Store::Gcp => "Google Cloud",
    };
    let place = match plan.place {
        Place::Rented => "rented GPUs",
        Place::Site => "GPUs at a site of your own",
    };
    format!("Capacity plan {}: {store} to {place}", plan.name)
}

fn footer(plan: &Plan) -> String {
    let own = if plan.prices_overridden { ", some overridden" } else { "" };
    format!("Price table of {}{own}, for 730 hours a month. Rates are per direction.", plan.prices_of)
}

fn sections(plan: &Plan) -> Vec<(String, Table)> {
    let mut found = vec![
        ("Demand".to_owned(), demand(plan)),
        ("Links".to_owned(), links(plan)),
        ("Transfers".to_owned(), transfers(plan)),
    ];
    if let Some(training) = &plan.training {
        let mut table = Table::new(&["mode", "traffic", "at", "time per step", "share"]);
        for mode in &training.modes {
            let share = format!("{}{}", mode.share, if mode.acceptable { "" } else { " (too much)" });
            let title = mode.mode.title().to_owned();
            table.row([title, mode.traffic.to_string(), mode.rate.to_string(), mode.time.to_string(), share]);
        }
        found.push((format!("Training, {} of gradients", training.gradients), table));
    }
    found
}

fn demand(plan: &Plan) -> Table {
    let demand = &plan.demand;
    let mut table = Table::new(&["demand", "rate", "from"]);
    let mut row =
        |name: &str, rate: BitRate, from: String| table.row([name.to_owned(), rate.to_string(), from]);
    row("down", demand.down, "all datasets at once, each in its time".to_owned());
    if let Some(checkpoint) = &plan.checkpoint {
        let from = format!("a checkpoint of {} every {}", checkpoint.size, checkpoint.interval);
        row("up", demand.up, from);
    }
    row("peak", demand.peak, "the larger direction".to_owned());
    row("sustained", demand.sustained, "the part of it that lasts ten minutes or more".to_owned());
    row("headroom", demand.headroom, "peak + 30 %".to_owned());
    row("planned", demand.planned, "headroom, and at least sustained / 70 %".to_owned());
    table
}

fn links(plan: &Plan) -> Table {
    let mut table = Table::new(&[
        "option",
        "kind",
        "rate",
        "peak uses",
        "lost to checkpoints",
        "cost a month",
        "verdict",
    ]);
    for option in &plan.options {
        let assumed =
            matches!(option.kind, LinkKind::CloudSync | LinkKind::Wireguard) && option.rate_is_default;
        table.row([
            option.name.clone(),
            option.kind.title().to_owned(),
            format!("{}{}", option.rate, if assumed { " (assumed)" } else { "" }),
            option.peak_utilisation.to_string(),
            option.lost_to_checkpoints.map_or("-".to_owned(), |share| share.to_string()),
            cost(&option.cost),
            option.verdict.word().to_owned(),
        ]);
    }
    table
}

fn cost(cost: &Cost) -> String {
    let waiting =
        if cost.waiting.value() > 0.0 { format!(", waiting {}", cost.waiting) } else { String::new() };
    format!("{} (egress {}{waiting})", cost.total, cost.egress)
}

fn transfers(plan: &Plan) -> Table {
    let mut table = Table::new(&["transfer", "size", "option", "time", "limit", "in time"]);
    for option in &plan.options {
        for transfer in &option.transfers {
            table.row([
                transfer.name.clone(),
                transfer.size.to_string(),
                option.name.clone(),
                transfer.time.to_string(),
                transfer.within.to_string(),
                if transfer.on_time() { "yes" } else { "no" }.to_owned(),
            ]);
        }
    }
    table
}

fn recommendations(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let heading = match plan.best() {
        Some(option) => format!("Recommended link: {} ({})", option.name, option.kind.title()),
        None => "Recommended link: none".to_owned(),
    };
    let mut reasons = plan.reasons.clone();
    if let Some(option) = plan.best()
        && let Some(mbit) = option.planned_rate_mbit
    {
        let agents = match option.agent_planned_rate_mbit {
            Some(mbit) => format!(", {mbit} Mbit/s for each agent"),
            None => "; set `pods` for that of agents".to_owned(),
        };
        reasons.push(format!(
            "planned rates with the tunnel's overhead: {mbit} Mbit/s for each gateway{agents}"
        ));
        if option.verdict == Verdict::Fits {
            reasons.push(format!(
                "limit all transfers together to the peak of {}: without a limit they use the whole link, and the alert fires",
                plan.demand.peak
            ));
        }
    }
    found.push((heading, reasons));
    if let Some(training) = &plan.training {
        let heading = format!("Recommended training: {}", training.recommended.title());
        found.push((heading, training.reasons.clone()));
    }
    found
}
