//! The templates of the generated pages.

use anyhow::{Context as _, Result};
use serde::Serialize;
use tera::{Context, Tera};

use super::markdown;

const TEMPLATES: [(&str, &str); 8] = [
    ("macros.md", include_str!("../../templates/macros.md.tera")),
    ("provider.md", include_str!("../../templates/provider.md.tera")),
    ("type.md", include_str!("../../templates/type.md.tera")),
    ("function.md", include_str!("../../templates/function.md.tera")),
    ("command.md", include_str!("../../templates/command.md.tera")),
    ("benchmarks.md", include_str!("../../templates/benchmarks.md.tera")),
    ("kill-points.md", include_str!("../../templates/kill-points.md.tera")),
    ("chart.svg", include_str!("../../templates/chart.svg.tera")),
];

/// The templates, parsed.
pub(crate) struct Templates(Tera);

impl Templates {
    /// Parses all templates.
    pub(crate) fn new() -> Result<Templates> {
        let mut tera = Tera::default();
        tera.add_raw_templates(TEMPLATES).context("a template is malformed")?;
        Ok(Templates(tera))
    }

    /// Renders a page.
    pub(crate) fn render(&self, template: &str, values: &impl Serialize) -> Result<String> {
        let context = Context::from_serialize(values)?;
        let text = self.0.render(template, &context).with_context(|| format!("cannot render {template}"))?;
        Ok(markdown::tidy(&text))
    }
}
