//! A project of Google Cloud. Its objects show their fabric in a label, or in a marker that begins their description.

use anyhow::{Context as _, Result, ensure};
use google_cloud_auth::credentials::{self, CacheableResource, Credentials};
use http::Extensions;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::rest::{Refused, Rest};
use super::{Found, Place};
use crate::fabric::Fabric;

/// The lists in the order of deletion: kind, API, path with the project and the region, and the member with the objects.
///
/// An aggregated list of Compute Engine has them one level deeper, by place.
const LISTS: &[(&str, Api, &str, &str)] = &[
    // The VMs of a group go with it, and it would create them again.
    ("instance group", Api::Compute, "aggregated/instanceGroupManagers", "instanceGroupManagers"),
    ("instance", Api::Compute, "aggregated/instances", "instances"),
    ("instance template", Api::Compute, "global/instanceTemplates", "items"),
    ("disk", Api::Compute, "aggregated/disks", "disks"),
    ("forwarding rule", Api::Compute, "global/forwardingRules", "items"),
    ("router", Api::Compute, "aggregated/routers", "routers"),
    ("route", Api::Compute, "global/routes", "items"),
    ("firewall", Api::Compute, "global/firewalls", "items"),
    ("address", Api::Compute, "global/addresses", "items"),
    ("address", Api::Compute, "aggregated/addresses", "addresses"),
    ("managed zone", Api::Dns, "managedZones", "managedZones"),
    ("subnetwork", Api::Compute, "aggregated/subnetworks", "subnetworks"),
    ("network", Api::Compute, "global/networks", "items"),
    ("repository", Api::Registry, "locations/{region}/repositories", "repositories"),
    ("secret", Api::Secrets, "secrets", "secrets"),
    ("service account", Api::Iam, "serviceAccounts", "accounts"),
];

/// The kinds, for the comparison with the types of the provider.
#[cfg(test)]
pub(super) const KINDS: &[&str] = &[
    "instance group",
    "instance",
    "instance template",
    "disk",
    "forwarding rule",
    "router",
    "route",
    "firewall",
    "address",
    "managed zone",
    "subnetwork",
    "network",
    "repository",
    "secret",
    "service account",
];

/// An API, with its host and the version in its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    Compute,
    Dns,
    Registry,
    Secrets,
    Iam,
}

impl Api {
    fn host(self) -> &'static str {
        match self {
            Api::Compute => "https://compute.googleapis.com",
            Api::Dns => "https://dns.googleapis.com",
            Api::Registry => "https://artifactregistry.googleapis.com",
            Api::Secrets => "https://secretmanager.googleapis.com",
            Api::Iam => "https://iam.googleapis.com",
        }
    }

    fn is_optional(self) -> bool {
        matches!(self, Api::Secrets | Api::Iam)
    }

    fn version(self) -> &'static str {
        match self {
            Api::Compute => "/compute/v1/",
            Api::Dns => "/dns/v1/",
            Api::Registry | Api::Secrets | Api::Iam => "/v1/",
        }
    }
}

#[derive(Debug)]
pub(super) struct Project {
    rest: Rest,
    credentials: Credentials,
    project: String,
    region: String,
    endpoint: Option<String>,
}

impl Project {
    pub(super) fn open(place: &Place) -> Result<Project> {
        let project = place.project.clone().context("no project; set TF_VAR_project")?;
        ensure!(!project.contains(['/', '?', '#']), "{project} is not the ID of a project");
        // As in the provider, an emulator receives no credentials.
        let credentials = match &place.endpoint {
            Some(_) => credentials::anonymous::Builder::new().build(),
            None => credentials::Builder::default().build()?,
        };
        Ok(Project {
            rest: Rest::new(HeaderMap::new())?,
            credentials,
            project,
            region: place.region.clone(),
            endpoint: place.endpoint.as_deref().map(|url| url.trim_end_matches('/').to_owned()),
        })
    }

    pub(super) async fn find(&self) -> Result<Vec<Found>> {
        let mut found: Vec<Found> = Vec::new();
        for (kind, api, path, member) in LISTS {
            for object in self.list(*api, &path.replace("{region}", &self.region), member).await? {
                if let (Some(fabric), Some(id)) = (fabric(&object), self.path(*api, &object)) {
                    let object = Found { kind, id, fabric };
                    if !found.contains(&object) {
                        found.push(object);
                    }
                }
            }
        }
        Ok(found)
    }

    /// All pages of a list.
    async fn list(&self, api: Api, path: &str, member: &str) -> Result<Vec<Value>> {
        let url = self.url(api, &format!("projects/{}/{path}", self.project));
        let (mut objects, mut page) = (Vec::new(), String::new());
        loop {
            let answer = match self.get(&format!("{url}{page}")).await {
                // Nothing that examples of runs create is there, so a project need not use it.
                Err(error) if api.is_optional() && error.downcast_ref().is_some_and(is_disabled) => {
                    return Ok(Vec::new());
                }
                answer => answer?,
            };
            match &answer[if path.starts_with("aggregated/") { "items" } else { member }] {
                Value::Array(list) => objects.extend(list.iter().cloned()),
                Value::Object(places) => {
                    let lists = places.values().filter_map(|place| place[member].as_array());
                    objects.extend(lists.flatten().cloned());
                }
                _ => {}
            }
            match answer["nextPageToken"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => {
                    let mut query = reqwest::Url::parse(&url)?;
                    query.query_pairs_mut().append_pair("pageToken", token);
                    page = format!("?{}", query.query().unwrap_or_default());
                }
                None => return Ok(objects),
            }
        }
    }

    /// The path of an object from `projects/` on.
    fn path(&self, api: Api, object: &Value) -> Option<String> {
        let text = |member: &str| object[member].as_str();
        match api {
            Api::Compute => Some(format!("projects/{}", text("selfLink")?.split_once("/projects/")?.1)),
            Api::Dns => Some(format!("projects/{}/managedZones/{}", self.project, text("name")?)),
            Api::Registry | Api::Secrets | Api::Iam => text("name").map(str::to_owned),
        }
    }

    pub(super) async fn delete(&self, object: &Found) -> Result<()> {
        let list = LISTS.iter().find(|(kind, ..)| *kind == object.kind);
        let (_, api, ..) = list.with_context(|| format!("a {} cannot be deleted", object.kind))?;
        match object.kind {
            "network" => self.remove_peerings(&object.id).await?,
            "managed zone" => self.delete_record_sets(&object.id).await?,
            _ => {}
        }
        self.change(Method::DELETE, &self.url(*api, &object.id), None).await
    }

    /// A network with a peering cannot be deleted.
    async fn remove_peerings(&self, network: &str) -> Result<()> {
        let url = self.url(Api::Compute, network);
        let answer = self.get(&url).await?;
        for peering in answer["peerings"].as_array().into_iter().flatten() {
            let body = json!({"name": peering["name"]});
            self.change(Method::POST, &format!("{url}/removePeering"), Some(&body)).await?;
        }
        Ok(())
    }

    /// A zone can only be deleted without records, but for the two that every zone has.
    async fn delete_record_sets(&self, zone: &str) -> Result<()> {
        let url = self.url(Api::Dns, zone);
        let apex = self.get(&url).await?["dnsName"].clone();
        let path = zone.split_once(&format!("projects/{}/", self.project)).map(|(_, path)| path);
        let path = format!("{}/rrsets", path.context("a zone of another project")?);
        for set in self.list(Api::Dns, &path, "rrsets").await? {
            let (Some(name), Some(kind)) = (set["name"].as_str(), set["type"].as_str()) else { continue };
            if set["name"] != apex || !["NS", "SOA"].contains(&kind) {
                self.change(Method::DELETE, &format!("{url}/rrsets/{name}/{kind}"), None).await?;
            }
        }
        Ok(())
    }

    fn url(&self, api: Api, path: &str) -> String {
        format!("{}{}{path}", self.endpoint.as_deref().unwrap_or(api.host()), api.version())
    }

    async fn get(&self, url: &str) -> Result<Value> {
        self.rest.get_with(url, &self.headers().await?).await
    }

    async fn change(&self, method: Method, url: &str, body: Option<&Value>) -> Result<()> {
        self.rest.change(method, url, &self.headers().await?, body).await
    }

    async fn headers(&self) -> Result<HeaderMap> {
        match self.credentials.headers(Extensions::new()).await? {
            CacheableResource::New { data, .. } => Ok(data),
            CacheableResource::NotModified => Ok(HeaderMap::new()),
        }
    }
}

/// Whether an API refused a call because the project does not use it.
///
/// The reason is in one of two lists (terraform-google-modules/cloud-foundation-training #17,
/// GoogleCloudPlatform/core-solution-services #7).
fn is_disabled(refused: &Refused) -> bool {
    let reasons = [("errors", "accessNotConfigured"), ("details", "SERVICE_DISABLED")];
    reasons.iter().any(|(list, reason)| {
        let entries = refused.answer["error"][list].as_array();
        entries.into_iter().flatten().any(|entry| entry["reason"] == *reason)
    })
}

/// The run that an object belongs to.
fn fabric(object: &Value) -> Option<Fabric> {
    if let Some(label) = object["labels"]["warren-fabric"].as_str() {
        return Fabric::parse(label);
    }
    let marker = object["description"].as_str()?.strip_prefix("[warren:")?;
    Fabric::parse(marker.split('/').next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_is_in_a_label_or_a_marker() {
        let run = "warren-acc-1795410618-000000ab";
        for object in [
            json!({"labels": {"warren-fabric": run}, "description": "Managed by Warren"}),
            json!({"description": format!("[warren:{run}/acceptance/hub] Shared hub")}),
        ] {
            assert_eq!(fabric(&object).map(|fabric| fabric.to_string()).as_deref(), Some(run), "{object}");
        }
        for object in [
            json!({"labels": {"team": run}}),
            json!({"labels": {"warren-fabric": "llm-training"}, "description": format!("[warren:{run}/a/b]")}),
            json!({"description": format!("copied from [warren:{run}/acceptance/hub]")}),
            json!({"name": run}),
        ] {
            assert_eq!(fabric(&object), None, "{object}");
        }
    }

    #[test]
    fn an_api_that_the_project_does_not_use_holds_nothing() {
        let compute = json!({"error": {"code": 403, "errors": [{"reason": "accessNotConfigured"}]}});
        let other = json!({"error": {"code": 403, "details": [{"reason": "SERVICE_DISABLED"}]}});
        let is_disabled = |answer: &Value| is_disabled(&Refused::of(answer.clone()));
        assert!(is_disabled(&compute) && is_disabled(&other));
        let denied = json!({"error": {"code": 403, "errors": [{"reason": "forbidden"}], "details": [{"reason": "IAM_PERMISSION_DENIED"}]}});
        assert!(!is_disabled(&denied) && !is_disabled(&Value::Null));
    }

    #[test]
    fn every_kind_is_listed() {
        let listed: std::collections::BTreeSet<&str> = LISTS.iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(listed, KINDS.iter().copied().collect());
    }
}
