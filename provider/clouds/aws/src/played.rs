//! An AWS that a test plays, for waits in virtual time. The SDK and its retries are real; only the connection is replaced.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use tf_provider_rs::{Attr, Diagnostics};
use tokio::time::Instant;
use warren_managed::Op;

use crate::account::tests::{config, scope};
use crate::config::AwsConfig;
use crate::session::tests::session;
use crate::session::{Aws, Work};

/// Status and body.
pub(crate) type Answer = (u16, String);

/// Performs work as an operation with a deadline on an AWS that answers a call, by the time since the begin and the form of the
/// request. Returns the result and how long it took.
///
/// The region has a budget of its own, because the time of another test is not virtual.
pub(crate) async fn played<T>(
    (region, max_attempts): (&str, Attr<u32>),
    timeout: Duration,
    answer: impl Fn(Duration, &str) -> Answer + Send + Sync + 'static,
    work: impl AsyncFnOnce(&Work<'_>) -> Result<T, Diagnostics>,
) -> (Result<T, Diagnostics>, Duration) {
    let config = AwsConfig { region: region.into(), max_attempts, ..config([]) };
    let begun = Instant::now();
    let aws = connected(&config, keys(), answer).await;
    let (session, ctx) = (session([]).await, tf_provider_rs::Context::default());
    let op = Op::new(&ctx, "AWS", "warren_aws_test \"one\"", timeout);
    let work_of = Work { session: &session, ctx: &ctx, cloud: Arc::new(aws), op };
    let result = work_of.op.perform(work(&work_of)).await;
    (result, begun.elapsed())
}

/// An account whose calls are answered by the time since now and the form of the request.
pub(crate) async fn connected(
    config: &AwsConfig,
    credentials: impl ProvideCredentials + 'static,
    answer: impl Fn(Duration, &str) -> Answer + Send + Sync + 'static,
) -> Aws {
    let begun = Instant::now();
    let client = Played(Arc::new(move |form: &str| answer(begun.elapsed(), form)));
    let aws = Aws::new(config, scope()).await.unwrap();
    aws.through(SharedHttpClient::new(client), SharedCredentialsProvider::new(credentials))
}

/// Credentials that AWS accepts.
pub(crate) fn keys() -> Credentials {
    Credentials::new("AKIAIOSFODNN7EXAMPLE", "secret", None, None, "test")
}

/// The answer of EC2 to a call that it throttles ("Request throttling for the Amazon EC2 API").
pub(crate) fn refused(status: u16, code: &str, message: &str) -> Answer {
    let errors = format!("<Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>");
    (
        status,
        format!("<Response>{errors}<RequestID>00000000-0000-0000-0000-000000000000</RequestID></Response>"),
    )
}

/// The answer of EC2 to an action.
pub(crate) fn done(action: &str, body: &str) -> Answer {
    let namespace = "http://ec2.amazonaws.com/doc/2016-11-15/";
    (
        200,
        format!("<{action}Response xmlns=\"{namespace}\"><requestId>r</requestId>{body}</{action}Response>"),
    )
}

#[derive(Clone)]
struct Played(Arc<dyn Fn(&str) -> Answer + Send + Sync>);

impl Debug for Played {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Played")
    }
}

impl HttpClient for Played {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Played {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let form = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
        let (status, body) = (self.0)(&form);
        let status = StatusCode::try_from(status).unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
    }
}
