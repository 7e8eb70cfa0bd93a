//! Every code block of the documentation, executed.

use anyhow::{Result, ensure};
use warren_acceptance::docs;

/// A test for each guide, so that one can be run alone.
macro_rules! guides {
    ($($name:ident: $page:literal,)*) => {
        const GUIDES: &[&str] = &[$($page),*];
        $(
            #[test]
            fn $name() -> Result<()> {
                docs::check(concat!("docs/guides/", $page))
            }
        )*
    };
}

guides! {
    guide_install: "install.md",
    guide_first_fabric: "first-fabric.md",
    guide_checking_plans_in_ci: "checking-plans-in-ci.md",
    guide_pods_without_udp: "pods-without-udp.md",
    guide_rotating_keys: "rotating-keys.md",
    guide_operating_gateways: "operating-gateways.md",
    guide_troubleshooting: "troubleshooting.md",
}

#[test]
fn every_guide_has_a_test() -> Result<()> {
    let pages = docs::pages()?;
    let guides: Vec<&str> = pages.iter().filter_map(|path| path.strip_prefix("docs/guides/")).collect();
    let mut known = GUIDES.to_vec();
    known.sort_unstable();
    assert_eq!(guides, known);
    Ok(())
}

/// Runs them all, and reports every page that fails.
#[test]
fn other_pages() -> Result<()> {
    let mut failures = String::new();
    let mut count = 0;
    for path in docs::pages()?.iter().filter(|path| !path.starts_with("docs/guides/")) {
        count += 1;
        if let Err(error) = docs::check(path) {
            failures += &format!("{error:#}\n\n");
        }
    }
    ensure!(failures.is_empty(), "{failures}");
    ensure!(count > 20, "{count} pages were found");
    Ok(())
}

#[test]
fn the_list_of_exceptions_is_up_to_date() -> Result<()> {
    docs::write_exceptions(true)
}
