//! Answers of AWS from outside, replayed through the SDK and this crate's errors.

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use warren_evidence::{Answer, Corpus, Replay, Seen, Server, Service};

use crate::error::{ApiError, Named as _};

#[tokio::test]
async fn recorded_answers_are_judged_as_their_sources_say() {
    let mut replay = Replay::default();
    for answer in &Corpus::read("aws").unwrap().answers {
        let server = Server::always(answer).unwrap();
        let error = call(&sdk(server.url()), answer).await.unwrap_err();
        replay.judge(answer, &Seen::of(error));
    }
    insta::assert_snapshot!(replay.told());
}

/// A configuration without retries: one answer is one error.
fn sdk(url: &str) -> SdkConfig {
    let credentials = Credentials::new("AKIAIOSFODNN7EXAMPLE", "secret", None, None, "evidence");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .retry_config(RetryConfig::disabled())
        .endpoint_url(url)
        .build()
}

/// A call of the service: how it reads errors does not depend on the operation.
async fn call(sdk: &SdkConfig, answer: &Answer) -> Result<(), ApiError> {
    let operation: &'static str = Box::leak(answer.operation.clone().into_boxed_str());
    match answer.service {
        Service::Ec2 => aws_sdk_ec2::Client::new(sdk).describe_vpcs().send().await.map(drop).named(operation),
        Service::Iam => {
            aws_sdk_iam::Client::new(sdk).get_role().role_name("a").send().await.map(drop).named(operation)
        }
        Service::Sts => {
            aws_sdk_sts::Client::new(sdk).get_caller_identity().send().await.map(drop).named(operation)
        }
        Service::AutoScaling => {
            let client = aws_sdk_autoscaling::Client::new(sdk);
            client.describe_auto_scaling_groups().send().await.map(drop).named(operation)
        }
        Service::Ecr => {
            aws_sdk_ecr::Client::new(sdk).describe_repositories().send().await.map(drop).named(operation)
        }
        Service::Ssm => {
            aws_sdk_ssm::Client::new(sdk).get_parameter().name("a").send().await.map(drop).named(operation)
        }
        Service::Route53 => aws_sdk_route53::Client::new(sdk)
            .get_hosted_zone()
            .id("Z1")
            .send()
            .await
            .map(drop)
            .named(operation),
        Service::Resolver => {
            let client = aws_sdk_route53resolver::Client::new(sdk);
            client.get_resolver_rule().resolver_rule_id("a").send().await.map(drop).named(operation)
        }
        other => panic!("{other:?} is not a service of AWS"),
    }
}
