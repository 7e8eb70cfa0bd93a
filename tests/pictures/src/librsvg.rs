//! librsvg, which draws SVG for GNOME, Wikipedia and many tools. It ignores `textLength`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::browser::fonts;
use crate::picture::Area;

/// Reads pictures as a JSON list and prints the areas of their texts, through the C interface of the library.
const SCRIPT: &str = include_str!("librsvg.py");

/// The area of every text of every picture. The texts need no IDs.
///
/// # Errors
/// The library cannot be installed, or refuses a picture.
pub fn areas(pictures: &[&str]) -> Result<Vec<Vec<Area>>> {
    // The package of the program brings the library.
    warren_programs::program("rsvg-convert")?;
    let folder = tempfile::tempdir()?;
    let numbered: Vec<String> = pictures.iter().map(|svg| number(svg)).collect();
    let mut child = Command::new(warren_programs::program("python3")?)
        .args(["-c", SCRIPT])
        .env("FONTCONFIG_FILE", fonts(&folder)?)
        .env("HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no standard input")?;
    input.write_all(&serde_json::to_vec(&numbered)?)?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "librsvg: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The picture with an ID on each text: `t0`, `t1` and so on.
fn number(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    for (at, part) in svg.split("<text ").enumerate() {
        if at > 0 {
            out.push_str(&format!("<text id=\"t{}\" ", at - 1));
        }
        out.push_str(part);
    }
    out
}
