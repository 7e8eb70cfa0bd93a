//! The elements of a diagram: nested boxes with texts, and links around them. Coordinates are whole pixels.

use warren_model::topology::Change;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rect {
    /// Left.
    pub x: i32,
    /// Top.
    pub y: i32,
    /// Width.
    pub w: i32,
    /// Height.
    pub h: i32,
}

impl Rect {
    /// Right.
    pub fn right(&self) -> i32 {
        self.x + self.w
    }

    /// Bottom.
    pub fn bottom(&self) -> i32 {
        self.y + self.h
    }

    /// Whether the two share an area.
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }

    /// Whether `other` is inside.
    pub fn contains(&self, other: &Rect) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && other.right() <= self.right()
            && other.bottom() <= self.bottom()
    }
}

/// The type of object that a box represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxKind {
    /// A cloud.
    Cloud,
    /// A network.
    Network,
    /// Many networks in one box.
    Group,
    /// A subnet.
    Subnet,
    /// Something small inside a network or subnet.
    Chip,
    /// A reserved range.
    Reserved,
    /// Something that networks are linked to: internet, transit gateway, services.
    Node,
    /// A finding of a check, in the list of them.
    Finding,
}

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A name.
    Strong,
    /// A text.
    Plain,
    /// Secondary text.
    Muted,
}

/// A text on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Left.
    pub x: i32,
    /// Base line.
    pub y: i32,
    /// Width reserved for it, with the widest common fallback font.
    pub w: i32,
    /// Whether it ends at the right of its area instead of beginning at the left.
    pub end: bool,
    /// Size of the font.
    pub size: i32,
    /// How it looks.
    pub style: Style,
    /// What is shown.
    pub text: String,
    /// The whole text, if what is shown is shortened.
    pub whole: Option<String>,
    /// Drawn in the colour of this change.
    pub change: Change,
    /// Struck through.
    pub struck: bool,
    /// In the colour of findings.
    pub alert: bool,
    /// The number of a finding, on a ground in the colour of findings.
    pub mark: bool,
}

/// Room around the number of a finding: at its left and right, and above and below its letters.
pub(crate) const MARK: (i32, i32) = (5, 1);

impl Label {
    /// The area that letters may cover.
    pub fn rect(&self) -> Rect {
        // Ascender and descender of Inter and DejaVu Sans, as parts of the size.
        let (up, down) = (self.size * 97 / 100, self.size * 25 / 100);
        let (dx, dy) = if self.mark { MARK } else { (0, 0) };
        Rect { x: self.x - dx, y: self.y - up - dy, w: self.w + 2 * dx, h: up + down + 2 * dy }
    }
}

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The type of object that it represents.
    pub kind: BoxKind,
    /// Identity of the object.
    pub key: String,
    /// Tooltip, with one fact on each line.
    pub tip: String,
    /// Where it is.
    pub rect: Rect,
    /// What the run does to it.
    pub change: Change,
    /// Whether it is managed elsewhere.
    pub external: bool,
    /// Whether a check found something about it.
    pub alert: bool,
    /// For a finding: the keys of the objects that it is about.
    pub refs: Vec<String>,
    /// Lines between overlapping boxes inside, as their corners.
    pub clashes: Vec<Vec<(i32, i32)>>,
    /// Its own texts.
    pub labels: Vec<Label>,
    /// Bars: shares of an address range; the colour is that of the change.
    pub bars: Vec<(Rect, Change)>,
    /// Small squares, one for each network of a group.
    pub tiles: Vec<(i32, i32, Change)>,
    /// Boxes inside.
    pub inner: Vec<Block>,
}

/// Radius of the sign of a change.
pub(crate) const BADGE: i32 = 8;
/// Side of a tile.
pub(crate) const TILE: i32 = 6;

impl Block {
    pub(crate) fn new(kind: BoxKind, key: &str, change: Change) -> Self {
        Self {
            kind,
            key: key.to_owned(),
            tip: String::new(),
            rect: Rect::default(),
            change,
            external: false,
            alert: false,
            refs: Vec::new(),
            clashes: Vec::new(),
            labels: Vec::new(),
            bars: Vec::new(),
            tiles: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// Moves it with its content.
    pub(crate) fn shift(&mut self, dx: i32, dy: i32) {
        self.rect.x += dx;
        self.rect.y += dy;
        for label in &mut self.labels {
            label.x += dx;
            label.y += dy;
        }
        for (x, y) in self.clashes.iter_mut().flatten() {
            *x += dx;
            *y += dy;
        }
        for (rect, _) in &mut self.bars {
            rect.x += dx;
            rect.y += dy;
        }
        for (x, y, _) in &mut self.tiles {
            *x += dx;
            *y += dy;
        }
        for inner in &mut self.inner {
            inner.shift(dx, dy);
        }
    }

    /// Area of the sign of its change, if it has one.
    pub fn badge(&self) -> Option<Rect> {
        let inset = match self.kind {
            BoxKind::Subnet => 15,
            BoxKind::Network | BoxKind::Group | BoxKind::Node => 19,
            BoxKind::Cloud | BoxKind::Chip | BoxKind::Reserved | BoxKind::Finding => return None,
        };
        let corner = (self.rect.right() - inset - BADGE, self.rect.y + inset - BADGE);
        let rect = Rect { x: corner.0, y: corner.1, w: 2 * BADGE, h: 2 * BADGE };
        (self.change != Change::Keep).then_some(rect)
    }

    /// Visits it and everything in it.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        visit(self);
        for inner in &self.inner {
            inner.walk(visit);
        }
    }
}

/// What a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    /// An attachment to a transit gateway.
    Transit,
    /// A peering.
    Peering,
    /// To the internet.
    Internet,
    /// To services, through endpoints.
    Service,
    /// To the overlay: a gateway, or a pod's tunnel.
    Overlay,
    /// A VPN to another cloud.
    Vpn,
    /// Between two places whose ranges overlap.
    Clash,
    /// Along a path that a policy forbids.
    Forbidden,
}

impl LinkKind {
    /// Text in the legend.
    pub fn word(self) -> &'static str {
        match self {
            LinkKind::Transit => "transit gateway",
            LinkKind::Peering => "peering",
            LinkKind::Internet => "internet",
            LinkKind::Service => "service endpoint",
            LinkKind::Overlay => "overlay",
            LinkKind::Vpn => "VPN between clouds",
            LinkKind::Clash => "overlap",
            LinkKind::Forbidden => "forbidden path",
        }
    }

    pub(crate) const ALL: [LinkKind; 8] = [
        LinkKind::Transit,
        LinkKind::Peering,
        LinkKind::Internet,
        LinkKind::Service,
        LinkKind::Overlay,
        LinkKind::Vpn,
        LinkKind::Clash,
        LinkKind::Forbidden,
    ];
}

/// A part of a link: a line with corners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: LinkKind,
    /// The net it belongs to: lines of one net may touch each other.
    pub net: usize,
    /// What the run does to it.
    pub change: Change,
    /// Its corners.
    pub points: Vec<(i32, i32)>,
    /// Keys of the two ends; a trunk has none.
    pub ends: Option<(String, String)>,
    /// Tooltip.
    pub tip: String,
}

/// A diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// Width.
    pub w: i32,
    /// Height.
    pub h: i32,
    /// Title, for screen readers and the head of pages.
    pub title: String,
    /// Texts outside of all boxes.
    pub labels: Vec<Label>,
    /// Outermost boxes.
    pub blocks: Vec<Block>,
    /// Links.
    pub lines: Vec<Line>,
    /// Samples of the legend: where, and of what.
    pub samples: Vec<(i32, i32, Sample)>,
}

/// What a sample of the legend shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// A box with this change.
    Change(Change),
    /// A link.
    Link(LinkKind),
}
