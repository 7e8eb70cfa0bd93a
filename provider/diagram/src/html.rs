//! A self-contained page with the diagram, and a script to zoom, search, follow links and fold.

use crate::scene::Scene;
use crate::svg;
use crate::theme::{DARK, LIGHT, Theme};
use tera::{Context, Tera};

/// The page.
pub(crate) fn render(scene: &Scene, theme: Theme) -> Result<String, tera::Error> {
    let mut body = String::new();
    svg::body(&mut body, scene);
    let (mut light, mut dark) = (String::new(), String::new());
    svg::colours(&mut light, &LIGHT);
    svg::colours(&mut dark, &DARK);
    let mut context = Context::new();
    context.insert("title", &scene.title);
    context.insert("w", &scene.w);
    context.insert("h", &scene.h);
    context.insert("body", &body);
    context.insert("base", &svg::shapes());
    context.insert("light", &light);
    context.insert("dark", &dark);
    context.insert("script", include_str!("../templates/page.js"));
    context.insert("sheet", include_str!("../templates/page.css"));
    let theme = match theme {
        Theme::Light => "light",
        Theme::Dark => "dark",
        Theme::Auto => "auto",
    };
    context.insert("theme", theme);
    let mut tera = Tera::default();
    // Templates that end in .html escape inserted values. The diagram is already escaped, and marked as safe.
    tera.add_raw_template("page.html", include_str!("../templates/page.html"))?;
    tera.render("page.html", &context)
}
