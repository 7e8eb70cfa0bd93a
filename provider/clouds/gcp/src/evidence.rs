//! Answers of Google Cloud from outside, replayed through the clients and this crate's errors.

use google_cloud_artifactregistry_v1::client::ArtifactRegistry;
use google_cloud_auth::credentials::anonymous;
use google_cloud_compute_v1::client::{GlobalOperations, Networks};
use google_cloud_dns_v1::client::ManagedZones;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_iam_admin_v1::client::Iam;
use google_cloud_secretmanager_v1::client::SecretManagerService;
use warren_evidence::{Answer, Corpus, Replay, Seen, Server, Service};

use crate::begun::{self, Begun, Place};
use crate::error::{ApiError, Named as _};
use crate::operation;

#[tokio::test]
async fn recorded_answers_are_judged_as_their_sources_say() {
    let mut replay = Replay::default();
    for answer in &Corpus::read("google").unwrap().answers {
        let server = Server::always(answer).unwrap();
        let error = call(server.url(), answer).await.unwrap_err();
        replay.judge(answer, &Seen::of(error));
    }
    insta::assert_snapshot!(replay.told());
}

/// A client without retries: one answer is one error.
macro_rules! client {
    ($client:ty, $url:expr) => {
        <$client>::builder()
            .with_credentials(anonymous::Builder::new().build())
            .with_retry_policy(NeverRetry)
            .with_endpoint($url)
            .build()
            .await
            .unwrap()
    };
}

/// A call of the service: how it reads errors does not depend on the method.
async fn call(url: &str, answer: &Answer) -> Result<(), ApiError> {
    let name: &'static str = Box::leak(answer.operation.clone().into_boxed_str());
    match answer.service {
        Service::Compute => {
            let call = client!(Networks, url).get().set_project("p").set_network("n");
            call.send().await.map(drop).named(name)
        }
        Service::Operation => {
            let call = client!(GlobalOperations, url).get().set_project("p").set_operation("o");
            let operation = call.send().await.named(name)?;
            let service = begun::Service::Compute { project: "p".to_owned(), place: Place::Global };
            operation::outcome(&Begun { call: name, service, name: "o".to_owned() }, operation)
        }
        Service::Dns => {
            let call = client!(ManagedZones, url).get().set_project("p").set_managed_zone("z");
            call.send().await.map(drop).named(name)
        }
        Service::Artifacts => {
            let call = client!(ArtifactRegistry, url).get_repository();
            call.set_name("projects/p/locations/l/repositories/r").send().await.map(drop).named(name)
        }
        Service::Secrets => {
            let call = client!(SecretManagerService, url).get_secret();
            call.set_name("projects/p/secrets/s").send().await.map(drop).named(name)
        }
        Service::Accounts => {
            let call = client!(Iam, url).get_service_account();
            call.set_name("projects/p/serviceAccounts/a").send().await.map(drop).named(name)
        }
        other => panic!("{other:?} is not a service of Google"),
    }
}
