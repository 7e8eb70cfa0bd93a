//! Pictures of a network and of what a run changes in it.
//!
//! The crate is pure: a [`Plan`] and options in, text or bytes out, and the same bytes for the same plan.

mod arrange;
mod card;
mod index;
mod route;
mod scene;
mod svg;
mod text;
pub mod theme;

use warren_model::topology::{Plan, overlay};

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

/// The picture as boxes, texts and lines, before it becomes a text of some format.
pub fn scene(plan: &Plan, options: &Options) -> Scene {
    let title = options.title.as_deref().unwrap_or(&plan.file);
    if options.diff && plan.changes {
        return arrange::arrange(&overlay(plan), title, true, options.detail);
    }
    let mut after = plan.after.clone();
    after.heads_mut().for_each(|head| head.change = warren_model::topology::Change::Keep);
    arrange::arrange(&after, title, false, options.detail)
}

/// The picture as SVG.
pub fn svg(plan: &Plan, options: &Options) -> String {
    svg::render(&scene(plan, options), options.theme)
}
