//! What must hold of every picture.

use warren_diagram::{Block, BoxKind, Rect, Scene};

/// Everything that must hold of a picture.
pub(crate) fn sound(scene: &Scene) {
    let page = Rect { x: 0, y: 0, w: scene.w, h: scene.h };
    apart(&scene.blocks, &page);
    for label in &scene.labels {
        assert!(page.contains(&label.rect()), "{label:?} leaves the page");
        assert!(
            scene.blocks.iter().all(|block| !block.rect.overlaps(&label.rect())),
            "{label:?} lies on a box"
        );
    }
    for (at, label) in scene.labels.iter().enumerate() {
        let others = &scene.labels[at + 1..];
        assert!(
            others.iter().all(|other| !other.rect().overlaps(&label.rect())),
            "{label:?} lies on another"
        );
    }
    let boxes: Vec<&Block> = scene.blocks.iter().flat_map(|cloud| &cloud.inner).collect();
    for line in &scene.lines {
        for pair in line.points.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            assert!(x1 == x2 || y1 == y2, "{line:?} is slanted");
            // A line touches the edge of the box it ends at and enters none.
            let way = Rect { x: x1.min(x2), y: y1.min(y2), w: (x1 - x2).abs(), h: (y1 - y2).abs() };
            assert!(page.contains(&way), "{line:?} leaves the page");
            for name in scene.blocks.iter().flat_map(|cloud| &cloud.labels) {
                let area = Rect { w: way.w.max(1), h: way.h.max(1), ..way };
                assert!(!name.rect().overlaps(&area), "{line:?} crosses {:?}", name.text);
            }
            for block in &boxes {
                let rect = block.rect;
                let inside = way.x < rect.right() && rect.x < way.right().max(way.x + 1)
                    && way.y < rect.bottom() && rect.y < way.bottom().max(way.y + 1)
                    // On the edge is not inside.
                    && !(way.w == 0 && (way.x == rect.x || way.x == rect.right()))
                    && !(way.h == 0 && (way.y == rect.y || way.y == rect.bottom()));
                assert!(!inside, "{line:?} crosses {:?} {rect:?}", block.key);
            }
        }
    }
    // Two links never lie upon each other: they could not be told apart.
    let mut runs: Vec<(bool, i32, i32, i32, usize)> = Vec::new();
    for line in &scene.lines {
        for pair in line.points.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            if x1 == x2 {
                runs.push((true, x1, y1.min(y2), y1.max(y2), line.net));
            } else {
                runs.push((false, y1, x1.min(x2), x1.max(x2), line.net));
            }
        }
    }
    runs.sort();
    for (at, a) in runs.iter().enumerate() {
        for b in runs[at + 1..].iter().take_while(|b| (b.0, b.1) == (a.0, a.1) && b.2 < a.3) {
            assert!(a.4 == b.4, "links {} and {} lie upon each other at {:?} and {:?}", a.4, b.4, a, b);
        }
    }
}

/// Boxes lie in their parent, apart from each other, and so do the parent's own texts.
fn apart(blocks: &[Block], parent: &Rect) {
    let mut sorted: Vec<&Block> = blocks.iter().collect();
    sorted.sort_by_key(|block| block.rect.x);
    for (at, block) in sorted.iter().enumerate() {
        assert!(parent.contains(&block.rect), "{:?} {:?} leaves {parent:?}", block.key, block.rect);
        for other in sorted[at + 1..].iter().take_while(|other| other.rect.x < block.rect.right()) {
            assert!(!block.rect.overlaps(&other.rect), "{:?} lies on {:?}", block.key, other.key);
        }
        for (at, label) in block.labels.iter().enumerate() {
            let area = label.rect();
            assert!(block.rect.contains(&area), "{label:?} leaves {:?} {:?}", block.key, block.rect);
            for other in &block.labels[at + 1..] {
                assert!(!other.rect().overlaps(&area), "{label:?} lies on {other:?}");
            }
            for inner in &block.inner {
                assert!(!inner.rect.overlaps(&area), "{label:?} lies on {:?}", inner.key);
            }
            for (x, y, _) in &block.tiles {
                assert!(!area.overlaps(&Rect { x: *x, y: *y, w: 6, h: 6 }), "{label:?} lies on tiles");
            }
            if !block.inner.is_empty() || block.kind != BoxKind::Chip {
                for (bar, _) in &block.bars {
                    assert!(!area.overlaps(bar), "{label:?} lies on a bar");
                }
            }
        }
        if let Some(badge) = block.badge() {
            let texts = block.labels.iter().map(|label| label.rect());
            let boxes = block.inner.iter().map(|inner| inner.rect);
            assert!(
                texts.chain(boxes).all(|it| !it.overlaps(&badge)),
                "something lies on the sign of {:?}",
                block.key
            );
        }
        for (bar, _) in &block.bars {
            assert!(block.rect.contains(bar), "a bar leaves {:?}", block.key);
        }
        apart(&block.inner, &block.rect);
    }
}

/// The texts of all boxes.
pub(crate) fn texts(scene: &Scene) -> Vec<String> {
    let mut texts = Vec::new();
    for block in &scene.blocks {
        block.walk(&mut |block| texts.extend(block.labels.iter().map(|label| label.text.clone())));
    }
    texts
}
