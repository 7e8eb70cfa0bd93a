//! Text output.

use std::fmt::{self, Display, Formatter};

use super::{Section, Topology};

impl Display for Topology {
    /// What each link carries, and every section, as comments and TOML.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Routes are static: if a link fails, its traffic is lost.")?;
        for link in self.links() {
            let (a, b) = &link.ends;
            let carries: Vec<String> =
                link.carries.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
            writeln!(f, "#   {a} - {b}: {}", carries.join(", "))?;
        }
        for section in self.sections() {
            write!(f, "\n# ---- {}\n{section}", section.name)?;
        }
        Ok(())
    }
}

impl Display for Section {
    /// TOML, to be added to a gateway's file.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "[site]\naddresses = {}", list(&self.addresses))?;
        for peer in &self.peers {
            writeln!(f, "\n[[site.peers]]\nname = \"{}\"\nkey = \"{}\"", peer.name, peer.key)?;
            if let Some(endpoint) = &peer.endpoint {
                writeln!(f, "endpoint = \"{endpoint}\"")?;
            }
            writeln!(f, "addresses = {}\nprefixes = {}", list(&peer.addresses), list(&peer.prefixes))?;
            writeln!(f, "group = \"{}\"", peer.group)?;
        }
        for (group, prefixes) in &self.allow {
            if prefixes.is_empty() {
                writeln!(f, "\n[groups.{group}]")?;
            } else {
                writeln!(f, "\n[[groups.{group}.allow]]\nto = {}", list(prefixes))?;
            }
        }
        Ok(())
    }
}

fn list(values: &[impl Display]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
    format!("[{}]", quoted.join(", "))
}
