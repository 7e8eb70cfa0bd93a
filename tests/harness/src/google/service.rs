//! The way of one call through the double: document, rules, document again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::account;
use super::artifact;
use super::compute;
use super::discovery::{Document, Side};
use super::dns;
use super::error::Refusal;
use super::exchanged;
use super::metadata;
use super::perimeter;
use super::request::Request;
use super::secret;
use super::served::SERVED;
use super::world::World;
use crate::front::reply::Reply;
use crate::front::{Call, Cloud, Effect, Front};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) front: Front,
    pub(crate) documents: Arc<Vec<Document>>,
    pub(crate) world: Mutex<World>,
}

impl Service {
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, sequence: u64, request: &Request, effect: Option<&Effect>) -> Result<Value, Refusal> {
        if let Some(path) = request.metadata() {
            return metadata::answer(&self.world(), path, request);
        }
        let action = request.action();
        let Some(method) = request.method() else {
            self.front.violate(
                sequence,
                &action,
                "no method of a discovery document has this path".to_owned(),
            );
            let message = "The requested URL was not found on this server.";
            return Err(Refusal::new(StatusCode::NOT_FOUND, "notFound", message).by_front(None));
        };
        for problem in request.problems() {
            self.front.violate(sequence, &action, problem.to_string());
        }
        if let Some(problem) = request.problems().first() {
            let refusal = Refusal::bad(problem.reason(), problem.to_string());
            return Err(match problem.reason() {
                "badRequest" => refusal.by_front(Some("resource")),
                _ => refusal,
            });
        }
        if !SERVED.contains(&method.id.as_str()) {
            self.front.violate(sequence, &action, "the double does not serve this method".to_owned());
            return Err(compute::unserved(&action));
        }
        let answer = {
            let mut world = self.world();
            let answer = match method.id.split_once('.') {
                Some(("compute", rest)) => compute::answer(&mut world, request, rest, effect),
                Some(("artifactregistry", rest)) => artifact::answer(&mut world, request, rest, effect),
                Some(("accesscontextmanager", rest)) => perimeter::answer(&mut world, request, rest, effect),
                Some(("secretmanager", rest)) => secret::answer(&mut world, request, rest, effect),
                Some(("dns", rest)) => dns::answer(&mut world, request, rest, effect),
                Some(("networkconnectivity", rest)) => exchanged::internal_ranges(&world, request, rest),
                Some(("iam", rest)) => account::answer(&mut world, request, rest),
                _ => Err(compute::unserved(&action)),
            };
            if answer.as_ref().is_err_and(|refusal| refusal.for_now) {
                world.pass();
            }
            answer
        };
        self.front.note(sequence, |call| call.forwarded = answer.is_ok());
        let answer = answer?;
        self.check(sequence, request, &answer)?;
        Ok(partial(request, answer))
    }

    /// An answer that does not fit the document is a defect of the double, and is told as loudly as can be.
    fn check(&self, sequence: u64, request: &Request, answer: &Value) -> Result<(), Refusal> {
        let (Some(document), Some(method)) = (request.document(), request.method()) else { return Ok(()) };
        if method.response.is_none() {
            return Ok(());
        }
        let problems = document.check_body(method, Side::Response, answer);
        for problem in &problems {
            let told = format!("DEFECT OF THE DOUBLE: its answer does not fit the document: {problem}");
            self.front.violate(sequence, &method.id, told);
        }
        match problems.first() {
            Some(problem) => Err(Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internalError",
                format!("the double's answer does not fit the discovery document: {problem}"),
            )),
            None => Ok(()),
        }
    }
}

/// The top-level fields that `fields` selects; deeper selections are answered whole.
fn partial(request: &Request, mut answer: Value) -> Value {
    let Some(selected) = request.query("fields").filter(|selected| !selected.is_empty() && *selected != "*")
    else {
        return answer;
    };
    let mut depth = 0;
    let mut names = vec![String::new()];
    for letter in selected.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
            letter if depth == 0 => names.last_mut().into_iter().for_each(|name| name.push(letter)),
            _ => {}
        }
    }
    if let Some(members) = answer.as_object_mut() {
        members.retain(|member, _| {
            names.iter().any(|name| name.split('/').next().is_some_and(|first| first.trim() == member))
        });
    }
    answer
}

impl Cloud for Service {
    type Request = Request;

    fn read(&self, raw: http::Request<Bytes>) -> (Call, Request) {
        let request = Request::read(&self.documents, &raw);
        (request.call(), request)
    }

    async fn answer(&self, sequence: u64, request: Request, effect: Option<Effect>) -> Reply {
        let modern =
            request.document().is_some_and(|document| !["compute", "dns"].contains(&document.name.as_str()));
        match self.handle(sequence, &request, effect.as_ref()) {
            Ok(Value::Null) => {
                let mut reply = Response::new(Bytes::new());
                *reply.status_mut() = StatusCode::NO_CONTENT;
                reply
            }
            Ok(answer) => reply(StatusCode::OK, &answer),
            Err(refusal) => reply(refusal.status, &refusal.body(modern)),
        }
    }
}

fn reply(status: StatusCode, body: &Value) -> Reply {
    let mut reply = Response::new(Bytes::from(body.to_string()));
    *reply.status_mut() = status;
    let kind = HeaderValue::from_static("application/json; charset=UTF-8");
    reply.headers_mut().insert(header::CONTENT_TYPE, kind);
    reply
}
