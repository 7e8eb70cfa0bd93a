//! `warren capacity`: plans links, and compares a plan with what gateways and agents measure.

use crate::{FINDINGS, FINE, Outcome, Streams, emit, scrape, text_of};
use clap::ValueEnum;
use serde_json::json;
use warren_capacity::Plan;
use warren_capacity::measured::{Finding, compare, interfaces};
use warren_planfile::{InputError, Source, read_capacity};

const AFTER: &str = "Examples:
  # Compare the links of a capacity file, and recommend one
  warren capacity capacity.yaml

  # Write a summary for a pull request, and a chart
  warren capacity capacity.yaml --format markdown -o capacity.md
  warren capacity capacity.yaml --format svg -o capacity.svg

  # Compare the plan with the metrics of a gateway or agent
  warren capacity capacity.yaml --measured http://10.0.0.5:9586/metrics

  # The same where only another program can reach the gateway
  ssh gateway curl -s http://127.0.0.1:9586/metrics | warren capacity capacity.yaml --measured -

Exit codes:
  0  the recommended link carries the planned rate, or with --measured, each interface follows the plan
  1  no link carries the planned rate, or with --measured, an interface needs attention
  2  invalid arguments, or input that cannot be read, or output that cannot be written";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Capacity {
    /// Capacity file (.yaml, .yml, .json, .toml); `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) input: String,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t = Form::Human)]
    format: Form,
    /// Compare the plan with metrics of `warren-tunnel`: a file, an `http://` URL, or `-` for standard input.
    ///
    /// Gateways are compared with the planned rate of gateways, agents with that of agents. The utilisation covers the time since
    /// the last scrape. The output lists each interface of the metrics, as text or JSON.
    #[arg(long, value_name = "FILE|URL")]
    measured: Option<String>,
    /// Write the output to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text.
    Human,
    /// JSON, for scripts.
    Json,
    /// Markdown summary for a pull request.
    Markdown,
    /// SVG chart with the time and cost of each link.
    Svg,
}

pub(crate) fn run(capacity: &Capacity, streams: &mut Streams<'_>) -> Outcome {
    let text = text_of(&capacity.input, streams.stdin).map_err(|error| vec![error])?;
    let source = Source { name: &capacity.input, text: &text, owner: None };
    let request = read_capacity(&source)
        .map_err(|errors| errors.iter().map(InputError::to_string).collect::<Vec<_>>())?;
    let plan = warren_capacity::plan(&request);
    if let Some(from) = &capacity.measured {
        return measure(capacity, from, &plan, streams);
    }
    let text = match capacity.format {
        Form::Human => warren_capacity::human(&plan, warren_check::clean),
        Form::Json => warren_capacity::json(&plan).map_err(|error| vec![error.to_string()])?,
        Form::Markdown => warren_capacity::markdown(&plan),
        Form::Svg => warren_capacity::svg(&plan),
    };
    emit(&text, capacity.output.as_deref(), streams)?;
    Ok(if plan.fits() { FINE } else { FINDINGS })
}

fn measure(capacity: &Capacity, from: &str, plan: &Plan, streams: &mut Streams<'_>) -> Outcome {
    let refuse = |error: String| Err(vec![error]);
    if matches!(capacity.format, Form::Markdown | Form::Svg) {
        return refuse(
            "--measured: the comparison has no such format; use `--format human` or `--format json`".into(),
        );
    }
    if from == "-" && capacity.input == "-" {
        return refuse(
            "--measured: standard input is the capacity file already; save one of the two to a file".into(),
        );
    }
    let metrics = if from.contains("://") { scrape::get(from) } else { text_of(from, streams.stdin) };
    let metrics = metrics.map_err(|error| vec![error])?;
    let found = interfaces(&metrics).map_err(|error| {
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        vec![format!("{}{line}: {}; {}", scrape::shown(from), error.message, error.hint)]
    })?;
    let findings = compare(plan, &found);
    let text = match capacity.format {
        Form::Json => {
            let report = json!({
                "version": 1,
                "planned_rate_mbit": plan.planned_rate_mbit(),
                "agent_planned_rate_mbit": plan.agent_planned_rate_mbit(),
                "findings": findings,
            });
            format!("{report:#}\n")
        }
        _ => findings.iter().map(line).collect(),
    };
    emit(&text, capacity.output.as_deref(), streams)?;
    Ok(if findings.iter().any(|finding| finding.is_warning) { FINDINGS } else { FINE })
}

fn line(finding: &Finding) -> String {
    let word = if finding.is_warning { "warning" } else { "note" };
    let interface = warren_check::clean(&finding.interface);
    format!("{word}: {} {interface}: {}\n", finding.role.word(), finding.message)
}
