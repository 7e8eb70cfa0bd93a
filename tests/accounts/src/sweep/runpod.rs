//! An account of RunPod. Its objects have no tags: a pod has a variable of its environment, a secret its description,
//! and the others their names.

use anyhow::{Context as _, Result, ensure};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::Value;

use super::rest::Rest;
use super::{Found, Place};
use crate::fabric::Fabric;

/// The kinds in the order of their deletion, with the path of each and the member of the answer that lists them.
const PATHS: [(&str, &str, &str); 6] = [
    ("cluster", "/v2/clusters", "clusters"),
    ("pod", "/v2/pods", "pods"),
    ("network volume", "/v2/network-volumes", "networkVolumes"),
    ("registry credential", "/v2/registries", "registries"),
    ("ECR delegation", "/v2/registries/delegations", "delegations"),
    ("secret", "/v2/account/secrets", "secrets"),
];

#[cfg(test)]
pub(super) const KINDS: &[&str] = &[PATHS[0].0, PATHS[1].0, PATHS[2].0, PATHS[3].0, PATHS[4].0, PATHS[5].0];

#[derive(Debug)]
pub(super) struct Account {
    rest: Rest,
    endpoint: String,
}

impl Account {
    pub(super) fn open(place: &Place) -> Result<Account> {
        let key = std::env::var("RUNPOD_API_KEY").context("RUNPOD_API_KEY is not set")?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.trim()))
            .ok()
            .context("RUNPOD_API_KEY contains invalid characters")?;
        value.set_sensitive(true);
        let rest = Rest::new(HeaderMap::from_iter([(AUTHORIZATION, value)]))?;
        let endpoint = place.endpoint.as_deref().unwrap_or("https://api.runpod.io");
        Ok(Account { rest, endpoint: endpoint.trim_end_matches('/').to_owned() })
    }

    pub(super) async fn find(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for (kind, path, list) in PATHS {
            let answer = self.rest.get(&format!("{}{path}", self.endpoint)).await?;
            let objects = answer[list].as_array();
            for object in objects.with_context(|| format!("{path} lists no {list}"))? {
                if let (Some(fabric), Some(id)) = (fabric(object), object["id"].as_str()) {
                    found.push(Found { kind, id: id.to_owned(), fabric });
                }
            }
        }
        Ok(found)
    }

    pub(super) async fn delete(&self, object: &Found) -> Result<()> {
        let path = PATHS.iter().find(|(kind, ..)| *kind == object.kind).map(|(_, path, _)| *path);
        let path = path.with_context(|| format!("a {} cannot be deleted", object.kind))?;
        ensure!(!object.id.contains(['/', '?', '#']), "{} is not an ID", object.id);
        self.rest.delete(&format!("{}{path}/{}", self.endpoint, object.id)).await
    }
}

/// The run that an object belongs to.
fn fabric(object: &Value) -> Option<Fabric> {
    if let Some(mark) = object["env"]["WARREN_RESOURCE"].as_str() {
        return Fabric::parse(mark.split('/').next()?);
    }
    let after = |text: &str| Fabric::parse(text.split_once("[warren:")?.1.split('/').next()?);
    let description = object["description"].as_str().filter(|text| text.starts_with("[warren:"));
    let name = object["name"].as_str().filter(|name| name.ends_with(']') && name.contains(" [warren:"));
    description.and_then(after).or_else(|| name.and_then(after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_run_is_in_one_of_three_fields() {
        let run = "warren-acc-1795410618-000000ab";
        for object in [
            json!({"name": "w", "env": {"WARREN_RESOURCE": format!("{run}/acceptance/w")}}),
            json!({"name": "token", "description": format!("[warren:{run}/acceptance] the token")}),
            json!({"name": format!("data [warren:{run}/acceptance]")}),
        ] {
            assert_eq!(fabric(&object).map(|fabric| fabric.to_string()).as_deref(), Some(run), "{object}");
        }
        for object in [
            json!({"name": run}),
            json!({"name": "w", "env": {"WARREN_RESOURCE": "training/acceptance/w"}}),
            json!({"name": "token", "description": format!("was [warren:{run}/acceptance]")}),
            json!({"name": format!("[warren:{run}/a] of others")}),
        ] {
            assert_eq!(fabric(&object), None, "{object}");
        }
    }
}
