//! The lines of a Terraform configuration that define what a plan contains.

use std::collections::BTreeMap;
use warren_model::{Position, Site};

/// Where configurations define resources, by the input that was made from them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    /// By input, then by address without instance keys.
    resources: BTreeMap<String, BTreeMap<String, Defined>>,
}

/// Where a configuration defines one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defined {
    /// The file.
    pub file: String,
    /// Its block. `None` in a file without useful positions.
    pub at: Option<Position>,
    /// Its attributes.
    pub attributes: BTreeMap<String, Position>,
}

impl Lines {
    /// Adds the resources of the configuration that `input` was made from, by address without instance keys.
    pub fn add(&mut self, input: &str, resources: BTreeMap<String, Defined>) {
        self.resources.entry(input.to_owned()).or_default().extend(resources);
    }

    /// The file and position of the configuration that define what is at `site`, or else those of the site.
    pub fn place<'a>(&'a self, site: &'a Site) -> (&'a str, Option<Position>) {
        self.find(site).unwrap_or((&site.file, site.at))
    }

    /// Like [`Self::place`], if a configuration defines it.
    pub fn find(&self, site: &Site) -> Option<(&str, Option<Position>)> {
        let resources = self.resources.get(&site.file)?;
        let path = without_keys(&site.path);
        let mut address = path.as_str();
        loop {
            if let Some(defined) = resources.get(address) {
                let rest = path[address.len()..].trim_start_matches('.');
                let attribute = rest.split('.').next().unwrap_or_default();
                let at = defined.attributes.get(attribute).copied().or(defined.at);
                return Some((&defined.file, at));
            }
            address = address.rsplit_once('.')?.0;
        }
    }
}

/// A path without the parts in brackets, which may contain dots.
fn without_keys(path: &str) -> String {
    let (mut out, mut depth, mut quoted, mut escaped) = (String::new(), 0_u32, false, false);
    for c in path.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' if depth > 0 => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_attribute_or_block() {
        let at = |line| Position { line, column: 3 };
        let defined = Defined {
            file: "net/main.tf".to_owned(),
            at: Some(at(4)),
            attributes: BTreeMap::from([("cidr_block".to_owned(), at(6))]),
        };
        let mut lines = Lines::default();
        lines.add("plan.json", BTreeMap::from([("module.net.aws_subnet.a".to_owned(), defined)]));
        let line = |file: &str, path: &str| {
            let site = Site { file: file.to_owned(), path: path.to_owned(), at: None };
            lines.find(&site).and_then(|(_, at)| at).map(|at| at.line)
        };
        let key = r#"module.net["a.b]\"["].aws_subnet.a[0]"#;
        assert_eq!(line("plan.json", &format!("{key}.cidr_block")), Some(6));
        assert_eq!(line("plan.json", &format!("{key}.tags[\"x\"].y")), Some(4));
        assert_eq!(line("plan.json", "module.net.aws_subnet.ab.cidr_block"), None);
        assert_eq!(line("other.json", "module.net.aws_subnet.a.cidr_block"), None);
    }
}
