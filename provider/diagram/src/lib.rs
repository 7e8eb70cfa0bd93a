//! Pictures of a network and of what a run changes in it.
//!
//! The crate is pure: a [`Plan`] and options in, text or bytes out, and the same bytes for the same plan.

mod arrange;
mod card;
mod cloud;
mod group;
mod html;
mod index;
mod markdown;
mod mermaid;
mod nets;
mod overlay;
mod png;
mod route;
mod scene;
mod space;
mod svg;
mod text;
pub mod theme;

use warren_model::topology::{Change, Plan, Topology, compare};

pub use arrange::Detail;
pub use scene::{Block, BoxKind, Label, Line, LinkKind, Rect, Sample, Scene, Style};
pub use theme::Theme;

/// How a picture is to look.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Title; without one, the name of the input.
    pub title: Option<String>,
    /// Whether changes are shown; else the network as it is after the run.
    pub diff: bool,
    /// How much of a network is drawn.
    pub detail: Detail,
    /// Which colours.
    pub theme: Theme,
}

/// What is drawn: the network as it is after the run, with what changes if that is wanted.
fn drawn(plan: &Plan, options: &Options) -> Topology {
    if options.diff && plan.changes {
        return compare(plan);
    }
    let mut after = plan.after.clone();
    after.heads_mut().for_each(|head| head.change = Change::Keep);
    after
        .tables
        .values_mut()
        .flat_map(|table| &mut table.routes)
        .for_each(|route| route.change = Change::Keep);
    after
}

fn title<'a>(plan: &'a Plan, options: &'a Options) -> &'a str {
    options.title.as_deref().unwrap_or(&plan.file)
}

/// The picture as boxes, texts and lines, before it becomes a text of some format.
pub fn scene(plan: &Plan, options: &Options) -> Scene {
    let changes = options.diff && plan.changes;
    arrange::arrange(&drawn(plan, options), title(plan, options), changes, options.detail)
}

/// The address-space map as boxes and texts.
pub fn space_scene(plan: &Plan, options: &Options) -> Scene {
    space::arrange(&drawn(plan, options), title(plan, options))
}

/// The picture as SVG.
pub fn svg(plan: &Plan, options: &Options) -> String {
    svg::render(&scene(plan, options), options.theme)
}

/// The address-space map as SVG.
pub fn space_svg(plan: &Plan, options: &Options) -> String {
    svg::render(&space_scene(plan, options), options.theme)
}

/// A picture, made of [`svg`] or [`space_svg`] with a theme that is not [`Theme::Auto`], as PNG of twice its size.
///
/// # Errors
/// The picture cannot be drawn.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    png::render(svg, 2.0)
}

/// The picture as a page of its own, to zoom, search and fold.
///
/// # Errors
/// The page's template cannot be filled.
pub fn html(plan: &Plan, options: &Options) -> Result<String, String> {
    html::render(&scene(plan, options), options.theme).map_err(|error| error.to_string())
}

/// The summary for a pull request.
///
/// # Errors
/// The summary's template cannot be filled.
pub fn markdown(plan: &Plan, options: &Options) -> Result<String, String> {
    markdown::render(plan, title(plan, options)).map_err(|error| error.to_string())
}

/// The network as a Mermaid flowchart.
pub fn mermaid(plan: &Plan, options: &Options) -> String {
    mermaid::mermaid(&drawn(plan, options))
}

/// The network as a Graphviz graph.
pub fn dot(plan: &Plan, options: &Options) -> String {
    mermaid::dot(&drawn(plan, options))
}
