//! Every code block of the documentation, executed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

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
    guide_address_planning: "address-planning.md",
    guide_choosing: "choosing.md",
    guide_credentials: "credentials.md",
    guide_permissions: "permissions.md",
    guide_checking_plans_in_ci: "checking-plans-in-ci.md",
    guide_moving_data: "moving-data.md",
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

/// Runs them all, two at a time, and reports every page that fails. `WARREN_DOCS_PAGE` selects one.
#[test]
fn other_pages() -> Result<()> {
    let pages = docs::pages()?;
    let mut pages: Vec<&String> = pages.iter().filter(|path| !path.starts_with("docs/guides/")).collect();
    ensure!(pages.len() > 20, "{} pages were found", pages.len());
    if let Ok(only) = std::env::var("WARREN_DOCS_PAGE") {
        pages.retain(|path| **path == only);
        ensure!(!pages.is_empty(), "no page is called {only}");
    }
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(String::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = docs::check(path) {
                        *failures.lock().unwrap_or_else(PoisonError::into_inner) += &format!("{error:#}\n\n");
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    ensure!(failures.is_empty(), "{failures}");
    Ok(())
}

/// The symptoms of the troubleshooting guide are messages of the programs, word for word.
#[test]
fn symptoms_are_messages_that_exist() -> Result<()> {
    let root = warren_harness::workspace_root();
    let guide = std::fs::read_to_string(root.join("docs/guides/troubleshooting.md"))?;
    let symptoms = guide.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let mut count = 0;
    for symptom in symptoms {
        count += 1;
        let found = std::process::Command::new("grep")
            .args([
                "--recursive",
                "--quiet",
                "--fixed-strings",
                "--include=*.rs",
                symptom,
                "provider",
                "tunnel",
            ])
            .current_dir(&root)
            .status()?;
        ensure!(found.success(), "no program says {symptom:?}; correct docs/guides/troubleshooting.md");
    }
    ensure!(count > 8, "{count} symptoms");
    Ok(())
}

/// `INSTA_UPDATE=always` writes it, as it does snapshots.
#[test]
fn the_list_of_exceptions_is_up_to_date() -> Result<()> {
    docs::write_exceptions(std::env::var("INSTA_UPDATE").as_deref() != Ok("always"))
}
