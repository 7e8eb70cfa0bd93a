//! Measures layouts of the same boxes and links: crossings, links across boxes, boxes on boxes, area and length.
//!
//! Graphviz `dot` gets the boxes of a diagram with their sizes, grouped by cloud, and the links between them, so that only the
//! positions and the courses of the links differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use warren_diagram::{Block, Scene};

use crate::picture::Area;

type Point = (f64, f64);

/// Points of a Bézier curve that stand for it.
const SAMPLES: i32 = 16;
/// Differences that no reader sees.
const SLACK: f64 = 1.0;

/// A link: the boxes that it may touch, and its course.
#[derive(Debug, Clone, Default)]
pub struct Wire {
    /// Wires with the same number are one link, whose parts may touch.
    pub net: usize,
    /// Indices of the boxes at its ends.
    pub ends: Vec<usize>,
    /// Its corners.
    pub points: Vec<Point>,
}

/// Boxes and links with their positions.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Boxes.
    pub boxes: Vec<Area>,
    /// Links.
    pub wires: Vec<Wire>,
}

/// What is counted in a layout.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Boxes.
    pub boxes: usize,
    /// Links between two boxes.
    pub links: usize,
    /// Points at which two links cross.
    pub crossings: usize,
    /// Pairs of a link and a box that it does not belong to, but runs across.
    pub through: usize,
    /// Length that two links share, as if they were one, in pixels.
    pub shared: f64,
    /// Pairs of boxes that lie on each other.
    pub covered: usize,
    /// Width and height of everything, in pixels.
    pub size: (f64, f64),
    /// Length of all links, in pixels.
    pub length: f64,
}

/// The boxes and links of a diagram where `warren diagram` puts them, and the pairs of boxes that are linked.
pub fn ours(scene: &Scene) -> (Layout, Vec<(usize, usize)>) {
    let mut layout = Layout::default();
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    for block in scene.blocks.iter().flat_map(|cloud| &cloud.inner).filter(|block| !block.key.is_empty()) {
        place.insert(&block.key, layout.boxes.len());
        layout.boxes.push(area(block));
    }
    let mut links = Vec::new();
    for line in &scene.lines {
        let ends: Vec<usize> = line
            .ends
            .iter()
            .flat_map(|(from, to)| [from, to])
            .filter_map(|key| place.get(key.as_str()).copied())
            .collect();
        if let [from, to] = ends[..] {
            links.push((from, to));
        }
        let points = line.points.iter().map(|(x, y)| (f64::from(*x), f64::from(*y))).collect();
        layout.wires.push(Wire { net: line.net, ends, points });
    }
    (layout, links)
}

fn area(block: &Block) -> Area {
    let rect = block.rect;
    Area { x: rect.x.into(), y: rect.y.into(), w: rect.w.into(), h: rect.h.into() }
}

/// The same boxes and links as `dot` places them.
///
/// # Errors
/// Graphviz cannot be installed, or its answer cannot be read.
pub fn dot(scene: &Scene, settings: &str) -> Result<Layout> {
    let (own, links) = ours(scene);
    let mut graph = format!("graph g {{\n  {settings};\n  node [shape=box, fixedsize=true, label=\"\"];\n");
    let mut at = 0;
    for (number, cloud) in scene.blocks.iter().enumerate() {
        let _ = writeln!(graph, "  subgraph cluster_{number} {{");
        for _ in cloud.inner.iter().filter(|block| !block.key.is_empty()) {
            // Graphviz measures in inches of 72 points.
            let Area { w, h, .. } = own.boxes[at];
            let _ = writeln!(graph, "    n{at} [width={:.4}, height={:.4}];", w / 72.0, h / 72.0);
            at += 1;
        }
        graph.push_str("  }\n");
    }
    for (from, to) in &links {
        let _ = writeln!(graph, "  n{from} -- n{to};");
    }
    graph.push_str("}\n");
    let mut child = Command::new(warren_programs::program("dot")?)
        .arg("-Tplain")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no standard input")?;
    input.write_all(graph.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "dot: {}", String::from_utf8_lossy(&output.stderr).trim());
    plain(&String::from_utf8(output.stdout)?, own.boxes.len())
}

/// Reads the output format `plain`: lines of words, where edges are B-splines of cubic Bézier curves.
fn plain(text: &str, boxes: usize) -> Result<Layout> {
    let mut layout =
        Layout { boxes: vec![Area { x: 0.0, y: 0.0, w: 0.0, h: 0.0 }; boxes], wires: Vec::new() };
    let mut tall = 0.0;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| -> Result<f64> {
            let word = words.get(at).with_context(|| line.to_owned())?;
            Ok(word.parse::<f64>().with_context(|| line.to_owned())? * 72.0)
        };
        let index = |at: usize| -> Result<usize> {
            let word = words.get(at).and_then(|word| word.strip_prefix('n'));
            word.with_context(|| line.to_owned())?.parse().with_context(|| line.to_owned())
        };
        match words.first() {
            Some(&"graph") => tall = number(3)?,
            Some(&"node") => {
                let (x, y, w, h) = (number(2)?, number(3)?, number(4)?, number(5)?);
                let place = layout.boxes.get_mut(index(1)?).with_context(|| line.to_owned())?;
                *place = Area { x: x - w / 2.0, y: tall - y - h / 2.0, w, h };
            }
            Some(&"edge") => {
                let count: usize = words.get(3).with_context(|| line.to_owned())?.parse()?;
                let controls: Vec<Point> = (0..count)
                    .map(|at| Ok((number(4 + 2 * at)?, tall - number(5 + 2 * at)?)))
                    .collect::<Result<_>>()?;
                let (net, ends) = (layout.wires.len(), vec![index(1)?, index(2)?]);
                layout.wires.push(Wire { net, ends, points: flat(&controls) });
            }
            _ => {}
        }
    }
    Ok(layout)
}

/// The curve as a line with corners.
fn flat(controls: &[Point]) -> Vec<Point> {
    let mut points: Vec<Point> = controls.first().copied().into_iter().collect();
    for at in (0..controls.len().saturating_sub(1)).step_by(3) {
        let [a, b, c, d] = controls[at..].first_chunk::<4>().copied().unwrap_or([controls[at]; 4]);
        let straight = [a, b, c, d].iter().all(|p| p.0 == a.0) || [a, b, c, d].iter().all(|p| p.1 == a.1);
        let steps = if straight { 1 } else { SAMPLES };
        for step in 1..=steps {
            let t = f64::from(step) / f64::from(steps);
            let (u, v) = (1.0 - t, t);
            let mix = |a: f64, b: f64, c: f64, d: f64| {
                u * u * u * a + 3.0 * u * u * v * b + 3.0 * u * v * v * c + v * v * v * d
            };
            points.push((mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1)));
        }
    }
    points
}

/// A straight part of a link.
struct Part {
    wire: usize,
    from: Point,
    to: Point,
}

impl Layout {
    /// Counts what makes a picture hard to read.
    pub fn figures(&self, links: usize) -> Figures {
        let parts: Vec<Part> = self
            .wires
            .iter()
            .enumerate()
            .flat_map(|(wire, it)| {
                it.points.windows(2).map(move |pair| Part { wire, from: pair[0], to: pair[1] })
            })
            .collect();
        let mut figures = Figures { boxes: self.boxes.len(), links, ..Figures::default() };
        for (at, a) in parts.iter().enumerate() {
            figures.length += (a.to.0 - a.from.0).hypot(a.to.1 - a.from.1);
            for b in &parts[at + 1..] {
                if self.wires[a.wire].net == self.wires[b.wire].net {
                    continue;
                }
                if let Some(point) = crossing(a, b)
                    && !self.meet(a.wire, b.wire, point)
                {
                    figures.crossings += 1;
                }
                figures.shared += shared(a, b);
            }
        }
        for (wire, link) in self.wires.iter().enumerate() {
            let across = |index: usize, area: &Area| {
                !link.ends.contains(&index)
                    && parts.iter().filter(|part| part.wire == wire).any(|part| enters(part, area))
            };
            figures.through +=
                self.boxes.iter().enumerate().filter(|(index, area)| across(*index, area)).count();
        }
        for (at, area) in self.boxes.iter().enumerate() {
            figures.covered += self.boxes[at + 1..].iter().filter(|other| area.touches(other)).count();
        }
        figures.size = self.size();
        figures
    }

    /// Whether two links meet at a box that both end at.
    fn meet(&self, a: usize, b: usize, point: Point) -> bool {
        let (a, b) = (&self.wires[a].ends, &self.wires[b].ends);
        let spot = Area { x: point.0 - SLACK, y: point.1 - SLACK, w: 2.0 * SLACK, h: 2.0 * SLACK };
        a.iter().filter(|end| b.contains(end)).any(|end| self.boxes[*end].touches(&spot))
    }

    fn size(&self) -> (f64, f64) {
        let corners = self.boxes.iter().flat_map(|it| [(it.x, it.y), (it.x + it.w, it.y + it.h)]);
        let points: Vec<Point> = corners.chain(self.wires.iter().flat_map(|it| it.points.clone())).collect();
        let span = |of: fn(&Point) -> f64| {
            let (low, high) =
                points.iter().map(of).fold((f64::MAX, f64::MIN), |it, x| (it.0.min(x), it.1.max(x)));
            (high - low).max(0.0)
        };
        (span(|point| point.0), span(|point| point.1))
    }
}

/// The point at which two parts cross. Parts that only touch at an end do not.
fn crossing(a: &Part, b: &Part) -> Option<Point> {
    let (ax, ay) = (a.to.0 - a.from.0, a.to.1 - a.from.1);
    let (bx, by) = (b.to.0 - b.from.0, b.to.1 - b.from.1);
    let turn = ax * by - ay * bx;
    if turn.abs() < 1e-9 {
        return None;
    }
    let (dx, dy) = (b.from.0 - a.from.0, b.from.1 - a.from.1);
    let (s, t) = ((dx * by - dy * bx) / turn, (dx * ay - dy * ax) / turn);
    // A crossing at the corner of a curve is counted once: at the beginning of a part.
    let on = |share: f64| (0.0..1.0).contains(&share);
    (on(s) && on(t)).then_some((a.from.0 + s * ax, a.from.1 + s * ay))
}

/// Length that two parts share if both are horizontal or vertical.
fn shared(a: &Part, b: &Part) -> f64 {
    let common = |of: fn(Point) -> f64, across: fn(Point) -> f64| {
        let flat = [a.to, b.from, b.to].iter().all(|point| (across(*point) - across(a.from)).abs() < 0.5);
        let low = of(a.from).min(of(a.to)).max(of(b.from).min(of(b.to)));
        let high = of(a.from).max(of(a.to)).min(of(b.from).max(of(b.to)));
        if flat && high - low > SLACK { high - low } else { 0.0 }
    };
    common(|point| point.0, |point| point.1).max(common(|point| point.1, |point| point.0))
}

/// Whether a part runs through a box, and not only along its edge (clipping by Liang and Barsky).
fn enters(part: &Part, area: &Area) -> bool {
    let (dx, dy) = (part.to.0 - part.from.0, part.to.1 - part.from.1);
    let sides = [
        (-dx, part.from.0 - (area.x + SLACK)),
        (dx, area.x + area.w - SLACK - part.from.0),
        (-dy, part.from.1 - (area.y + SLACK)),
        (dy, area.y + area.h - SLACK - part.from.1),
    ];
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for (speed, room) in sides {
        if speed == 0.0 {
            if room < 0.0 {
                return false;
            }
        } else if speed < 0.0 {
            low = low.max(room / speed);
        } else {
            high = high.min(room / speed);
        }
    }
    low < high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(net: usize, ends: &[usize], points: &[Point]) -> Wire {
        Wire { net, ends: ends.to_vec(), points: points.to_vec() }
    }

    #[test]
    fn figures_of_small_layouts() {
        let area = |x: f64, y: f64| Area { x, y, w: 20.0, h: 10.0 };
        let boxes = vec![area(0.0, 0.0), area(100.0, 0.0), area(0.0, 100.0), area(100.0, 100.0)];
        let across = Layout {
            boxes: boxes.clone(),
            wires: vec![
                wire(0, &[0, 3], &[(20.0, 10.0), (100.0, 100.0)]),
                wire(1, &[1, 2], &[(100.0, 10.0), (20.0, 100.0)]),
            ],
        };
        let figures = across.figures(2);
        assert_eq!((figures.crossings, figures.through, figures.covered), (1, 0, 0));
        assert_eq!(figures.size, (120.0, 110.0));
        // The same course through a box between, and two links that share a part of their course.
        let mut blocked = Layout { boxes, wires: across.wires.clone() };
        blocked.boxes.push(area(50.0, 50.0));
        blocked.wires.push(wire(2, &[0, 1], &[(20.0, 5.0), (60.0, 5.0)]));
        blocked.wires.push(wire(3, &[0, 1], &[(40.0, 5.0), (100.0, 5.0)]));
        let figures = blocked.figures(4);
        assert_eq!((figures.crossings, figures.through, figures.shared), (1, 2, 20.0));
        // Links that meet at a box do not cross, and parts of one link never do.
        let met = Layout {
            boxes: across.boxes,
            wires: vec![
                wire(0, &[0, 1], &[(10.0, 5.0), (100.0, 5.0)]),
                wire(1, &[0, 2], &[(15.0, 0.0), (15.0, 100.0)]),
                wire(2, &[3], &[(100.0, 105.0), (60.0, 105.0)]),
                wire(2, &[3], &[(70.0, 100.0), (70.0, 110.0)]),
            ],
        };
        assert_eq!(met.figures(3).crossings, 0);
    }

    #[test]
    fn curves_of_graphviz_are_read() {
        let text = "graph 1 4 2\nnode n0 1 1 1 1 \"\" solid box black lightgrey\nnode n1 3 1 1 1 \"\" solid box black lightgrey\n\
                    edge n0 n1 4 1.5 1 2 1 2 1 2.5 1 solid black\nstop\n";
        let layout = plain(text, 2).expect("a layout");
        assert_eq!(layout.boxes[1], Area { x: 180.0, y: 36.0, w: 72.0, h: 72.0 });
        assert_eq!(layout.wires[0].points, [(108.0, 72.0), (180.0, 72.0)]);
    }
}
