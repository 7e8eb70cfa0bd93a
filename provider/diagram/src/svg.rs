//! Renders a scene as SVG without scripts, links or foreign objects. Every text is escaped.

use crate::scene::{BADGE, Block, BoxKind, Label, Line, Rect, Sample, Scene, Style, TILE};
use crate::text::measured;
use crate::theme::{DARK, LIGHT, Palette, Theme, dash, slot};
use std::fmt::Write as _;
use warren_model::topology::Change;

/// Radius of the sign of a link's change.
const SIGN: i32 = 6;

/// Classes of changes, in the order of [`Palette::changes`].
const NAMES: [&str; 4] = ["create", "update", "replace", "delete"];
const LINKS: [&str; 8] =
    ["transit", "peering", "internet", "service", "overlay", "vpn", "clash", "forbidden"];

/// The diagram as a complete file.
pub(crate) fn render(scene: &Scene, theme: Theme) -> String {
    let mut out = String::with_capacity(64 * 1024);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{}\">",
        escape(&scene.title),
        w = scene.w,
        h = scene.h
    );
    let _ = writeln!(out, "<title>{}</title>", escape(&scene.title));
    let _ = writeln!(out, "<style>{}</style>", style(theme));
    let _ = writeln!(out, "<rect class=\"page\" width=\"{}\" height=\"{}\"/>", scene.w, scene.h);
    body(&mut out, scene);
    out.push_str("</svg>\n");
    out
}

/// The content of the `svg` element without its style.
pub(crate) fn body(out: &mut String, scene: &Scene) {
    // Clouds are below the links, and the boxes in them above.
    for block in &scene.blocks {
        frame(out, block);
        labels(out, &block.labels);
    }
    out.push_str("<g class=\"lines\">\n");
    for item in &scene.lines {
        line(out, item);
    }
    out.push_str("</g>\n");
    for inner in scene.blocks.iter().flat_map(|block| &block.inner) {
        block(out, inner);
    }
    labels(out, &scene.labels);
    for (x, y, what) in &scene.samples {
        sample(out, *x, *y, *what);
    }
}

/// Fonts, widths and dashes, which are the same in every theme.
pub(crate) fn shapes() -> String {
    let mut out = String::from(
        "text{font-family:Inter,system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-weight:400}\
         .b{font-weight:600}.line{fill:none;stroke-width:2}.line.changed{stroke-width:2.5}\
         .line.clash{stroke-width:4}.line.forbidden{stroke-width:4;stroke-dasharray:11 5}\
         .sign{fill:none;stroke-width:2;stroke-linecap:round}.struck{text-decoration:line-through}",
    );
    let _ = write!(
        out,
        ".update{{stroke-dasharray:{}}}.replace{{stroke-dasharray:{}}}.delete{{stroke-dasharray:{}}}.solid{{stroke-dasharray:none}}",
        dash(Change::Update).unwrap_or_default(),
        dash(Change::Replace).unwrap_or_default(),
        dash(Change::Delete).unwrap_or_default()
    );
    out
}

/// CSS rules. The classes are the same in every theme.
pub(crate) fn style(theme: Theme) -> String {
    let mut out = shapes();
    match theme {
        Theme::Light => colours(&mut out, &LIGHT),
        Theme::Dark => colours(&mut out, &DARK),
        Theme::Auto => {
            colours(&mut out, &LIGHT);
            out.push_str("@media (prefers-color-scheme:dark){");
            colours(&mut out, &DARK);
            out.push('}');
        }
    }
    out
}

/// The colours of one palette.
pub(crate) fn colours(out: &mut String, palette: &Palette) {
    let Palette { page, cloud, card, inner, chip, edge, faint, ink, muted, links, alert, changes } = palette;
    let _ = write!(
        out,
        ".page{{fill:{page}}}.cloud{{fill:{cloud};stroke:{faint}}}.network,.node,.group{{fill:{card};stroke:{edge};stroke-width:1.5}}\
         .subnet{{fill:{inner};stroke:{faint};stroke-width:1}}.chip{{fill:{chip};stroke:none}}\
         .reserved{{fill:{chip};stroke:{edge};stroke-width:1;stroke-dasharray:4 2}}.t{{fill:{ink}}}.m{{fill:{muted}}}.whole{{fill:{faint}}}.share{{fill:{edge}}}.keep{{fill:{edge}}}"
    );
    for (name, colour) in LINKS.iter().zip(links.iter().chain([alert, alert])) {
        let _ = write!(out, ".{name}{{stroke:{colour}}}.dot.{name}{{fill:{colour};stroke:none}}");
    }
    for (name, (ground, colour)) in NAMES.iter().zip(changes) {
        let _ = write!(
            out,
            ".box.{name}{{fill:{ground};stroke:{colour};stroke-width:2}}.box.subnet.{name}{{fill:{card};stroke-width:1.5}}.box.chip.{name}{{stroke-width:1}}\
             .t.{name}{{fill:{colour}}}.fill.{name}{{fill:{colour};stroke:none}}"
        );
    }
    let _ = write!(
        out,
        ".sign{{stroke:{page}}}.mark{{fill:{alert}}}.t.on{{fill:{page}}}.box.alert,.box.finding{{stroke:{alert};stroke-width:3}}.box.finding{{fill:{card};stroke-width:1}}.box.chip.alert{{stroke-width:1.5}}.t.alert{{fill:{alert}}}"
    );
}

fn class(change: Change) -> &'static str {
    slot(change).map_or("", |at| NAMES[at])
}

fn block(out: &mut String, block: &Block) {
    let kind = match block.kind {
        BoxKind::Cloud => "cloud",
        BoxKind::Network => "network",
        BoxKind::Group => "group",
        BoxKind::Subnet => "subnet",
        BoxKind::Chip => "chip",
        BoxKind::Reserved => "reserved",
        BoxKind::Node => "node",
        BoxKind::Finding => "finding",
    };
    let _ = write!(out, "<g class=\"item is-{kind}\"");
    if !block.refs.is_empty() {
        // A list that scripts read, so it is whole.
        let refs: Vec<String> = block.refs.iter().map(|key| short(key)).collect();
        let _ = write!(out, " data-refs=\"{}\"", escape(&refs.join("\n")).replace('\n', "&#10;"));
    }
    if !block.key.is_empty() {
        let _ = write!(out, " data-key=\"{}\"", escape(&short(&block.key)));
    }
    out.push('>');
    if !block.tip.is_empty() {
        let _ = write!(out, "<title>{}</title>", escape(&short(&block.tip)));
    }
    frame(out, block);
    for (rect, change) in &block.bars {
        let whole = block.bars.first().is_some_and(|(first, _)| first == rect);
        let class = match class(*change) {
            "" if whole => "whole".to_owned(),
            "" => "share".to_owned(),
            name => format!("fill {name}"),
        };
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
            rect.x, rect.y, rect.w, rect.h
        );
    }
    tiles(out, block);
    for corners in &block.clashes {
        let _ = write!(out, "<path class=\"line clash\" d=\"{}\"/>", path(corners));
    }
    labels(out, &block.labels);
    out.push('\n');
    if !block.inner.is_empty() {
        out.push_str("<g class=\"inside\">\n");
        for inner in &block.inner {
            self::block(out, inner);
        }
        out.push_str("</g>\n");
    }
    out.push_str("</g>\n");
}

/// The box itself and the sign of its change.
fn frame(out: &mut String, block: &Block) {
    let (kind, radius) = match block.kind {
        BoxKind::Cloud => ("cloud", 14),
        BoxKind::Network => ("network", 9),
        BoxKind::Group => ("group", 9),
        BoxKind::Subnet => ("subnet", 6),
        BoxKind::Chip => ("chip", 10),
        BoxKind::Reserved => ("reserved", 3),
        BoxKind::Node => ("node", 18),
        BoxKind::Finding => ("finding", 4),
    };
    let rect = block.rect;
    let name = class(block.change);
    let outside = if block.external { " stroke-dasharray=\"1 5\" stroke-linecap=\"round\"" } else { "" };
    let mut class = format!("box {kind}");
    if !name.is_empty() {
        let _ = write!(class, " {name}");
    }
    if block.alert {
        class.push_str(" alert");
    }
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{radius}\"{outside}/>",
        rect.x, rect.y, rect.w, rect.h
    );
    if block.kind == BoxKind::Group {
        // A second edge behind the box shows that it represents several objects.
        let _ = write!(
            out,
            "<path class=\"line transit\" stroke-width=\"1\" d=\"M{} {}h{}\"/>",
            rect.x + 10,
            rect.bottom() + 3,
            rect.w - 20
        );
    }
    if let Some(area) = block.badge() {
        let fill = format!("fill {}", self::class(block.change));
        badge(out, (area.x + BADGE, area.y + BADGE), BADGE, block.change, &fill);
    }
}

/// A sign in a disc, drawn as a path because fonts differ.
fn badge(out: &mut String, (x, y): (i32, i32), r: i32, change: Change, fill: &str) {
    // Half the length of a stroke.
    let half = r / 2;
    let (left, long) = (x - half, 2 * half);
    let path = match change {
        Change::Keep => return,
        Change::Create => format!("M{left} {y}h{long}M{x} {}v{long}", y - half),
        Change::Delete => format!("M{left} {y}h{long}"),
        Change::Update => format!("M{left} {}q{} {} {half} -1t{half} -1", y + 1, half / 2, -half),
        Change::Replace => {
            format!(
                "M{left} {}h{long}M{x} {}v{}M{left} {}h{long}",
                y - half / 2,
                y - half - 1,
                long - 2,
                y + half
            )
        }
    };
    let _ = write!(
        out,
        "<circle class=\"{fill}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/><path class=\"sign solid\" d=\"{path}\"/>"
    );
}

/// The tiles of a group as one path for each colour, instead of one element for each tile.
fn tiles(out: &mut String, block: &Block) {
    for change in Change::ALL {
        let mut path = String::new();
        for (x, y, _) in block.tiles.iter().filter(|(_, _, it)| *it == change) {
            let _ = write!(path, "M{x} {y}h{TILE}v{TILE}h-{TILE}z");
        }
        if !path.is_empty() {
            let class = match class(change) {
                "" => "keep".to_owned(),
                name => format!("fill {name}"),
            };
            let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
}

fn labels(out: &mut String, labels: &[Label]) {
    for label in labels {
        let mut class = String::from(if label.style == Style::Muted { "m" } else { "t" });
        if label.style == Style::Strong {
            class.push_str(" b");
        }
        if label.struck {
            class.push_str(" struck");
        }
        let name = self::class(label.change);
        if label.alert {
            class.push_str(" alert");
        }
        if label.mark {
            class.push_str(" on");
            let Rect { x, y, w, h } = label.rect();
            let _ = write!(
                out,
                "<rect class=\"mark\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{}\"/>",
                h / 2
            );
        }
        if !name.is_empty() && label.style != Style::Muted && !label.alert {
            let _ = write!(class, " {name}");
        }
        let (x, anchor) = match label {
            // Narrow fonts leave room on both sides of a number.
            Label { mark: true, .. } => (label.x + label.w / 2, " text-anchor=\"middle\""),
            Label { end: true, .. } => (label.x + label.w, " text-anchor=\"end\""),
            _ => (label.x, ""),
        };
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{x}\" y=\"{}\" font-size=\"{}\"{anchor}",
            label.y, label.size
        );
        if !measured(&label.text) {
            // Glyphs of unknown width stay in their box in viewers that support an explicit width.
            let _ = write!(out, " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", label.w.max(1));
        }
        out.push('>');
        if let Some(whole) = &label.whole {
            let _ = write!(out, "<title>{}</title>", escape(&short(whole)));
        }
        let _ = write!(out, "{}</text>", escape(&label.text));
    }
}

fn path(points: &[(i32, i32)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x} {y}", if at == 0 { 'M' } else { 'L' });
    }
    path
}

fn line(out: &mut String, line: &Line) {
    let kind = LINKS[line.kind as usize];
    let name = class(line.change);
    let class = if name.is_empty() { kind.to_owned() } else { format!("{kind} changed {name}") };
    let path = path(&line.points);
    match &line.ends {
        Some((from, to)) => {
            let _ = write!(
                out,
                "<g class=\"link\" data-from=\"{}\" data-to=\"{}\">",
                escape(&short(from)),
                escape(&short(to))
            );
            if !line.tip.is_empty() {
                let _ = write!(out, "<title>{}</title>", escape(&short(&line.tip)));
            }
            let _ = write!(out, "<path class=\"line {class}\" d=\"{path}\"/>");
            for (x, y) in &line.points {
                let _ = write!(out, "<circle class=\"dot {class}\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>");
            }
            if let [(x1, y1), (x2, y2), ..] = line.points[..] {
                // Beside the box, where no other line passes.
                let by = |from: i32, to: i32| from + (to - from).clamp(-SIGN - 2, SIGN + 2);
                let fill = format!("dot solid {kind}");
                badge(out, (by(x1, x2), by(y1, y2)), SIGN, line.change, &fill);
            }
            out.push_str("</g>\n");
        }
        None => {
            let _ = writeln!(out, "<path class=\"line {class}\" d=\"{path}\"/>");
        }
    }
}

fn sample(out: &mut String, x: i32, y: i32, what: Sample) {
    match what {
        Sample::Change(change) => {
            let name = class(change);
            let class =
                if name.is_empty() { "box network".to_owned() } else { format!("box network {name}") };
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"26\" height=\"16\" rx=\"4\"/>"
            );
        }
        Sample::Link(kind) => {
            let class = LINKS[kind as usize];
            let _ = writeln!(out, "<path class=\"line {class}\" d=\"M{x} {}h26\"/>", y + 8);
        }
    }
}

/// A text for an attribute or element of XML. Characters that XML does not allow are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if c.is_control() || crate::card::hidden(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Limits the length of tooltips.
fn short(text: &str) -> String {
    if text.chars().count() <= 1500 {
        return text.to_owned();
    }
    text.chars().take(1500).chain(['…']).collect()
}
