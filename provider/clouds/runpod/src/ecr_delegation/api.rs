//! API calls for ECR delegations: docs.runpod.io/api-reference-v2/registries. The API lists them, but has no call to read
//! one of them.

use reqwest::Method;
use serde_json::{Value, json};
use tf_provider_rs::Attr;

use super::model::{EcrDelegation, Repository};
use crate::answer::Answer as _;
use crate::client::Call;
use crate::error::ApiError;
use crate::marker;
use crate::session::RunPod;

const LIST: &str = "listDelegations";
const PATH: &str = "/v2/registries/delegations";

/// IDs of delegations with this name at RunPod, for the planned repository.
pub(super) async fn find(
    runpod: &RunPod,
    planned: &EcrDelegation,
    name: &str,
) -> Result<Vec<String>, ApiError> {
    let wanted = planned.repository_arn.known().and_then(|arn| Repository::parse(arn));
    let all = list(runpod).await?;
    let ours = all.iter().filter(|found| found["name"] == json!(name) && repository(found) == wanted);
    ours.map(|found| found.member(LIST, "id").map(str::to_owned)).collect()
}

pub(super) async fn create(runpod: &RunPod, planned: &EcrDelegation, name: &str) -> Result<String, ApiError> {
    let call = Call {
        operation: "createDelegation",
        method: &Method::POST,
        path: PATH,
        body: Some(&json!({"resource": planned.repository_arn.value()?, "name": name})),
        secrets: &[],
    };
    runpod.client.call(call).await?.member("createDelegation", "id").map(str::to_owned)
}

/// Reads the delegation. Fails if it does not exist.
pub(super) async fn get(runpod: &RunPod, before: &EcrDelegation) -> Result<EcrDelegation, ApiError> {
    let id = before.object.id()?;
    let all = list(runpod).await?;
    let found = all.iter().find(|found| found["id"] == json!(id));
    state(found.ok_or_else(|| ApiError::absent(LIST, &format!("the delegation {id}")))?, before)
}

pub(super) async fn delete(runpod: &RunPod, id: &str) -> Result<(), ApiError> {
    runpod.client.delete("revokeDelegation", &format!("{PATH}/{id}")).await
}

async fn list(runpod: &RunPod) -> Result<Vec<Value>, ApiError> {
    runpod.client.get(LIST, PATH).await?.list(LIST, "delegations").map(<[Value]>::to_vec)
}

fn repository(found: &Value) -> Option<Repository<'_>> {
    Some(Repository {
        region: found.text("awsRegion")?,
        account: found.text("awsUser")?,
        name: found.text("repository")?,
    })
}

/// The state of a delegation as the API returns it. It reports the parts of the ARN, but not the partition.
pub(super) fn state(found: &Value, before: &EcrDelegation) -> Result<EcrDelegation, ApiError> {
    let name = marker::plain_name(found.member(LIST, "name")?);
    let known = before.repository_arn.known().map(String::as_str);
    let there = repository(found);
    let arn = match (known.and_then(Repository::parse), there) {
        (have, there) if have.is_some() && have == there => known.map(str::to_owned),
        (_, Some(Repository { region, account, name })) => {
            Some(format!("arn:aws:ecr:{region}:{account}:repository/{name}"))
        }
        (_, None) => None,
    };
    Ok(EcrDelegation {
        object: before.object.found(name, found.member(LIST, "id")?),
        repository_arn: arn.into(),
        registry: Attr::from(found.text("dockerRegistryUri").map(str::to_owned)),
    })
}
