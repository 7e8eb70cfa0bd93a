//! Checks of a perimeter at plan time, across its attributes, for what Google would reject.

use tf_provider_rs::{Attr, Diagnostics, Path};
use warren_managed::sets::{self, Texts};

use super::model::{self, Config, IdentityType, Operation, ServicePerimeter, is_number};

/// Checks across attributes.
pub(super) fn perimeter(perimeter: &ServicePerimeter, diagnostics: &mut Diagnostics) {
    for (path, config) in configs(perimeter) {
        Check { perimeter, diagnostics: &mut *diagnostics }.config(&path, config);
    }
}

/// The paths of both configurations.
fn configs(perimeter: &ServicePerimeter) -> impl Iterator<Item = (Path, &Config)> {
    [("status", &perimeter.status), ("spec", &perimeter.spec)]
        .into_iter()
        .filter_map(|(name, config)| Some((Path::of(name), config.known()?)))
}

struct Check<'a> {
    perimeter: &'a ServicePerimeter,
    diagnostics: &'a mut Diagnostics,
}

impl Check<'_> {
    fn config(&mut self, path: &Path, config: &Config) {
        self.members(&path.attribute("resources"), &config.resources, false);
        self.levels(&path.attribute("access_levels"), &config.access_levels, false);
        self.services(&path.attribute("restricted_services"), &config.restricted_services, false);
        self.services(&path.attribute("vpc_accessible_services"), &config.vpc_accessible_services, true);
        let at = path.attribute("ingress_policies");
        for policy in config.ingress_policies.known().into_iter().flatten() {
            self.who(&at, policy.identity_type, &policy.identities);
            self.levels(&at, &policy.source_access_levels, true);
            self.members(&at, &policy.source_resources, false);
            self.members(&at, &policy.resources, true);
            self.some(
                &at,
                &[&policy.source_access_levels, &policy.source_resources],
                "`source_access_levels` or `source_resources`",
            );
            self.some(&at, &[&policy.resources], "`resources`");
            self.operations(&at, &policy.operations);
        }
        let at = path.attribute("egress_policies");
        for policy in config.egress_policies.known().into_iter().flatten() {
            self.who(&at, policy.identity_type, &policy.identities);
            self.members(&at, &policy.resources, true);
            self.some(
                &at,
                &[&policy.resources, &policy.external_resources],
                "`resources` or `external_resources`",
            );
            self.operations(&at, &policy.operations);
        }
    }

    fn wrong(&mut self, path: &Path, summary: &str, detail: String) {
        self.diagnostics.error_at(path.clone(), summary, detail);
    }

    fn members(&mut self, path: &Path, set: &Texts, all: bool) {
        for member in sets::known(set) {
            let project = member.strip_prefix("projects/");
            let network = member.strip_prefix("//compute.googleapis.com/projects/");
            let fits = (all && member == "*")
                || project.is_some_and(is_number)
                || member.strip_prefix("folders/").is_some_and(is_number)
                || member.strip_prefix("organizations/").is_some_and(is_number)
                || network.is_some_and(|rest| rest.contains("/global/networks/"));
            let hint = match project {
                Some(id) if !fits => format!(
                    " Perimeters identify projects by number: \
                     `gcloud projects describe {id} --format='value(projectNumber)'`."
                ),
                _ => String::new(),
            };
            if !fits {
                let detail = format!(
                    "{member:?} is not `projects/123456789012`, `folders/123` or \
                     `//compute.googleapis.com/projects/acme-ml/global/networks/hub`.{hint}"
                );
                self.wrong(path, "Invalid perimeter resource", detail);
            }
        }
    }

    fn levels(&mut self, path: &Path, set: &Texts, all: bool) {
        let prefix = self
            .perimeter
            .access_policy
            .known()
            .map(|number| format!("{}/accessLevels/", model::policy(number)));
        let Some(prefix) = prefix else { return };
        for level in sets::known(set).into_iter().filter(|level| !(all && level == "*")) {
            if level.strip_prefix(&prefix).is_none_or(str::is_empty) {
                let detail = format!(
                    "{level:?} is not an access level of this policy. Use the form `{prefix}office`."
                );
                self.wrong(path, "Invalid access level", detail);
            }
        }
    }

    fn services(&mut self, path: &Path, set: &Texts, group: bool) {
        for service in sets::known(set).into_iter().filter(|it| !(group && it == "RESTRICTED-SERVICES")) {
            if service.strip_suffix(".googleapis.com").is_none_or(str::is_empty) {
                let detail = format!(
                    "{service:?} is not an API that a perimeter protects. Use the form `storage.googleapis.com`."
                );
                self.wrong(path, "Invalid API name", detail);
            }
        }
    }

    fn who(&mut self, path: &Path, kind: Attr<IdentityType>, identities: &Texts) {
        let (none, some) =
            (kind.is_null() && sets::is_empty(identities), !sets::known(identities).is_empty());
        if none || (kind.is_known() && some) {
            let detail = "A policy admits callers either by type or by name. Set exactly one of `identity_type` and \
                 `identities`.";
            self.wrong(path, "Exactly one of identity_type and identities required", detail.to_owned());
        }
    }

    fn some(&mut self, path: &Path, parts: &[&Texts], what: &str) {
        if parts.iter().all(|set| sets::is_empty(set)) {
            self.wrong(path, "Policy without effect", format!("The policy admits nothing. Set {what}."));
        }
    }

    fn operations(&mut self, path: &Path, operations: &Attr<std::collections::BTreeSet<Operation>>) {
        if operations.known().map_or(operations.is_null(), std::collections::BTreeSet::is_empty) {
            let detail = "The policy admits nothing. Set `operations`; `[{ service_name = \"*\" }]` admits every \
                 call.";
            self.wrong(path, "Policy without effect", detail.to_owned());
        }
        for Operation { service_name, methods, permissions } in operations.known().into_iter().flatten() {
            let none = sets::is_empty(methods) && sets::is_empty(permissions);
            let some = !sets::known(methods).is_empty() || !sets::known(permissions).is_empty();
            match service_name.known().map(String::as_str) {
                Some("*") if some => self.wrong(
                    path,
                    "Methods combined with all APIs",
                    "`service_name = \"*\"` already means every method of every API. Remove `methods` and \
                     `permissions`."
                        .to_owned(),
                ),
                Some(service) if service != "*" && none => self.wrong(
                    path,
                    "Operation without methods",
                    format!("The policy does not say which methods of {service} it admits. Set `methods`; `methods = \
                         [\"*\"]` admits all."),
                ),
                _ => {}
            }
        }
    }
}
