//! Colours. Every pair of text and background has a contrast of at least 4.5 (WCAG 2.2 AA), which a test verifies.
//!
//! The four changes differ in hues that colour-blind people can distinguish (after Okabe and Ito), and in sign and dash.

use warren_model::topology::Change;

/// Colour theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// Light or dark, as the viewer prefers.
    #[default]
    Auto,
}

/// Colours of one theme, as `#rrggbb`.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    /// Behind everything.
    pub page: &'static str,
    /// A cloud.
    pub cloud: &'static str,
    /// A network, a node.
    pub card: &'static str,
    /// A subnet.
    pub inner: &'static str,
    /// A small label's ground.
    pub chip: &'static str,
    /// Edges of boxes.
    pub edge: &'static str,
    /// Edges of clouds.
    pub faint: &'static str,
    /// Text.
    pub ink: &'static str,
    /// Secondary text.
    pub muted: &'static str,
    /// Links, by kind: transit gateway, peering, internet, service, overlay, VPN.
    pub links: [&'static str; 6],
    /// Findings of a check: overlaps and forbidden paths.
    pub alert: &'static str,
    /// Ground and ink of create, update, replace, delete.
    pub changes: [(&'static str, &'static str); 4],
}

/// Dark on light.
pub const LIGHT: Palette = Palette {
    page: "#ffffff",
    cloud: "#f4f6f8",
    card: "#ffffff",
    inner: "#f4f6f8",
    chip: "#e8ecf0",
    edge: "#7d8894",
    faint: "#c9d1d9",
    ink: "#1b222b",
    muted: "#505b67",
    links: ["#4b5a6b", "#6a4fb3", "#1f6f8b", "#8a6100", "#a83a6e", "#4a6b12"],
    alert: "#b80022",
    changes: [("#def3ea", "#00634a"), ("#e1edf9", "#0a4f91"), ("#f5e6f8", "#7a3489"), ("#fde8dc", "#9c3600")],
};

/// Light on dark.
pub const DARK: Palette = Palette {
    page: "#0d1218",
    cloud: "#141b23",
    card: "#1b242e",
    inner: "#232e3a",
    chip: "#303d4b",
    edge: "#78879a",
    faint: "#344150",
    ink: "#e8eef4",
    muted: "#a9b6c3",
    links: ["#9fb0c2", "#b9a3f5", "#74c7e3", "#e0b454", "#f29ac0", "#a9d46a"],
    alert: "#ff9aa2",
    changes: [("#0f382d", "#4fe0b4"), ("#123353", "#8cc4ff"), ("#3e2247", "#e9adf5"), ("#48250f", "#ffae80")],
};

/// Index of a change in [`Palette::changes`].
pub(crate) fn slot(change: Change) -> Option<usize> {
    match change {
        Change::Keep => None,
        Change::Create => Some(0),
        Change::Update => Some(1),
        Change::Replace => Some(2),
        Change::Delete => Some(3),
    }
}

/// Dashes of an edge or link, so that changes differ in print.
pub(crate) fn dash(change: Change) -> Option<&'static str> {
    match change {
        Change::Keep | Change::Create => None,
        Change::Update => Some("9 4"),
        Change::Replace => Some("9 3 2 3"),
        Change::Delete => Some("2 3"),
    }
}
