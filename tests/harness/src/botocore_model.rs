//! Requests and answers checked against the service models that botocore ships.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;

use crate::front::Service;
use crate::front::reply::Reply;
use crate::query::Params;
use crate::venv::Venv;

mod answer;
mod check;
mod errors;
mod exceptions;
mod model;
mod rest;
#[cfg(test)]
mod tests;

pub use exceptions::{EXCEPTIONS, Exception, Waiver};
pub(crate) use model::Pagination;
use model::{Model, Paginators};
pub(crate) use rest::Sent;

/// What is wrong with a request or an answer, in the words AWS would answer a request with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The service has no such operation.
    UnknownAction(String),
    /// The operation has no such parameter.
    UnknownParameter(String),
    /// A required parameter is absent.
    Missing(String),
    /// A value is not of the parameter's type, not in its enumeration, or out of its bounds.
    Value {
        /// Dotted name of the parameter.
        name: String,
        /// What was sent.
        value: String,
        /// What the model asks for.
        expected: String,
    },
}

impl Problem {
    pub(super) fn value(name: &str, value: &str, expected: &str) -> Self {
        Self::Value { name: name.to_owned(), value: value.to_owned(), expected: expected.to_owned() }
    }

    /// The member that it is about.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::UnknownAction(name) | Self::UnknownParameter(name) | Self::Missing(name) => name,
            Self::Value { name, .. } => name,
        }
    }

    /// The error code of the answer.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownAction(_) => "InvalidAction",
            Self::UnknownParameter(_) => "UnknownParameter",
            Self::Missing(_) => "MissingParameter",
            Self::Value { .. } => "InvalidParameterValue",
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownAction(action) => {
                write!(f, "The action {action} is not valid for this web service.")
            }
            Self::UnknownParameter(name) => write!(f, "The parameter {name} is not recognized"),
            Self::Missing(name) => write!(f, "The request must contain the parameter {name}"),
            Self::Value { name, value, expected } => {
                write!(f, "Value ({value}) for parameter {name} is invalid. Expected {expected}.")
            }
        }
    }
}

/// The models of the services whose requests and answers are validated.
#[derive(Debug)]
pub struct Models {
    autoscaling: Model,
    ec2: Model,
    ecr: Model,
    sts: Model,
    iam: Model,
    ssm: Model,
    s3: Model,
    logs: Model,
    route53: Model,
    resolver: Model,
    pages: Paginators,
}

static LOADED: Mutex<Option<Arc<Models>>> = Mutex::new(None);

impl Models {
    /// Reads the models from the Python environment, once in a process.
    ///
    /// # Errors
    /// The environment lacks a model, or one has a shape this reader does not know.
    pub fn load(venv: &Venv) -> Result<Arc<Self>> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(models) = loaded.as_ref() {
            return Ok(Arc::clone(models));
        }
        let data = venv.botocore_data()?;
        let ec2 = data.join("ec2/2016-11-15");
        let pages = std::fs::read(ec2.join("paginators-1.json")).context("EC2 paginators")?;
        let models = Arc::new(Self {
            autoscaling: read(&data.join("autoscaling/2011-01-01"))?,
            ec2: read(&ec2)?,
            ecr: read(&data.join("ecr/2015-09-21"))?,
            sts: read(&data.join("sts/2011-06-15"))?,
            iam: read(&data.join("iam/2010-05-08"))?,
            ssm: read(&data.join("ssm/2014-11-06"))?,
            s3: read(&data.join("s3/2006-03-01"))?,
            logs: read(&data.join("logs/2014-03-28"))?,
            route53: read(&data.join("route53/2013-04-01"))?,
            resolver: read(&data.join("route53resolver/2018-04-01"))?,
            pages: serde_json::from_slice(&pages).context("EC2 paginators")?,
        });
        *loaded = Some(Arc::clone(&models));
        Ok(models)
    }

    /// Whether requests and answers of this service are validated.
    pub fn covers(&self, service: Service) -> bool {
        self.of(service).is_some()
    }

    /// Whether a request of this action may have a client token.
    pub fn accepts_token(&self, service: Service, action: &str) -> bool {
        self.of(service).is_some_and(|model| model.accept_tokens().any(|name| name == action))
    }

    /// Everything that is wrong with a request in the query protocol (EC2, Auto Scaling, STS, IAM).
    pub fn check_query(&self, service: Service, action: &str, params: &Params) -> Vec<Problem> {
        self.of(service).map(|model| check::query(model, action, params)).unwrap_or_default()
    }

    /// Everything that is wrong with a JSON request (ECR, SSM, logs, the Route 53 Resolver), or with a request in XML
    /// (Route 53, S3) that was read into the same shape.
    pub fn check_json(&self, service: Service, action: &str, body: &serde_json::Value) -> Vec<Problem> {
        self.of(service).map(|model| check::json(model, action, body)).unwrap_or_default()
    }

    /// Everything in which an answer differs from the model, except where [`EXCEPTIONS`] says why.
    pub(crate) fn check_answer(&self, service: Service, action: &str, reply: &Reply) -> Vec<Problem> {
        let problems = self.of(service).map(|model| answer::check(model, action, reply)).unwrap_or_default();
        problems.into_iter().filter(|problem| !exceptions::covers(service, problem)).collect()
    }

    /// The action and the parameters of a request in XML (Route 53, S3); `None` where there is no such action.
    pub(crate) fn rest(
        &self,
        service: Service,
        (method, path): (&str, &str),
        sent: &Sent<'_>,
    ) -> Option<(String, serde_json::Value)> {
        let model = self.of(service)?;
        let (action, in_path) = model.route(method, path, sent.query, sent.headers)?;
        Some((action.to_owned(), rest::read(model, action, &in_path, sent)))
    }

    /// How the answers of an EC2 action are paged, where they are.
    pub(crate) fn pagination(&self, action: &str) -> Option<Pagination> {
        self.pages.of(action, &self.ec2)
    }

    fn of(&self, service: Service) -> Option<&Model> {
        match service {
            Service::AutoScaling => Some(&self.autoscaling),
            Service::Ec2 => Some(&self.ec2),
            Service::Ecr => Some(&self.ecr),
            Service::Sts => Some(&self.sts),
            Service::Iam => Some(&self.iam),
            Service::Ssm => Some(&self.ssm),
            Service::S3 => Some(&self.s3),
            Service::Logs => Some(&self.logs),
            Service::Route53 => Some(&self.route53),
            Service::Route53Resolver => Some(&self.resolver),
            _ => None,
        }
    }
}

fn read(folder: &Path) -> Result<Model> {
    let path = folder.join("service-2.json.gz");
    let file = File::open(&path).with_context(|| format!("no service model {}", path.display()))?;
    let mut text = Vec::new();
    GzDecoder::new(file).read_to_end(&mut text)?;
    Model::parse(&text).with_context(|| format!("service model {}", path.display()))
}
