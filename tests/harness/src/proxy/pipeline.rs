//! The way of one call through the stations.

use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use super::instances::Instances;
use super::lifecycle::Asked;
use super::request::Request;
use super::{Shared, attributes, normalise, paging, rules, transit};
use crate::front::Service;
use crate::front::reply::{self, Rejection, Reply};
use crate::xml::Element;

/// The answer: a refusal of ours, or the emulator's as AWS would have given it.
pub(super) async fn answer(shared: &Shared, request: &mut Request) -> Reply {
    if let Some(rejection) = validate(shared, request) {
        return rejection.reply(request.service, request.sequence);
    }
    // Reads go side by side; each write is alone from check to answer.
    let _alone = if request.is_read() { None } else { Some(shared.writes.lock().await) };
    let done = match request.service {
        Service::Ec2 => ec2(shared, request).await,
        Service::Route53 => route53(shared, request).await,
        Service::Route53Resolver => resolver(shared, request).await,
        _ => pass(shared, request).await,
    };
    done.unwrap_or_else(|rejection| rejection.reply(request.service, request.sequence))
}

/// Checks the request against the service model and records what is wrong with it.
fn validate(shared: &Shared, request: &Request) -> Option<Rejection> {
    let models = &shared.models;
    if !models.covers(request.service) {
        return None;
    }
    let problems = if request.json.is_some() {
        models.check_json(request.service, &request.action, request.json.as_ref().unwrap_or(&Value::Null))
    } else {
        models.check_query(request.service, &request.action, &request.params)
    };
    for problem in &problems {
        violate(shared, request, problem.to_string());
    }
    problems.first().map(|problem| Rejection::new(problem.code(), problem.to_string()))
}

fn violate(shared: &Shared, request: &Request, problem: String) {
    shared.front.violate(request.sequence, &request.action, problem);
}

async fn ec2(shared: &Shared, request: &mut Request) -> Result<Reply, Rejection> {
    let config = {
        let mut state = shared.state();
        if let Some(rejection) = state.stale.refuse(request) {
            return Err(rejection);
        }
        if let Some(replayed) = state.tokens.replay(request) {
            return replayed;
        }
        state.config.clone()
    };
    let sent = request.params.clone();
    let page = paging::take(&shared.models, request, config.page_size)?;
    if let Some(page) = &page
        && let Some(tree) = shared.state().pages.following(&request.action, page)?
    {
        return Ok(reply::xml(&tree));
    }
    let asked = Asked::take(request);
    if !request.is_read() {
        normalise::ranges(&mut request.params);
        normalise::defaults(&request.action, &mut request.params);
        normalise::tags(&request.action, &mut request.params);
        if let Some(rejection) = shared.state().instances.refuse(request, &config) {
            return Err(rejection);
        }
        if config.rules {
            rules::check(shared, request).await?;
        }
        if sent.get("DryRun") == "true" {
            let message = "Request would have succeeded, but DryRun flag is set.";
            return Err(Rejection::with_status(StatusCode::PRECONDITION_FAILED, "DryRunOperation", message));
        }
    }
    let context = rules::Context::of(shared, request);
    if let Some(mut tree) = transit::answer(&context, &request.action, &config).await? {
        let mut state = shared.state();
        if let Some(page) = page {
            state.pages.cut(&request.action, &page, &mut tree);
        }
        return Ok(reply::xml(&tree));
    }
    let doomed = rules::doomed(shared, request).await?;
    let changed = attributes::changed(shared, request).await;
    let reply = pass(shared, request).await?;
    if !reply.status().is_success() {
        return Ok(reply);
    }
    let wanted = {
        let state = shared.state();
        let creates = !request.is_read();
        creates
            || page.is_some()
            || !state.stale.is_empty()
            || state.lifecycle.concerns(&request.action, &asked)
            || Instances::concerns(&request.action)
            || state.attributes.concerns(&request.action)
            || request.action == "DescribeVpcEndpoints"
    };
    if !wanted {
        return Ok(reply);
    }
    let Ok(mut tree) = Element::parse(&String::from_utf8_lossy(reply.body())) else { return Ok(reply) };
    rules::settle(shared, request, &tree, &doomed).await;
    let context = rules::Context::of(shared, request);
    transit::settle(&context, &request.action, &tree, config.pending).await;
    transit::show(&context, &request.action, &mut tree).await;
    let reply = {
        let mut state = shared.state();
        let action = request.action.as_str();
        state.stale.created(action, &tree, config.consistency);
        state.lifecycle.begun(action, &tree, &config);
        for (class, id, item) in doomed {
            state.lifecycle.doom(class, &id, item, &config);
        }
        state.lifecycle.show(action, &mut tree, &asked);
        state.endpoint_options.show(action, &sent, &mut tree);
        state.attributes.begun(changed, config.stale_attributes);
        state.attributes.show(action, &sent, &mut tree);
        state.instances.show(action, &mut tree, &config);
        if request.is_read() {
            state.stale.hide(action, &mut tree);
        }
        if let Some(rejection) = state.lifecycle.missing(action, &tree, &asked) {
            return Err(rejection);
        }
        if let Some(page) = page {
            state.pages.cut(action, &page, &mut tree);
        }
        let reply = reply::with_body(reply, &tree);
        state.tokens.keep(request, sent, &reply);
        reply
    };
    Ok(reply)
}

/// Changes of zones take time, and names come back as Route 53 writes them.
async fn route53(shared: &Shared, request: &Request) -> Result<Reply, Rejection> {
    if request.action == "GetChange" {
        return shared.state().changes.get(request.params.get("Id"));
    }
    let reply = pass(shared, request).await?;
    let Ok(mut tree) = Element::parse(&String::from_utf8_lossy(reply.body())) else { return Ok(reply) };
    if reply.status().is_success() {
        let mut state = shared.state();
        let pending = state.config.pending;
        state.changes.begun(request.sequence, &mut tree, pending);
        super::route53::escape(&mut tree);
        return Ok(reply::with_body(reply, &tree));
    }
    Ok(reply)
}

/// Endpoints, rules and associations of the Resolver take time.
async fn resolver(shared: &Shared, request: &Request) -> Result<Reply, Rejection> {
    if let Some(rejection) = shared.state().resolver.refuse(request) {
        return Err(rejection);
    }
    let reply = pass(shared, request).await?;
    let mut state = shared.state();
    let config = state.config.clone();
    Ok(state.resolver.show(request, reply, &config))
}

/// Forwards the request and returns the emulator's answer.
async fn pass(shared: &Shared, request: &Request) -> Result<Reply, Rejection> {
    let reply = shared.emulator.forward(request.outgoing()).await.map_err(|error| {
        Rejection::with_status(StatusCode::BAD_GATEWAY, "EmulatorGone", format!("{error:#}"))
    })?;
    shared.front.note(request.sequence, |call| call.forwarded = true);
    let crashed = reply.status().is_server_error() || reply.status() == StatusCode::NOT_IMPLEMENTED;
    let page = reply.body().starts_with(b"<!doctype html>");
    if crashed || page {
        // Clients repeat a 500, which would only hide that the emulator cannot do this.
        let problem = format!("the emulator failed with {} and does not implement this", reply.status());
        violate(shared, request, problem.clone());
        return Err(Rejection::new("UnsupportedByEmulator", problem));
    }
    Ok(strip(match request.service {
        Service::AutoScaling | Service::Iam | Service::Sts | Service::Route53
            if !reply.status().is_success() =>
        {
            with_one_message(reply)
        }
        Service::Ecr | Service::Ssm | Service::Logs | Service::Route53Resolver => without_nulls(reply),
        _ => reply,
    }))
}

/// The emulator writes null for a member that AWS leaves out.
fn without_nulls(mut reply: Reply) -> Reply {
    let Ok(mut body) = serde_json::from_slice(reply.body()) else { return reply };
    prune(&mut body);
    reply.headers_mut().remove(http::header::CONTENT_LENGTH);
    *reply.body_mut() = Bytes::from(body.to_string());
    reply
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(prune);
        }
        Value::Array(values) => values.iter_mut().for_each(prune),
        _ => {}
    }
}

/// The emulator writes the message of an error in two spellings.
fn with_one_message(reply: Reply) -> Reply {
    let Ok(mut tree) = Element::parse(&String::from_utf8_lossy(reply.body())) else { return reply };
    let Some(error) = tree.child_mut("Error") else { return reply };
    error.children.retain(|child| child.name != "message");
    reply::with_body(reply, &tree)
}

/// Takes out what belongs to the connection between the proxy and the emulator.
fn strip(mut reply: Reply) -> Reply {
    for name in [http::header::CONNECTION, http::header::TRANSFER_ENCODING] {
        reply.headers_mut().remove(name);
    }
    reply
}
