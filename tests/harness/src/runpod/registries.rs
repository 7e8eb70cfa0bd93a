//! Credentials and ECR delegations, with which RunPod pulls private images.

use serde_json::{Value, json};

use super::error::Refusal;
use super::world::{Body, MADE, Registry, World, text};

impl World {
    pub(crate) fn list_registries(&self) -> Value {
        let shown: Vec<Value> =
            self.registries.iter().map(|(id, found)| json!({"id": id, "name": found.name})).collect();
        json!({"registries": shown})
    }

    pub(crate) fn create_registry(&mut self, body: &Body) -> Result<Value, Refusal> {
        let name = text(body, "name");
        if !self.config.same_registry_names && self.registries.values().any(|found| found.name == name) {
            return Err(Refusal::bad(format!("a registry credential named {name:?} already exists")));
        }
        let id = self.id("reg");
        let registry = Registry {
            name: name.clone(),
            username: text(body, "username"),
            password: text(body, "password"),
            expired: false,
        };
        self.registries.insert(id.clone(), registry);
        Ok(json!({"id": id, "name": name}))
    }

    pub(crate) fn registry(&self, id: &str) -> Result<Value, Refusal> {
        let found = self.registries.get(id).ok_or_else(|| Refusal::not_found("registry credential"))?;
        Ok(json!({"id": id, "name": found.name}))
    }

    pub(crate) fn delete_registry(&mut self, id: &str) -> Result<Value, Refusal> {
        self.registry(id)?;
        if let Some((pod, _)) = self.pods.iter().find(|(_, pod)| pod.body["registry"] == *id) {
            return Err(Refusal::bad(format!("registry credential is in use by pod {pod}")));
        }
        self.registries.remove(id);
        Ok(Value::Null)
    }

    pub(crate) fn list_delegations(&self) -> Value {
        json!({"delegations": self.delegations.values().collect::<Vec<_>>()})
    }

    /// RunPod reads the repository when a delegation is registered, and refuses one whose policy does not admit it.
    pub(crate) fn create_delegation(&mut self, body: &Body) -> Result<Value, Refusal> {
        let arn = text(body, "resource");
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let [_, _, "ecr", region, account, resource] = parts[..] else {
            return Err(Refusal::bad("resource is not the ARN of an ECR repository"));
        };
        let Some(repository) = resource.strip_prefix("repository/") else {
            return Err(Refusal::bad("resource is not the ARN of an ECR repository"));
        };
        if self.config.closed_repositories.contains(&arn) {
            return Err(Refusal::bad("the ECR repository policy does not grant access to Runpod"));
        }
        let id = self.id("deleg");
        let delegation = json!({
            "id": id, "name": body.get("name"), "delegatorUserId": "user_double", "awsUser": account,
            "repository": repository, "tag": "latest", "awsRegion": region,
            "dockerRegistryUri": format!("{account}.dkr.ecr.{region}.amazonaws.com"), "createdAt": MADE,
        });
        self.delegations.insert(id, delegation.clone());
        Ok(delegation)
    }

    pub(crate) fn revoke_delegation(&mut self, id: &str) -> Result<Value, Refusal> {
        self.delegations.remove(id).map(|_| Value::Null).ok_or_else(|| Refusal::not_found("delegation"))
    }
}
