//! Answers of RunPod from outside, replayed through the client and this crate's errors.

use reqwest::Method;
use warren_evidence::{Answer, Class, Corpus, Replay, Seen, Server};

use crate::client::{Call, Client};
use crate::error::ApiError;

#[tokio::test]
async fn recorded_answers_are_judged_as_their_sources_say() {
    let mut replay = Replay::default();
    for answer in &Corpus::read("runpod").unwrap().answers {
        let server = Server::once(answer).unwrap();
        let seen = match call(server.url(), answer).await {
            Err(error) => Seen::of(error),
            Ok(()) => repeated(answer, server.requests()),
        };
        replay.judge(answer, &seen);
    }
    insta::assert_snapshot!(replay.told());
}

async fn call(url: &str, answer: &Answer) -> Result<(), ApiError> {
    let operation: &'static str = Box::leak(answer.operation.clone().into_boxed_str());
    let client = Client::new(url, "rpa_KEY").unwrap();
    let method = match operation {
        read if read.starts_with("get") || read.starts_with("list") => Method::GET,
        delete if delete.starts_with("delete") => Method::DELETE,
        _ => Method::POST,
    };
    let call = Call { operation, method: &method, path: "/v2/pods", body: None, secrets: &[] };
    client.call(call).await.map(drop)
}

/// The client itself waits and repeats what RunPod throttles, and reads whose answer is lost.
fn repeated(answer: &Answer, requests: usize) -> Seen {
    assert_eq!(requests, 2, "{}", answer.id);
    let class = if answer.status == 429 { Class::Throttled } else { Class::Lost };
    Seen { classes: vec![class], shown: "(repeated)".to_owned() }
}
