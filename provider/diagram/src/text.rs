//! Measures texts with the embedded font, and shortens them to fit.

use skrifa::FontRef;
use skrifa::raw::{ReadError, TableProvider as _};

/// Inter Regular, SIL Open Font License 1.1; see `fonts/OFL.txt`.
pub(crate) const REGULAR: &[u8] = include_bytes!("../fonts/Inter-Regular.ttf");
/// Inter SemiBold, likewise.
pub(crate) const STRONG: &[u8] = include_bytes!("../fonts/Inter-SemiBold.ttf");

/// Measures texts.
pub(crate) struct Ruler {
    regular: [u16; 0x180],
    strong: [u16; 0x180],
}

/// Units of an em in the tables of [`Ruler`].
const EM: u32 = 1000;

impl Ruler {
    pub(crate) fn new() -> Self {
        // Without an advance, a character counts as one that is not in the table.
        let advances = |font| advances(font).unwrap_or([0; 0x180]);
        Self { regular: advances(REGULAR), strong: advances(STRONG) }
    }

    /// Width in whole pixels, rounded up.
    pub(crate) fn width(&self, text: &str, size: i32, strong: bool) -> i32 {
        let table = if strong { &self.strong } else { &self.regular };
        let units: u32 = text
            .chars()
            .map(|c| match table.get(c as usize) {
                Some(&advance) if advance > 0 => u32::from(advance),
                _ => other(c),
            })
            .sum();
        let size = u32::try_from(size).unwrap_or_default();
        i32::try_from((units * size).div_ceil(EM)).unwrap_or(i32::MAX)
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

fn advances(font: &[u8]) -> Result<[u16; 0x180], ReadError> {
    let font = FontRef::new(font)?;
    let (characters, metrics) = (font.cmap()?, font.hmtx()?);
    let em = u32::from(font.head()?.units_per_em()).max(1);
    let mut table = [0; 0x180];
    for (code, slot) in table.iter_mut().enumerate() {
        let glyph = u32::try_from(code).ok().and_then(|code| characters.map_codepoint(code));
        let advance = glyph.and_then(|glyph| metrics.advance(glyph)).unwrap_or_default();
        *slot = u16::try_from((u32::from(advance) * EM).div_ceil(em)).unwrap_or_default();
    }
    Ok(table)
}

/// Width of a character that is not in the table: an em for wide ones, the width of a wide letter for the rest.
fn other(c: char) -> u32 {
    match u32::from(c) {
        0x2010..=0x203a | 0x2190..=0x2193 => 900,
        0x1100..=0x11ff | 0x2e80.. => 1050,
        _ => 800,
    }
}
