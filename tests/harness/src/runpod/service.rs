//! The way of one call through the double: key, schema, rules, schema again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::error::Refusal;
use super::schema::{Document, Operation};
use super::world::World;
use crate::front::reply::Reply;
use crate::front::{Call, Cloud, Effect, Front, Service as Kind};
use crate::query::Params;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) front: Front,
    pub(crate) document: Document,
    pub(crate) world: Mutex<World>,
}

/// A request as the double reads it.
#[derive(Debug)]
pub(crate) struct Request {
    line: String,
    ask: Option<Operation>,
    key: Option<String>,
    query: Params,
    body: Result<Value, String>,
}

impl Request {
    fn action(&self) -> String {
        match &self.ask {
            Some(operation) => operation.id.clone(),
            None => self.line.clone(),
        }
    }
}

impl Service {
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn authorised(&self, request: &Request) -> Result<(), Refusal> {
        if request.key.as_ref() == Some(&self.world().config.api_key) {
            return Ok(());
        }
        let detail = if request.key.is_none() { "missing bearer token" } else { "invalid bearer token" };
        Err(Refusal::new(StatusCode::UNAUTHORIZED, detail))
    }

    fn rest(
        &self,
        sequence: u64,
        operation: &Operation,
        request: &Request,
    ) -> Result<(StatusCode, Value), Refusal> {
        let violate = |problem: &str| self.front.violate(sequence, &operation.id, problem.to_owned());
        let body = request.body.as_ref().map_err(|error| {
            violate(error);
            Refusal::bad(error.clone())
        })?;
        let mut problems = self.document.check_request(operation, body);
        problems.extend(self.document.check_query(operation, &request.query));
        if !problems.is_empty() {
            problems.iter().for_each(|problem| violate(problem));
            return Err(Refusal::unprocessable(problems));
        }
        let members = body.as_object().cloned().unwrap_or_default();
        let id = operation.bound.first().map_or("", |(_, id)| id.as_str());
        let mut world = self.world();
        let answer = match operation.id.as_str() {
            "listPods" => Ok(world.list_pods(request.query.get("includeClusterPods") == "true")),
            "createPod" => world.create_pod(&members),
            "getPod" => world.get_pod(id),
            "updatePod" => world.update_pod(id, members),
            "deletePod" => world.delete_pod(id),
            "podAction" => world.act(id, members["action"].as_str().unwrap_or_default()),
            "listNetworkVolumes" => Ok(world.list_volumes()),
            "createNetworkVolume" => world.create_volume(members),
            "getNetworkVolume" => world.volume(id).cloned().map(Value::Object),
            "updateNetworkVolume" => world.update_volume(id, members),
            "deleteNetworkVolume" => world.delete_volume(id),
            "listRegistries" => Ok(world.list_registries()),
            "createRegistry" => world.create_registry(&members),
            "getRegistry" => world.registry(id),
            "deleteRegistry" => world.delete_registry(id),
            "listDelegations" => Ok(world.list_delegations()),
            "createDelegation" => world.create_delegation(&members),
            "revokeDelegation" => world.revoke_delegation(id),
            "listSecrets" => Ok(world.list_secrets(request.query.get("name"))),
            "createSecret" => world.create_secret(&members),
            "getSecret" => world.secret(id),
            "updateSecret" => world.update_secret(id, &members),
            "deleteSecret" => world.delete_secret(id),
            "listClusters" => Ok(world.list_clusters()),
            "createCluster" => world.create_cluster(&members),
            "getCluster" => world.get_cluster(id),
            "listClusterPods" => world.list_cluster_pods(id),
            "updateCluster" => world.update_cluster(id, members),
            "deleteCluster" => world.delete_cluster(id),
            "listGpuTypes" => world.list_gpu_types(&request.query),
            other => {
                violate("the double does not serve this operation");
                Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, format!("the double has no {other}")))
            }
        }?;
        let status = match (&answer, operation.id.starts_with("create")) {
            (Value::Null, _) => StatusCode::NO_CONTENT,
            (_, true) => StatusCode::CREATED,
            _ => StatusCode::OK,
        };
        Ok((status, answer))
    }

    /// An answer that does not fit the schema is a defect of the double, and is told as loudly as can be.
    fn held(
        &self,
        sequence: u64,
        operation: &Operation,
        status: StatusCode,
        body: Value,
    ) -> (StatusCode, Value) {
        let problems = self.document.check_response(operation, status.as_u16(), &body);
        let Some(first) = problems.first() else { return (status, body) };
        for problem in &problems {
            let told = format!("DEFECT OF THE DOUBLE: its answer does not fit the schema: {problem}");
            self.front.violate(sequence, &operation.id, told);
        }
        let detail = format!("the double's answer does not fit the schema: {first}");
        let refusal = Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail);
        (refusal.status, refusal.problem())
    }
}

impl Cloud for Service {
    type Request = Request;

    fn read(&self, raw: http::Request<Bytes>) -> (Call, Request) {
        let path = raw.uri().path().to_owned();
        let text = raw.body();
        let body = if text.is_empty() {
            Ok(Value::Null)
        } else {
            serde_json::from_slice(text).map_err(|error| format!("the body is not JSON: {error}"))
        };
        let request = Request {
            line: format!("{} {path}", raw.method()),
            ask: self.document.operation(raw.method().as_str(), &path),
            key: bearer(raw.headers()),
            query: Params::from_form(raw.uri().query().unwrap_or_default().as_bytes()),
            body,
        };
        let mut params = match &request.body {
            Ok(body) if !body.is_null() => Params::from_json(body),
            _ => Params::default(),
        };
        if let Some(operation) = &request.ask {
            operation.bound.iter().for_each(|(name, value)| params.set(name, value));
        }
        let call = Call {
            sequence: 0,
            service: Kind::RunPod,
            action: request.action(),
            params,
            status: None,
            error: None,
            forwarded: false,
        };
        (call, request)
    }

    async fn answer(&self, sequence: u64, request: Request, _effect: Option<Effect>) -> Reply {
        match &request.ask {
            None => {
                let told = "no operation of the schema has this path".to_owned();
                self.front.violate(sequence, &request.line, told);
                let refusal = Refusal::not_found("path");
                problem(refusal.status, &refusal.problem())
            }
            Some(operation) => {
                let handled =
                    self.authorised(&request).and_then(|()| self.rest(sequence, operation, &request));
                let (status, body) = match handled {
                    Ok((status, body)) => {
                        self.front.note(sequence, |call| call.forwarded = true);
                        (status, body)
                    }
                    Err(refusal) => (refusal.status, refusal.problem()),
                };
                let (status, body) = self.held(sequence, operation, status, body);
                if status.is_success() {
                    reply(status, "application/json", &body)
                } else {
                    problem(status, &body)
                }
            }
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ").map(str::to_owned)
}

fn problem(status: StatusCode, body: &Value) -> Reply {
    reply(status, "application/problem+json", body)
}

fn reply(status: StatusCode, kind: &'static str, body: &Value) -> Reply {
    let text = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let mut reply = Response::new(text);
    *reply.status_mut() = status;
    if !body.is_null() {
        reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    reply
}
