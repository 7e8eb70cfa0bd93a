//! `warren diagram`: a plan or state as a picture.

use crate::{FINE, Outcome, Streams, emit, emit_bytes, text_of};
use clap::ValueEnum;
use warren_diagram::{Detail, Options, Theme};
use warren_planfile::{InputError, Source, read_topology};

#[derive(Debug, clap::Args)]
pub(crate) struct Diagram {
    /// A plan or state: the output of `terraform show -json`; - is standard input.
    #[arg(value_name = "PLAN.json")]
    input: String,
    /// Form of the picture.
    #[arg(long, value_enum, default_value_t = Form::Svg)]
    format: Form,
    /// Mark what the plan creates, updates, replaces and deletes; without it the network is drawn as it is afterwards.
    #[arg(long)]
    diff: bool,
    /// How much of a network is drawn.
    #[arg(long, value_enum, default_value_t = DetailWord::Auto)]
    detail: DetailWord,
    /// Colours.
    #[arg(long, value_enum, default_value_t = ThemeWord::Auto)]
    theme: ThemeWord,
    /// Title of the picture; without it, the name of the file.
    #[arg(long)]
    title: Option<String>,
    /// Write the picture to a file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A picture for browsers and documents.
    Svg,
    /// The same as pixels.
    Png,
    /// A page of its own, to zoom, search and fold.
    Html,
    /// A summary for a pull request.
    Markdown,
    /// A flowchart that GitHub draws by itself.
    Mermaid,
    /// Graphviz.
    Dot,
    /// The address space: pools, what is used, reserved and free.
    Space,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DetailWord {
    /// By the number of networks: up to 40 full, up to 400 compact, beyond that grouped.
    Auto,
    /// Subnets, routes, and what is in them.
    Full,
    /// Name, range and counts.
    Compact,
    /// Networks of like names in one box.
    Grouped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ThemeWord {
    /// Light, or dark where the viewer prefers that.
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

pub(crate) fn run(diagram: &Diagram, streams: &mut Streams<'_>) -> Outcome {
    let text = text_of(&diagram.input, streams.stdin).map_err(|error| vec![error])?;
    let source = Source { name: &diagram.input, text: &text, owner: None };
    let plan = read_topology(&source).map_err(|error: InputError| vec![error.to_string()])?;
    let options = Options {
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
    let failed = |error: String| vec![format!("{}: {error}", diagram.input)];
    let picture = match diagram.format {
        Form::Svg => warren_diagram::svg(&plan, &options),
        Form::Png => {
            // There is no viewer whose wish could be followed.
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
