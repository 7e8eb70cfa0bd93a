//! DejaVu Sans of Debian, and the table of its advances that the layout uses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use skrifa::FontRef;
use skrifa::raw::TableProvider as _;

/// Characters with exact advances: Latin, Greek and Cyrillic, punctuation, arrows, and the minus sign.
const EXACT: &[(u32, u32)] =
    &[(0x20, 0x24f), (0x370, 0x52f), (0x2010, 0x203f), (0x2190, 0x2193), (0x2212, 0x2212)];
/// Number of characters that share one upper bound.
const BLOCK: u32 = 64;

/// The folder of the fonts, which is unpacked first if the machine does not have it.
///
/// # Errors
/// The package cannot be downloaded.
pub fn folder() -> Result<PathBuf> {
    let path = "usr/share/fonts/truetype/dejavu";
    let installed = Path::new("/").join(path);
    if installed.join("DejaVuSans.ttf").is_file() && installed.join("DejaVuSans-Bold.ttf").is_file() {
        return Ok(installed);
    }
    warren_programs::unpacked("fonts-dejavu-core", path)
}

/// Advances of every character of a font, in thousandths of an em, rounded up.
fn advances(path: &Path) -> Result<BTreeMap<u32, u16>> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let font = FontRef::new(&bytes)?;
    let (characters, metrics) = (font.cmap()?, font.hmtx()?);
    let em = u32::from(font.head()?.units_per_em());
    let mut found = BTreeMap::new();
    for code in 0x20..=0x2_ffff {
        if let Some(glyph) = characters.map_codepoint(code) {
            let advance = metrics.advance(glyph).context("a glyph without advance")?;
            found.insert(code, u16::try_from((u32::from(advance) * 1000).div_ceil(em))?);
        }
    }
    Ok(found)
}

/// The source text of the table.
///
/// # Errors
/// The fonts cannot be read.
pub fn table() -> Result<String> {
    let folder = folder()?;
    let regular = advances(&folder.join("DejaVuSans.ttf"))?;
    let bold = advances(&folder.join("DejaVuSans-Bold.ttf"))?;
    // Bold lacks a few characters, which viewers then make bold themselves.
    let of = |code: u32| {
        let plain = regular.get(&code).copied().unwrap_or_default();
        (plain, bold.get(&code).copied().unwrap_or_default().max(plain))
    };
    let mut out = String::from(HEAD);
    for (first, last) in EXACT {
        let _ = writeln!(out, "    (0x{first:x}, &[");
        for line in (*first..=*last).collect::<Vec<_>>().chunks(8) {
            let pairs = line.iter().map(|code| of(*code)).map(|(plain, bold)| format!("({plain}, {bold})"));
            let _ = writeln!(out, "        {},", pairs.collect::<Vec<_>>().join(", "));
        }
        out.push_str("    ]),\n");
    }
    out.push_str(MIDDLE);
    let mut blocks: Vec<(u32, u32, u16, u16)> = Vec::new();
    for code in regular.keys().chain(bold.keys()).copied().collect::<std::collections::BTreeSet<_>>() {
        let (plain, bold) = of(code);
        match blocks.last_mut() {
            Some(block) if block.0 / BLOCK == code / BLOCK => {
                *block = (block.0, code, block.2.max(plain), block.3.max(bold));
            }
            _ => blocks.push((code, code, plain, bold)),
        }
    }
    for (first, last, plain, bold) in blocks {
        let _ = writeln!(out, "    (0x{first:x}, 0x{last:x}, {plain}, {bold}),");
    }
    out.push_str("];\n");
    Ok(out)
}

const HEAD: &str = "\
//! Advances of DejaVu Sans, the widest of the fonts that viewers commonly fall back to, in thousandths of an em, rounded up.
//!
//! Made from the tables `cmap` and `hmtx` of `DejaVuSans.ttf` and `DejaVuSans-Bold.ttf` (Debian package
//! `fonts-dejavu-core`). `WARREN_BLESS=1 cargo test -p warren-pictures --test font` writes this file anew, and without the
//! variable compares it with the fonts.

/// A first character, and the advances from there on: regular and bold. Zero means that the font has no glyph.
type Run = (u32, &'static [(u16, u16)]);

/// Exact advances, by first character. Viewers use the bold font for a weight of 600 too.
#[rustfmt::skip]
pub(crate) const EXACT: &[Run] = &[
";

const MIDDLE: &str = "];

/// Upper bounds of all other characters: first and last character of a block, widest advance in regular and bold.
#[rustfmt::skip]
pub(crate) const BOUNDS: &[(u32, u32, u16, u16)] = &[
";
