//! Measures texts with the widest common fallback font, and shortens them to fit.

use crate::advances;
use unicode_width::UnicodeWidthChar as _;

/// Inter Regular, SIL Open Font License 1.1; see `fonts/OFL.txt`.
pub(crate) const REGULAR: &[u8] = include_bytes!("../fonts/Inter-Regular.ttf");
/// Inter SemiBold, likewise.
pub(crate) const STRONG: &[u8] = include_bytes!("../fonts/Inter-SemiBold.ttf");

/// Measures texts.
pub(crate) struct Ruler;

/// Units of an em in [`advances`].
const EM: u32 = 1000;

impl Ruler {
    /// Width in whole pixels, rounded up: the text fits with DejaVu Sans and every narrower font.
    pub(crate) fn width(&self, text: &str, size: i32, strong: bool) -> i32 {
        let size = u32::try_from(size).unwrap_or_default();
        let width: u32 = text.chars().map(|c| drawn(units(c, strong) * size)).sum();
        i32::try_from(width.div_ceil(EM)).unwrap_or(i32::MAX)
    }

    /// The text in lines, broken at spaces. No word is left out: it may be a range.
    pub(crate) fn wrap(&self, text: &str, size: i32, room: i32) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let Some(line) = lines.last_mut() else { break };
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if line.is_empty() || self.width(&longer, size, false) <= room {
                *line = longer;
            } else {
                lines.push(word.to_owned());
            }
        }
        lines
    }

    /// The text, shortened in the middle if it does not fit, because names often differ at the end.
    pub(crate) fn fit(&self, text: &str, size: i32, strong: bool, room: i32) -> String {
        // No text of this length fits, and measuring it takes time.
        let text: String = if text.chars().count() > 400 {
            let tail: Vec<char> = text.chars().rev().take(100).collect();
            text.chars().take(300).chain(tail.into_iter().rev()).collect()
        } else {
            text.to_owned()
        };
        if self.width(&text, size, strong) <= room {
            return text;
        }
        let chars: Vec<char> = text.chars().collect();
        let cut = |keep: usize| -> String {
            let tail = keep / 3;
            let head = keep - tail;
            let mut out: String = chars[..head].iter().collect();
            out.push('…');
            out.extend(&chars[chars.len() - tail..]);
            out
        };
        // Widths grow with the number of characters (except for rounding): bisect for the longest text that fits.
        let (mut low, mut high) = (0, chars.len().saturating_sub(1));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.width(&cut(middle), size, strong) <= room {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        cut(low)
    }
}

/// Width of a character in thousandths of a pixel. Browsers that hint fonts round it to whole pixels.
fn drawn(width: u32) -> u32 {
    width.max((width + EM / 2) / EM * EM)
}

/// Whether DejaVu Sans has every character of the text.
pub(crate) fn measured(text: &str) -> bool {
    text.chars().all(|c| exact(c).is_some())
}

/// Advances of a character in the exact tables: regular, bold.
fn exact(c: char) -> Option<(u16, u16)> {
    let code = u32::from(c);
    let (first, table) = advances::EXACT.iter().rev().find(|(first, _)| *first <= code)?;
    let at = usize::try_from(code - first).ok()?;
    table.get(at).copied().filter(|(regular, _)| *regular > 0)
}

/// Width of a character, in thousandths of an em. Where the font may have no glyph, other fonts of the viewer have one,
/// so there is room for two em of a wide character and for slightly more than one em of any other.
fn units(c: char, strong: bool) -> u32 {
    if let Some((regular, bold)) = exact(c) {
        return u32::from(if strong { bold } else { regular });
    }
    let code = u32::from(c);
    let other = if c.width() == Some(2) { 2000 } else { 1120 };
    let block = advances::BOUNDS.binary_search_by(|(first, last, ..)| {
        if *last < code {
            std::cmp::Ordering::Less
        } else if *first > code {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    });
    let bound = block.map_or(0, |at| {
        let (_, _, regular, bold) = advances::BOUNDS[at];
        u32::from(if strong { bold } else { regular })
    });
    bound.max(other)
}
