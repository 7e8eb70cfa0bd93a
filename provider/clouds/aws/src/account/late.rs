//! An account that AWS names late, or not at all: an object of another account must not seem to be gone.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::future::ProvideCredentials as Provided;
use aws_credential_types::provider::{ProvideCredentials, error::CredentialsError};
use tf_provider_rs::{Context, Diagnostics, Resource as _, Value};
use warren_guard::Guard;
use warren_managed::{Managed, Timeouts};

use super::tests::config;
use crate::common::tests::with_id;
use crate::config::AwsConfig;
use crate::elastic_ip::ElasticIp;
use crate::played::{Answer, connected, done, keys};
use crate::session::Session;

/// The account of the state.
const STORED: &str = "111111111111";
/// The account of the credentials.
const OTHER: &str = "222222222222";
/// `credential_process` of some identity providers, and SSO that opens a browser.
const SLOW: Duration = Duration::from_secs(8);

#[derive(Debug)]
struct Slow;

impl ProvideCredentials for Slow {
    fn provide_credentials<'a>(&'a self) -> Provided<'a>
    where
        Self: 'a,
    {
        Provided::new(async {
            tokio::time::sleep(SLOW).await;
            Ok(keys())
        })
    }
}

/// Credentials of a program that fails the first time.
#[derive(Debug, Default)]
struct Flaky(AtomicU32);

impl ProvideCredentials for Flaky {
    fn provide_credentials<'a>(&'a self) -> Provided<'a>
    where
        Self: 'a,
    {
        Provided::ready(match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => Err(CredentialsError::not_loaded("the session has expired")),
            _ => Ok::<Credentials, _>(keys()),
        })
    }
}

fn sts(status: u16, body: &str) -> Answer {
    let namespace = "https://sts.amazonaws.com/doc/2011-06-15/";
    (
        status,
        body.replace(
            "<GetCallerIdentityResponse>",
            &format!("<GetCallerIdentityResponse xmlns=\"{namespace}\">"),
        ),
    )
}

fn caller(account: &str) -> Answer {
    let result =
        format!("<Arn>arn:aws:iam::{account}:user/x</Arn><UserId>X</UserId><Account>{account}</Account>");
    let result = format!("<GetCallerIdentityResult>{result}</GetCallerIdentityResult>");
    sts(200, &format!("<GetCallerIdentityResponse>{result}</GetCallerIdentityResponse>"))
}

fn refusal(code: &str) -> Answer {
    sts(
        403,
        &format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>no</Message></Error></ErrorResponse>"
        ),
    )
}

/// What the read of an object of the state says. EC2 of the other account has no such object.
async fn read(
    region: &str,
    credentials: impl ProvideCredentials + 'static,
    who: impl Fn(Duration) -> Answer + Send + Sync + 'static,
) -> Vec<String> {
    let answer = move |elapsed, form: &str| match form {
        form if form.contains("Action=GetCallerIdentity") => who(elapsed),
        _ => done("DescribeAddresses", "<addressesSet/>"),
    };
    let config = AwsConfig { region: region.into(), ..config([]) };
    let aws = connected(&config, credentials, answer).await;
    let identity = [("id", "eipalloc-1".into()), ("region", region.into()), ("account_id", STORED.into())];
    let ctx = Context { identity: Some(Value::object(identity)), ..Context::default() };
    let mut state = ElasticIp { object: with_id("one", "eipalloc-1"), ..ElasticIp::default() };
    state.object.timeouts = Timeouts {
        read: "2m".parse::<warren_managed::timeouts::Timeout>().ok().into(),
        ..Timeouts::default()
    }
    .into();
    let eips = Managed::<ElasticIp>::new(&Session::connected(Guard::default(), aws));
    let told = |diagnostics: &Diagnostics| -> Vec<String> {
        diagnostics.0.iter().map(|told| format!("{}\n{}", told.summary, told.detail)).collect()
    };
    // The second object of the state is compared as well.
    let mut all = Vec::new();
    for _ in 0..2 {
        all.extend(match eips.read(&ctx, state.clone()).await {
            Ok(read) => vec![format!("read: {}", read.is_some())],
            Err(refused) => told(&refused),
        });
    }
    all
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_named_late_is_compared() {
    let slow = read("af-south-1", Slow, |_| caller(OTHER)).await;
    let throttled =
        read(
            "ap-east-1",
            keys(),
            |elapsed| if elapsed < SLOW { refusal("Throttling") } else { caller(OTHER) },
        )
        .await;
    for told in [slow, throttled].concat() {
        assert!(told.starts_with("The object is in another account\n"), "{told}");
        assert!(told.contains(STORED) && told.contains(OTHER), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_remembered() {
    let told = read("ap-south-2", Flaky::default(), |_| caller(OTHER)).await;
    assert!(told[0].starts_with("The configured account is not known\n"), "{}", told[0]);
    assert!(told[1].starts_with("The object is in another account\n"), "{}", told[1]);
}

#[tokio::test(start_paused = true)]
async fn without_an_account_nothing_seems_to_be_gone() {
    let denied = read("ap-southeast-3", keys(), |_| refusal("InvalidClientTokenId")).await;
    insta::assert_snapshot!(denied[0]);
    let throttled = read("ap-southeast-4", keys(), |_| refusal("Throttling")).await;
    assert!(throttled.iter().all(|told| !told.starts_with("read:")), "{throttled:?}");
}
