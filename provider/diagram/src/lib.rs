//! Diagrams of a network and of the changes that a plan makes to it.
//!
//! The crate is pure: a [`Plan`] and options in, text or bytes out. The same plan always produces the same bytes.

mod advances;
mod arrange;
mod beyond;
mod card;
mod cloud;
mod detail;
mod group;
mod html;
mod index;
mod markdown;
mod mermaid;
mod names;
mod nets;
mod overlay;
mod png;
mod route;
mod scene;
mod space;
mod subnet;
mod svg;
mod text;
pub mod theme;
mod unattached;
mod verdict;

use warren_model::topology::{Change, Plan, Topology, compare};
use warren_model::verdict::Verdict;

pub use detail::Detail;
pub use scene::{Block, BoxKind, Label, Line, LinkKind, Rect, Sample, Scene, Style};
pub use theme::Theme;

/// Options of a diagram.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Title. Defaults to the name of the input.
    pub title: Option<String>,
    /// Whether to mark changes. Otherwise, the diagram shows the network as it is after the apply.
    pub diff: bool,
    /// Level of detail of each network.
    pub detail: Detail,
    /// Colours.
    pub theme: Theme,
    /// What a check found: overlaps and forbidden paths, which are marked.
    pub verdict: Verdict,
}

/// The network as it is after the apply, with the changes if requested.
fn drawn(plan: &Plan, options: &Options) -> Topology {
    if options.diff && plan.changes {
        return names::distinct(unattached::gather(compare(plan)));
    }
    let mut after = plan.after.clone();
    after.heads_mut().for_each(|head| head.change = Change::Keep);
    after
        .tables
        .values_mut()
        .flat_map(|table| &mut table.routes)
        .for_each(|route| route.change = Change::Keep);
    names::distinct(unattached::gather(after))
}

fn title<'a>(plan: &'a Plan, options: &'a Options) -> &'a str {
    options.title.as_deref().unwrap_or(&plan.file)
}

/// The diagram as boxes, texts and lines, independent of the output format.
pub fn scene(plan: &Plan, options: &Options) -> Scene {
    let changes = options.diff && plan.changes;
    arrange::arrange(&drawn(plan, options), title(plan, options), changes, options)
}

/// The address-space map as boxes and texts.
pub fn space_scene(plan: &Plan, options: &Options) -> Scene {
    space::arrange(&drawn(plan, options), title(plan, options), &options.verdict)
}

/// The diagram as SVG.
pub fn svg(plan: &Plan, options: &Options) -> String {
    svg::render(&scene(plan, options), options.theme)
}

/// The address-space map as SVG.
pub fn space_svg(plan: &Plan, options: &Options) -> String {
    svg::render(&space_scene(plan, options), options.theme)
}

/// Renders the output of [`svg`] or [`space_svg`] as PNG at twice its size. The theme must not be [`Theme::Auto`].
///
/// # Errors
/// The image cannot be rendered.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    png::render(svg, 2.0)
}

/// The diagram as a self-contained page with zoom, search and folding.
///
/// # Errors
/// The template of the page cannot be rendered.
pub fn html(plan: &Plan, options: &Options) -> Result<String, String> {
    html::render(&scene(plan, options), options.theme).map_err(|error| error.to_string())
}

/// The summary for a pull request.
///
/// # Errors
/// The template of the summary cannot be rendered.
pub fn markdown(plan: &Plan, options: &Options) -> Result<String, String> {
    markdown::render(plan, title(plan, options), &options.verdict).map_err(|error| error.to_string())
}

/// The network as a Mermaid flowchart.
pub fn mermaid(plan: &Plan, options: &Options) -> String {
    mermaid::mermaid(&drawn(plan, options), &options.verdict)
}

/// The network as a Graphviz graph.
pub fn dot(plan: &Plan, options: &Options) -> String {
    mermaid::dot(&drawn(plan, options), &options.verdict)
}
