//! The emulated clouds answer as the real ones do: by themselves where an answer has `play`, else where a test injects it.

#![expect(clippy::unwrap_used, reason = "a test ends where its footing gives way")]

use serde_json::Value;
use warren_evidence::{Answer, Corpus, Names, Service, Step, form, send, shape};
use warren_harness::{Emulator, Fault, Front, Google, GoogleConfig, ProxyConfig, RunPod, RunPodConfig};

/// Status and body.
type Reply = (u16, String);

#[test]
fn aws_answers_as_recorded() {
    let mut aws = Emulator::start(ProxyConfig::default()).unwrap();
    let corpus = Corpus::read("aws").unwrap();
    let mut found = Vec::new();
    for answer in &corpus.answers {
        found.extend(injected(answer, &aws.endpoint(), aws.proxy()));
        if !answer.play.is_empty() {
            found.extend(played(answer, &aws.endpoint()));
            aws.reset().unwrap();
        }
    }
    all_same(&found);
    assert_eq!(count(&corpus), (57, 19));
}

#[test]
fn google_answers_as_recorded() {
    let corpus = Corpus::read("google").unwrap();
    let mut found = Vec::new();
    for answer in corpus.answers.iter().filter(|answer| answer.service != Service::Operation) {
        let google = Google::start(GoogleConfig::default()).unwrap();
        found.extend(injected(answer, &google.endpoint(), google.front()));
        found.extend(played(answer, &google.endpoint()));
    }
    all_same(&found);
    assert_eq!(count(&corpus), (33, 4));
}

#[test]
fn google_operations_fail_as_recorded() {
    let corpus = Corpus::read("google").unwrap();
    let network = |name: &str| {
        let body = format!("{{\"name\":\"{name}\",\"autoCreateSubnetworks\":false}}");
        let path = "/compute/v1/projects/acme-ml/global/networks".to_owned();
        ("POST".to_owned(), path, "content-type: application/json\r\n".to_owned(), body)
    };
    for answer in corpus.answers.iter().filter(|answer| answer.service == Service::Operation) {
        let google = Google::start(GoogleConfig::default()).unwrap();
        google.front().inject(Fault::fail_late(&answer.code, &answer.message));
        let (status, body) = send(&google.endpoint(), &network("hub")).unwrap();
        assert_eq!(status, answer.http_status(), "{}: {body}", answer.id);
        let operation: Value = serde_json::from_str(&body).unwrap();
        let error = &operation["error"]["errors"][0];
        let said = (error["code"].as_str(), error["message"].as_str());
        assert_eq!(said, (Some(answer.code.as_str()), Some(answer.message.as_str())), "{}", answer.id);
        if let Some(recorded) = &answer.body {
            let (ours, theirs) = (shape(&body).unwrap(), shape(recorded).unwrap());
            let missing: Vec<&String> = theirs.iter().filter(|name| !ours.contains(name)).collect();
            assert!(missing.is_empty(), "{}: the double leaves out {missing:?}: {body}", answer.id);
        }
    }
}

#[test]
fn runpod_answers_as_recorded() {
    let corpus = Corpus::read("runpod").unwrap();
    let mut found = Vec::new();
    for answer in &corpus.answers {
        let runpod = RunPod::start(RunPodConfig::default()).unwrap();
        found.extend(injected(answer, &runpod.endpoint(), runpod.front()));
        found.extend(played(answer, &runpod.endpoint()));
    }
    all_same(&found);
    assert_eq!(count(&corpus), (10, 1));
}

/// How many answers there are, and how many of them the emulator plays by itself.
fn count(corpus: &Corpus) -> (usize, usize) {
    (corpus.answers.len(), corpus.answers.iter().filter(|answer| !answer.play.is_empty()).count())
}

/// The emulator words an injected error as the API does.
fn injected(answer: &Answer, url: &str, front: &Front) -> Vec<String> {
    let call = match answer.service {
        Service::Ec2 => "DescribeVpcs",
        Service::Iam => "ListRoles",
        Service::Sts => "GetCallerIdentity",
        Service::AutoScaling => "DescribeAutoScalingGroups",
        Service::Ecr => "DescribeRepositories",
        Service::Ssm => "DescribeParameters",
        Service::Resolver => "ListResolverRules",
        Service::Route53 => "GET /2013-04-01/hostedzone",
        Service::Compute => "GET /compute/v1/projects/acme-ml/global/networks",
        Service::Dns => "GET /dns/v1/projects/acme-ml/managedZones",
        Service::Artifacts => "GET /v1/projects/acme-ml/locations/us-central1/repositories",
        Service::Secrets => "GET /v1/projects/acme-ml/secrets",
        Service::Accounts => "GET /v1/projects/acme-ml/serviceAccounts",
        Service::RunPod => "GET /v2/pods",
        Service::Operation | Service::Perimeters => return Vec::new(),
    };
    front.inject(Fault::error(answer.status, &answer.code, &answer.message));
    let step = Step::parse(call, &Names::new()).unwrap();
    let reply = send(url, &step.request(answer.service)).unwrap();
    front.clear_faults();
    differences(answer, &reply, true)
}

/// The emulator gives the answer because of what was requested.
fn played(answer: &Answer, url: &str) -> Vec<String> {
    let mut names = Names::new();
    let mut last = None;
    for line in &answer.play {
        let step = Step::parse(line, &names).unwrap();
        let (status, body) = send(url, &step.request(answer.service)).unwrap();
        if let Some((name, element)) = &step.keeps {
            assert!(status < 300, "{}: {line}: {body}", answer.id);
            names.insert(name.clone(), member(&body, element));
        }
        last = Some((status, body));
    }
    last.map(|reply| differences(answer, &reply, false)).unwrap_or_default()
}

/// How a reply differs from the answer.
fn differences(answer: &Answer, (status, body): &Reply, injected: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut same = |what: &str, ours: &str, theirs: &str| {
        if ours != theirs {
            found.push(format!("{}: {what}: {ours:?}, recorded is {theirs:?}", answer.id));
        }
    };
    let (code, message) = error(answer.service, body);
    same("status", &status.to_string(), &answer.http_status().to_string());
    same("code", &code, &answer.code);
    let (ours, theirs) = (form(&message), form(&answer.message));
    match &answer.differs {
        Some(reason) if !injected && ours == theirs => same("message", "equal", reason),
        Some(_) if !injected => {}
        _ => same("message", &ours, &theirs),
    }
    if let Some(recorded) = &answer.body {
        same("form", &format!("{:?}", shape(body)), &format!("{:?}", shape(recorded)));
    }
    found
}

fn all_same(found: &[String]) {
    assert!(found.is_empty(), "the emulator differs from what was recorded:\n{}", found.join("\n"));
}

/// Code and message of an error, in the form of its API.
fn error(service: Service, body: &str) -> (String, String) {
    match service {
        Service::Ec2 | Service::Iam | Service::Sts | Service::AutoScaling | Service::Route53 => {
            (member(body, "Code"), member(body, "Message"))
        }
        _ => {
            let body: Value = serde_json::from_str(body).unwrap();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match service {
                Service::Ecr | Service::Ssm | Service::Resolver => {
                    let message = if body["message"].is_null() { &body["Message"] } else { &body["message"] };
                    (text(&body["__type"]), text(message))
                }
                Service::RunPod => (text(&body["title"]), text(&body["detail"])),
                _ => {
                    let error = &body["error"];
                    let detail = &error["details"][0]["reason"];
                    let reason = &error["errors"][0]["reason"];
                    let found =
                        [detail, reason, &error["status"]].into_iter().find(|value| value.is_string());
                    (found.map(text).unwrap_or_default(), text(&error["message"]))
                }
            }
        }
    }
}

/// The text of the first element or member with this name, unescaped.
fn member(body: &str, name: &str) -> String {
    let inner =
        |(_, rest): (&str, &str)| rest.split_once(&format!("</{name}>")).map(|(text, _)| text.to_owned());
    let text = body.split_once(&format!("<{name}>")).and_then(inner).unwrap_or_default();
    ["&quot; \"", "&apos; '", "&lt; <", "&gt; >", "&amp; &"].into_iter().fold(text, |text, pair| {
        let (from, to) = pair.split_once(' ').unwrap();
        text.replace(from, to)
    })
}

#[test]
fn a_difference_is_noticed() {
    let corpus = Corpus::read("aws").unwrap();
    let answer = corpus.answers.iter().find(|answer| answer.id == "vpc-in-use").unwrap();
    let differs = |body: String| !differences(answer, &(answer.status, body), false).is_empty();
    assert!(!differs(answer.body()));
    assert!(differs(answer.body().replace("DependencyViolation", "Dependency")));
    assert!(differs(answer.body().replace("has dependencies", "is used")));
    assert!(differs(answer.body().replace("RequestID", "Id")));
}
