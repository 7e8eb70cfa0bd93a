//! Whether the permissions that the page files list are those that the calls need.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use warren_acceptance::emulated_clouds::EmulatedClouds;
use warren_acceptance::permissions::{IMPLICIT, IN_UPDATES, action, of_method};
use warren_acceptance::registry::{Example, Page, PageKind};
use warren_harness::{Service, workspace_root};

/// The calls of an example.
pub(crate) struct Recorded {
    /// Actions of AWS.
    pub(crate) aws: BTreeSet<(Service, String)>,
    /// Methods of Google Cloud.
    pub(crate) google: BTreeSet<String>,
}

impl Recorded {
    /// The calls since the clouds were emptied.
    pub(crate) fn of(clouds: &EmulatedClouds) -> Recorded {
        let aws = clouds.aws().into_iter().flat_map(|aws| aws.proxy().calls());
        let google = clouds.google().into_iter().flat_map(|google| google.front().calls());
        Recorded {
            aws: aws.map(|call| (call.service, call.action)).collect(),
            google: google.map(|call| call.action).collect(),
        }
    }
}

/// The calls of an example that need a permission which no page of the types in it lists.
pub(crate) fn unlisted(example: &Example, calls: &Recorded, pages: &[Page]) -> Result<Vec<String>> {
    let types = example.types();
    let own = |page: &&Page| types.contains(&(page.kind, page.name.clone()));
    let used: Vec<&Page> = pages.iter().filter(|page| own(page) || page.kind == PageKind::Provider).collect();
    let listed: BTreeSet<&str> =
        used.iter().flat_map(|page| page.permissions.iter().map(String::as_str)).collect();
    let page = pages.iter().find(|page| page.kind == example.kind && page.name == example.of);
    let page = page.with_context(|| format!("{} has no page file", example.of))?;
    let mut needed = BTreeSet::new();
    for (service, name) in &calls.aws {
        needed.insert((action(*service, name), name.clone()));
    }
    for method in &calls.google {
        needed.extend(
            of_method(method).0.into_iter().map(|permission| (permission.to_owned(), method.clone())),
        );
    }
    let missing = needed.into_iter().filter(|(permission, _)| !listed.contains(permission.as_str()));
    let describe = |(permission, call): (String, String)| {
        let others = used.iter().filter(|other| other.file != page.file && other.kind != PageKind::Provider);
        let others: Vec<String> = others.map(|page| page.file.display().to_string()).collect();
        format!(
            "{}: the call {call} needs {permission}, which {} does not list{}",
            example.file.display(),
            page.file.display(),
            if others.is_empty() { String::new() } else { format!("; nor does {}", others.join(", ")) }
        )
    };
    Ok(missing.map(describe).collect())
}

/// The permissions that a page lists and that nothing explains: no call of an example with the type, no code, no rule.
pub(crate) fn unexplained(recorded: &[(Example, Recorded)], pages: &[Page]) -> Result<Vec<String>> {
    let mut unexplained = Vec::new();
    for page in pages {
        let uses: Vec<&Recorded> = recorded
            .iter()
            .filter(|(example, _)| example.types().contains(&(page.kind, page.name.clone())))
            .map(|(_, calls)| calls)
            .collect();
        if uses.is_empty() || page.permissions.is_empty() {
            continue;
        }
        let aws: BTreeSet<String> =
            uses.iter().flat_map(|calls| &calls.aws).map(|(service, name)| action(*service, name)).collect();
        let google = google_permissions(uses.iter().flat_map(|calls| &calls.google));
        let source = if page.short().starts_with("aws_") { source(&page.file)? } else { String::new() };
        // A dependent action explains itself only where one of the calls that it belongs to is made.
        let operations: BTreeSet<&str> =
            uses.iter().flat_map(|calls| &calls.aws).map(|(_, name)| name.as_str()).collect();
        let depends = |permission: &str| {
            let rules = IMPLICIT.iter().filter(|implicit| implicit.action == permission);
            rules.flat_map(|implicit| implicit.with).any(|operation| operations.contains(operation))
        };
        for permission in &page.permissions {
            let explained = permission.contains(' ')
                || aws.contains(permission)
                || google.contains(permission.as_str())
                || depends(permission)
                || IN_UPDATES.contains(&(page.name.as_str(), permission.as_str()))
                || is_called(permission, &source);
            if !explained {
                unexplained.push(format!(
                    "{}: nothing explains {permission}: no example of {} calls it, and neither does the code",
                    page.file.display(),
                    page.name
                ));
            }
        }
    }
    Ok(unexplained)
}

/// What the methods of these collections need: an update is not part of an example.
fn google_permissions<'a>(methods: impl Iterator<Item = &'a String>) -> BTreeSet<&'static str> {
    let collection = |method: &str| method.rsplit_once('.').map(|(collection, _)| collection.to_owned());
    let collections: BTreeSet<Option<String>> = methods.map(|method| collection(method)).collect();
    let all =
        warren_harness::google::SERVED.iter().filter(|method| collections.contains(&collection(method)));
    all.flat_map(|method| {
        let (always, sometimes) = of_method(method);
        [always, sometimes].concat()
    })
    .collect()
}

/// Whether the source has a call of an action: `.delete_tags()`.
fn is_called(permission: &str, source: &str) -> bool {
    let Some((_, action)) = permission.split_once(':') else { return false };
    let letters: Vec<char> = action.chars().collect();
    let mut method = String::new();
    for (index, character) in letters.iter().enumerate() {
        // A word begins with a capital, and several capitals are one word: `ListVPCAssociations`.
        let is_upper = |index: usize| letters.get(index).is_some_and(char::is_ascii_uppercase);
        let begins = is_upper(index)
            && index > 0
            && (!is_upper(index - 1) || letters.get(index + 1).is_some_and(char::is_ascii_lowercase));
        if begins {
            method.push('_');
        }
        method.push(character.to_ascii_lowercase());
    }
    source.contains(&format!(".{method}("))
}

/// The code of a type: its own folder, and what is beside the folders.
fn source(page: &Path) -> Result<String> {
    let own = workspace_root().join(page.parent().context("a page file has a folder")?);
    let shared = own.parent().context("a folder is in one")?.to_owned();
    let mut text = String::new();
    for folder in [own, shared] {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                text += &std::fs::read_to_string(path)?;
            }
        }
    }
    Ok(text)
}
