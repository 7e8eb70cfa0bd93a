//! Findings in the form that pictures show.

use crate::policy::violations;
use crate::{Report, Screen, Severity};
use warren_model::policy::Assertion;
use warren_model::topology::Plan;
use warren_model::verdict::{Overlap, Path, Side, Verdict};

/// The overlaps that the report lists, and the paths of the plan that violate an assertion and that the screen keeps.
pub fn verdict(report: &Report, assertions: &[Assertion], plan: &Plan, screen: &Screen) -> Verdict {
    let overlaps = report.findings.iter().filter_map(|finding| {
        let mut sides = finding.sides.iter().map(|side| {
            let net = side.net?;
            Some(Side { name: side.name.clone(), net })
        });
        let sides = [sides.next()??, sides.next()??];
        let warning = finding.severity == Severity::Warning;
        let apart = !sides[0].net.contains(&sides[1].net) && !sides[1].net.contains(&sides[0].net);
        (!apart).then(|| Overlap { sides, warning, rule: finding.rule.id() })
    });
    let mut overlaps: Vec<Overlap> = overlaps.collect();
    overlaps.sort_by_key(|overlap| overlap.warning);
    let mut paths: Vec<Path> = Vec::new();
    screen.start();
    for (finding, hops) in violations(assertions, plan) {
        // Without hops, packets do not arrive, and there is no path to draw.
        if hops.is_empty() || !screen.keeps(&finding) {
            continue;
        }
        let name = finding.sides.first().map(|side| side.name.clone()).unwrap_or_default();
        let message = finding.message.clone();
        paths.push(Path { name, message, warning: finding.severity == Severity::Warning, hops });
    }
    paths.sort_by_key(|path| path.warning);
    paths.dedup();
    Verdict { overlaps, paths, omitted: report.omitted }
}
