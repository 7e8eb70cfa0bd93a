//! The operations that the code of the clouds calls, compared with the permissions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use warren_harness::google::SERVED;
use warren_harness::workspace_root;

use super::{IMPLICIT, Permissions, of_method};

const AWS: &str = "provider/clouds/aws/src";
const GOOGLE: &str = "provider/clouds/gcp/src";

/// How the account names the clients of its services, with the prefix of their actions.
const CLIENTS: [(&str, &str); 8] = [
    (".autoscaling()", "autoscaling"),
    (".ec2()", "ec2"),
    (".ecr()", "ecr"),
    (".iam()", "iam"),
    (".ssm()", "ssm"),
    (".route53()", "route53"),
    (".resolver()", "route53resolver"),
    ("aws_sdk_sts", "sts"),
];

/// Calls that no permission allows, and permissions that no call explains.
///
/// # Errors
/// The code cannot be read.
pub fn problems(permissions: &Permissions) -> Result<Vec<String>> {
    let mut problems = aws(permissions)?;
    problems.extend(google(permissions)?);
    Ok(problems)
}

fn aws(permissions: &Permissions) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut explained = BTreeSet::new();
    let mut operations = BTreeSet::new();
    for (file, text) in sources(AWS)? {
        let services: Vec<&str> =
            CLIENTS.iter().filter(|(client, _)| text.contains(client)).map(|(_, service)| *service).collect();
        let (named, unclear) = named(&text);
        problems.extend(unclear.iter().map(|argument| no_name(&file, argument)));
        for operation in named {
            let actions: Vec<String> =
                services.iter().map(|service| format!("{service}:{operation}")).collect();
            let allowed = actions.iter().filter(|action| permissions.aws.contains_key(*action));
            let allowed: Vec<String> = allowed.cloned().collect();
            if allowed.is_empty() {
                problems.push(format!("{}: no page lists a permission for {operation}", file.display()));
            }
            explained.extend(allowed);
            operations.insert(operation);
        }
    }
    for implicit in IMPLICIT {
        match implicit.with.iter().find(|operation| !operations.contains(**operation)) {
            Some(operation) => problems.push(format!(
                "{} is said to be needed by {operation}, which the code does not call",
                implicit.action
            )),
            None => drop(explained.insert(implicit.action.to_owned())),
        }
    }
    let unexplained = permissions.aws.iter().filter(|(action, _)| !explained.contains(*action));
    problems.extend(unexplained.map(|(action, pages)| {
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        format!("{action}, which the page of {} lists, belongs to no call", pages.join(", "))
    }));
    Ok(problems)
}

fn google(permissions: &Permissions) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut explained: BTreeSet<&str> = BTreeSet::new();
    for (file, text) in sources(GOOGLE)? {
        let (named, unclear) = named(&text);
        problems.extend(unclear.iter().map(|argument| no_name(&file, argument)));
        for operation in named {
            let ending = format!(".{operation}");
            let methods: Vec<&&str> = SERVED.iter().filter(|method| method.ends_with(&ending)).collect();
            if methods.is_empty() {
                problems
                    .push(format!("{}: {operation} is no method that the emulator serves", file.display()));
            }
            for method in methods {
                let (always, sometimes) = of_method(method);
                let missing = always.iter().filter(|one| !permissions.google.contains_key(**one));
                problems.extend(missing.map(|permission| {
                    format!("{}: no page lists {permission}, which {method} needs", file.display())
                }));
                explained.extend(always.into_iter().chain(sometimes));
            }
        }
    }
    let unexplained = permissions.google.keys().filter(|permission| !explained.contains(permission.as_str()));
    problems.extend(unexplained.map(|permission| format!("{permission} belongs to no call")));
    Ok(problems)
}

/// The operations that a file names: in `.named("CreateVpc")` and `begin!("networks.insert", ..)`, or by a constant of the
/// file. Functions may have constants of the same name, which then all count. Arguments that are neither are the second
/// list.
fn named(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let constants = || text.lines().filter_map(constant);
    let (mut found, mut unclear) = (BTreeSet::new(), BTreeSet::new());
    for call in [".named(", "begin!("] {
        for after in text.split(call).skip(1) {
            let argument = after.split([',', ')']).next().unwrap_or_default().trim();
            match argument.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(literal) => drop(found.insert(literal.to_owned())),
                None => {
                    let name = argument.rsplit("::").next().unwrap_or_default();
                    let values = constants().filter(|(constant, _)| *constant == name);
                    let values: Vec<String> = values.map(|(_, value)| value.to_owned()).collect();
                    if values.is_empty() {
                        unclear.insert(argument.to_owned());
                    }
                    found.extend(values);
                }
            }
        }
    }
    (found, unclear)
}

fn no_name(file: &Path, argument: &str) -> String {
    let file = file.display();
    format!("{file}: {argument:?} names an operation, but is neither a literal nor a constant of the file")
}

/// The name and the value of a text constant.
fn constant(line: &str) -> Option<(&str, &str)> {
    let (_, declared) = line.split_once("const ")?;
    let (name, value) = declared.split_once(": &")?;
    let (_, value) = value.split_once("str = \"")?;
    Some((name, value.split_once('"')?.0))
}

/// The files of the code, without those of tests.
fn sources(folder: &str) -> Result<Vec<(PathBuf, String)>> {
    let root = workspace_root();
    let mut folders = vec![root.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_code(&path) {
                let text = std::fs::read_to_string(&path)?;
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                files.push((path.strip_prefix(&root)?.to_owned(), code));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_code(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".rs") && !["tests.rs", "evidence.rs", "error.rs"].contains(&name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_a_literal_or_a_constant_of_the_file() {
        let text = "const LIST: &str = \"ListThings\";\n\
                    impl Link for One {\n const GET: &'static str = \"GetThing\";\n}\n\
                    a.send().await.named(\"CreateThing\")?; b.named(LIST)?; c.named(One::GET)?;\n\
                    begin!(\n \"things.insert\", id, call)";
        let (found, unclear) = named(text);
        assert_eq!(Vec::from_iter(&found), ["CreateThing", "GetThing", "ListThings", "things.insert"]);
        assert!(unclear.is_empty(), "{unclear:?}");
        let (found, unclear) = named("a.named(operation)?; b.named(super::LIST)?; c.named(name_of(x))?;");
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(Vec::from_iter(&unclear), ["name_of(x", "operation", "super::LIST"]);
    }
}
