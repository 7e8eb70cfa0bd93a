//! PNG, rendered with the embedded font only: the output is the same on every machine.

use crate::text::{REGULAR, STRONG};
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// Maximum width and height. Renderers and browsers fail on larger images, so these are scaled down.
const MOST: f32 = 12_000.0;

/// Renders an SVG image of this crate.
pub(crate) fn render(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(STRONG.to_vec());
    fonts.set_sans_serif_family("Inter");
    let options = usvg::Options {
        font_family: "Inter".to_owned(),
        fontdb: Arc::new(fonts),
        // Never load anything from outside the image.
        resources_dir: None,
        image_href_resolver: usvg::ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| format!("invalid SVG: {error}"))?;
    let size = tree.size();
    let scale = scale.min(MOST / size.width()).min(MOST / size.height());
    let pixels = |length: f32| (length * scale).ceil().max(1.0) as u32;
    let mut canvas = tiny_skia::Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| "the image is too large".to_owned())?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut canvas.as_mut());
    canvas.encode_png().map_err(|error| format!("cannot encode the image: {error}"))
}
