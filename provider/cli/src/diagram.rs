//! `warren diagram`: draws a plan or state.

use crate::args::Level;
use crate::{FINE, Outcome, Streams, baseline, emit, emit_bytes, policy, settings, text_of};
use clap::ValueEnum;
use std::num::NonZeroUsize;
use warren_check::Screen;
use warren_diagram::{Detail, Options, Theme};
use warren_model::Model;
use warren_model::topology::Plan;
use warren_model::verdict::Verdict;
use warren_planfile::{InputError, Source, read_topology};

const AFTER: &str = "Examples:
  # Draw the network as it is after the apply
  terraform plan -out=tf.plan
  terraform show -json tf.plan > plan.json
  warren diagram plan.json -o network.svg

  # Draw what the plan changes, as an interactive page
  warren diagram plan.json --diff --format html -o review.html

  # Write a summary for a pull request
  warren diagram plan.json --format markdown -o summary.md

  # Draw new findings only
  warren diagram plan.json --baseline warren-baseline.json -o network.svg

  # Draw the paths that a policy forbids
  warren diagram plan.json --policy policy.yaml -o network.svg

  # Draw the current state
  terraform show -json | warren diagram - -o network.svg

Exit codes:
  0  the diagram was written
  2  invalid arguments, or a file that cannot be read or written";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Diagram {
    /// Terraform plan or state, as printed by `terraform show -json`, or a saved plan or state file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) input: String,
    /// Format of the output.
    #[arg(long, value_enum, default_value_t = Form::Svg)]
    format: Form,
    /// Mark what the plan creates, updates, replaces and deletes.
    ///
    /// Without this option, the diagram shows the network as it is after the apply.
    #[arg(long)]
    diff: bool,
    /// Level of detail of each network.
    #[arg(long, value_enum, default_value_t = DetailWord::Auto)]
    detail: DetailWord,
    /// Colour theme.
    #[arg(long, value_enum, default_value_t = ThemeWord::Auto)]
    theme: ThemeWord,
    /// Policy file with assertions about what may reach what; paths that it forbids are drawn. Can be repeated.
    #[arg(long, value_name = "FILE")]
    policy: Vec<String>,
    /// Baseline with known findings, which are not drawn; `warren check --write-baseline` creates it.
    #[arg(long, value_name = "FILE")]
    baseline: Option<String>,
    /// Severity of overlaps of networks that are connected, or that belong to one fabric [default: error]
    ///
    /// Warnings are drawn like errors. `ignore` hides the overlaps.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    connected: Option<Level>,
    /// Severity of overlaps of networks that nothing in the file connects [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    unconnected: Option<Level>,
    /// Settings file with exceptions, instead of `warren.toml` in the working directory or the nearest folder above it.
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// Title of the diagram. Defaults to the name of the file.
    #[arg(long)]
    title: Option<String>,
    /// Write the diagram to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// SVG image.
    Svg,
    /// PNG image.
    Png,
    /// Self-contained HTML page with zoom, search and folding.
    Html,
    /// Markdown summary for a pull request.
    Markdown,
    /// Mermaid flowchart, which GitHub renders in Markdown.
    Mermaid,
    /// Graphviz DOT graph.
    Dot,
    /// SVG image of the address space: used, reserved and free ranges of each pool.
    Space,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DetailWord {
    /// Full up to 40 networks, compact up to 400, grouped beyond.
    Auto,
    /// Subnets, routes and the objects in them.
    Full,
    /// Name, range and counts.
    Compact,
    /// Networks with similar names in one box.
    Grouped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ThemeWord {
    /// Light or dark, as the viewer prefers. PNG images are light.
    Auto,
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

pub(crate) fn run(diagram: &Diagram, streams: &mut Streams<'_>) -> Outcome {
    let text = text_of(&diagram.input, streams.stdin).map_err(|error| vec![error])?;
    let source = Source { name: &diagram.input, text: &text, owner: None };
    let plan = read_topology(&source).map_err(|error: InputError| vec![error.to_string()])?;
    let verdict = verdict(diagram, &source, &plan, streams)?;
    let options = Options {
        verdict,
        title: diagram.title.clone(),
        diff: diagram.diff,
        detail: match diagram.detail {
            DetailWord::Auto => Detail::Auto,
            DetailWord::Full => Detail::Full,
            DetailWord::Compact => Detail::Compact,
            DetailWord::Grouped => Detail::Grouped,
        },
        theme: match diagram.theme {
            ThemeWord::Auto => Theme::Auto,
            ThemeWord::Light => Theme::Light,
            ThemeWord::Dark => Theme::Dark,
        },
    };
    let failed = |error: String| vec![format!("{}: cannot draw the network: {error}", diagram.input)];
    let picture = match diagram.format {
        Form::Svg => warren_diagram::svg(&plan, &options),
        Form::Png => {
            // A PNG image cannot follow the viewer's preference.
            let theme = if options.theme == Theme::Dark { Theme::Dark } else { Theme::Light };
            let svg = warren_diagram::svg(&plan, &Options { theme, ..options });
            let bytes = warren_diagram::png(&svg).map_err(failed)?;
            return emit_bytes(&bytes, diagram.output.as_deref(), streams).map(|()| FINE);
        }
        Form::Html => warren_diagram::html(&plan, &options).map_err(failed)?,
        Form::Markdown => warren_diagram::markdown(&plan, &options).map_err(failed)?,
        Form::Mermaid => warren_diagram::mermaid(&plan, &options),
        Form::Dot => warren_diagram::dot(&plan, &options),
        Form::Space => warren_diagram::space_svg(&plan, &options),
    };
    emit(&picture, diagram.output.as_deref(), streams)?;
    Ok(FINE)
}

/// What `warren check` finds in the same file with the same options: overlaps, and paths that the policies forbid.
fn verdict(
    diagram: &Diagram,
    source: &Source<'_>,
    plan: &Plan,
    streams: &mut Streams<'_>,
) -> Result<Verdict, Vec<String>> {
    let mut errors = Vec::new();
    let assertions = policy::assertions(&diagram.policy, streams.stdin, &mut errors);
    let mut settings = settings::of_file(diagram.config.as_deref(), &mut errors);
    settings::set(&mut settings.fabrics, diagram.connected, diagram.unconnected);
    let known = diagram.baseline.as_deref().map(baseline::read).transpose();
    let known = known.map_err(|error| errors.push(error)).ok().flatten();
    let input =
        warren_planfile::read(source).map_err(|found| errors.extend(found.iter().map(InputError::to_string)));
    let (Ok(input), true) = (input, errors.is_empty()) else { return Err(errors) };
    let screen = known.map_or_else(Screen::default, Screen::compare);
    let screen = screen.with_exceptions(settings.exceptions, settings::today());
    let limit = NonZeroUsize::new(crate::args::MAX_FINDINGS);
    let report = warren_check::check(&[input], Model::default(), limit, &settings.fabrics, &screen);
    Ok(warren_check::verdict(&report, &assertions, plan, &screen))
}
