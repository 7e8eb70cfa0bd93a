//! How much of a network is drawn.

/// Level of detail of each network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Full up to 40 networks, compact up to 400, grouped beyond.
    #[default]
    Auto,
    /// Subnets, routes and the objects in them.
    Full,
    /// Name, range and counts.
    Compact,
    /// Networks with similar names in one box.
    Grouped,
}
