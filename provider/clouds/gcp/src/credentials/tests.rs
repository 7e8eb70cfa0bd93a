use tf_provider_rs::Attr;
use tf_provider_rs::model::Secret;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::error::{Failure as _, Named as _, Remedy};

fn with_file(json: &Value) -> GcpConfig {
    GcpConfig { credentials: Attr::Known(Secret(json.to_string())), ..GcpConfig::default() }
}

async fn headers(credentials: &AccessTokenCredentials) -> HeaderMap {
    match credentials.headers(Extensions::new()).await.unwrap() {
        CacheableResource::New { data, .. } => data,
        CacheableResource::NotModified => HeaderMap::new(),
    }
}

/// Answers requests in order, and returns them.
async fn serve(listener: TcpListener, answers: &[(u16, Value)]) -> Vec<String> {
    let mut requests = Vec::new();
    for (status, body) in answers {
        let (mut stream, _) = listener.accept().await.unwrap();
        requests.push(request(&mut stream).await);
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} Told\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: \
             close\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    }
    requests
}

/// Reads a request with its body.
async fn request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let mut buffer = [0; 4096];
        let got = stream.read(&mut buffer).await.unwrap();
        assert!(got > 0, "the request ended early: {text}");
        read.extend_from_slice(&buffer[..got]);
    }
}

async fn local() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// What a user sees of a call for which these credentials give no token.
async fn told(config: &GcpConfig) -> String {
    let found = find(config, Some("acme-ml")).unwrap();
    let clients = crate::client::Clients::new(Some("http://127.0.0.1:9"), Some(&found)).await.unwrap();
    let call = clients.networks().await.unwrap().get().set_project("acme-ml").set_network("hub").send();
    let error = call.await.named("networks.get").unwrap_err();
    assert_eq!(error.remedy(), Remedy::Final);
    let told = Diagnostic::from(error);
    format!("{}\n{}", told.summary, told.detail)
}

/// `gcloud auth application-default login`, after the session length of an organisation has passed: the answers that
/// pulumi/pulumi-gcp issue 479 and cline/cline issue 4080 quote.
#[tokio::test]
async fn an_expired_login_is_told_with_the_command_that_renews_it() {
    let mut all = Vec::new();
    for answer in [
        serde_json::json!({ "error": "invalid_grant", "error_description": "reauth related error (invalid_rapt)",
            "error_uri": "https://support.google.com/a/answer/9368756", "error_subtype": "invalid_rapt" }),
        serde_json::json!({ "error": "invalid_grant",
            "error_description": "reauth related error (rapt_required)", "error_subtype": "rapt_required" }),
    ] {
        let (listener, url) = local().await;
        let json = serde_json::json!({ "type": "authorized_user", "client_id": "c", "client_secret": "hidden",
            "refresh_token": "1//hidden", "token_uri": url });
        let config = with_file(&json);
        let answers = [(400, answer)];
        let (told, _) = tokio::join!(told(&config), serve(listener, &answers));
        assert!(!told.contains("hidden"), "{told}");
        all.push(told.replace(&url, "URL"));
    }
    insta::assert_snapshot!(all.join("\n---\n"));
}

/// The file of google-github-actions/auth: a token from GitHub's endpoint, exchanged at STS, then for a token of a
/// service account. The requests are those of google-auth (`identity_pool.py`, `external_account.py`, `sts.py`).
#[tokio::test]
async fn a_github_job_impersonates_a_service_account() {
    let (listener, url) = local().await;
    let config = with_file(&github(&url));
    let found = find(&config, Some("acme-ml")).unwrap();
    let answers = [
        (200, serde_json::json!({ "value": "oidc" })),
        (
            200,
            serde_json::json!({ "access_token": "federated", "token_type": "Bearer", "expires_in": 3600,
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token" }),
        ),
        (200, serde_json::json!({ "accessToken": "ya29.account", "expireTime": "2099-01-01T00:00:00Z" })),
    ];
    let (sent, requests) = tokio::join!(headers(&found.credentials), serve(listener, &answers));
    assert_eq!(sent["authorization"], "Bearer ya29.account");
    assert!(requests[0].starts_with("GET /oidc?audience=x "), "{}", requests[0]);
    assert!(requests[0].contains("authorization: Bearer request-token"), "{}", requests[0]);
    assert!(requests[1].contains("subject_token=oidc"), "{}", requests[1]);
    assert!(requests[2].contains("authorization: Bearer federated"), "{}", requests[2]);
    assert!(requests[2].starts_with(&format!("POST {ACCOUNT} ")), "{}", requests[2]);
}

/// The answers are those of STS to a token that the attribute condition rejects
/// (terraform-google-modules/terraform-example-foundation issue 1362), and of IAM to an identity that may not
/// impersonate the account (google-github-actions/auth issue 340).
#[tokio::test]
async fn a_rejected_github_job_is_told_why() {
    let exchanged = serde_json::json!({ "access_token": "federated", "token_type": "Bearer", "expires_in": 3600,
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token" });
    let rejected = serde_json::json!({ "error": "unauthorized_client",
        "error_description": "The given credential is rejected by the attribute condition." });
    let denied = serde_json::json!({ "error": { "code": 403, "status": "PERMISSION_DENIED",
        "message": "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).",
        "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "IAM_PERMISSION_DENIED",
            "domain": "iam.googleapis.com", "metadata": { "permission": "iam.serviceAccounts.getAccessToken" } }] } });
    let token = || (200, serde_json::json!({ "value": "oidc" }));
    let mut all = Vec::new();
    for answers in [vec![token(), (401, rejected)], vec![token(), (200, exchanged), (403, denied)]] {
        let (listener, url) = local().await;
        let config = with_file(&github(&url));
        let (told, _) = tokio::join!(told(&config), serve(listener, &answers));
        all.push(told.replace(&url, "URL"));
    }
    insta::assert_snapshot!(all.join("\n---\n"));
}

const ACCOUNT: &str = "/v1/projects/-/serviceAccounts/ci@acme-ml.iam.gserviceaccount.com:generateAccessToken";

fn github(url: &str) -> Value {
    serde_json::json!({
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/github/providers/acme",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": format!("{url}/v1/token"),
        "credential_source": {
            "url": format!("{url}/oidc?audience=x"),
            "headers": { "Authorization": "Bearer request-token" },
            "format": { "type": "json", "subject_token_field_name": "value" },
        },
        "service_account_impersonation_url": format!("{url}{ACCOUNT}"),
    })
}

/// Answers one request with a token, and returns the request.
async fn token_endpoint(listener: TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&request).contains("refresh_token=") {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the request ended early");
        request.extend_from_slice(&buffer[..read]);
    }
    let body = r#"{"access_token":"issued","expires_in":3600,"token_type":"Bearer"}"#;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    String::from_utf8(request).unwrap()
}

/// The request is that of google-auth (`google/oauth2/sts.py`): a form, with the client in the header.
#[tokio::test]
async fn a_workforce_identity_is_refreshed_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/oauth/token", listener.local_addr().unwrap());
    let json = serde_json::json!({
        "type": "external_account_authorized_user", "token_url": url, "client_id": "client",
        "client_secret": "hidden", "refresh_token": "1//refresh", "quota_project_id": "billed",
    });
    let found = find(&with_file(&json), Some("acme-ml")).unwrap();
    assert!(!format!("{found:?}").contains("hidden"));
    let (request, first) = tokio::join!(token_endpoint(listener), headers(&found.credentials));
    assert!(request.starts_with("POST /v1/oauth/token "), "{request}");
    assert!(request.contains("authorization: Basic Y2xpZW50OmhpZGRlbg=="), "{request}");
    assert!(request.ends_with("grant_type=refresh_token&refresh_token=1%2F%2Frefresh"), "{request}");
    assert_eq!(first["authorization"], "Bearer issued");
    assert_eq!(first["x-goog-user-project"], "billed");
    // The endpoint is gone, so the token must be the cached one.
    assert_eq!(headers(&found.credentials).await["authorization"], "Bearer issued");
}

#[tokio::test]
async fn an_access_token_replaces_the_file_and_is_billed_as_configured() {
    let config = GcpConfig {
        access_token: Attr::Known(Secret("ya29.mine".into())),
        user_project_override: true.into(),
        ..with_file(&serde_json::json!({ "type": "nothing" }))
    };
    let found = find(&config, Some("acme-ml")).unwrap();
    let sent = headers(&found.credentials).await;
    assert_eq!(sent["authorization"], "Bearer ya29.mine");
    assert_eq!(sent["x-goog-user-project"], "acme-ml");
    let config = GcpConfig { billing_project: "billing".into(), ..config };
    let found = find(&config, Some("acme-ml")).unwrap();
    assert_eq!(headers(&found.credentials).await["x-goog-user-project"], "billing");
}

#[tokio::test]
async fn the_domain_of_the_file_counts() {
    let json = serde_json::json!({
        "type": "external_account_authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r",
        "universe_domain": "apis.example",
    });
    assert_eq!(find(&with_file(&json), None).unwrap().universe.as_deref(), Some("apis.example"));
    let config = GcpConfig { universe_domain: "other.example".into(), ..with_file(&json) };
    assert_eq!(find(&config, None).unwrap().universe.as_deref(), Some("other.example"));
    // A service account is impersonated with a workforce identity.
    let url = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@p.iam.gserviceaccount.com:generateAccessToken";
    assert_eq!(account_in(url), Some("a@p.iam.gserviceaccount.com"));
    let json = serde_json::json!({
        "type": "impersonated_service_account", "service_account_impersonation_url": url,
        "source_credentials": json,
    });
    assert!(find(&with_file(&json), None).is_ok());
}

#[test]
fn unusable_files_are_told_without_their_contents() {
    let told: Vec<String> = [
        r#"{"type":"authorized_user","refresh_token":"1//hidden""#.to_owned(),
        serde_json::json!({ "type": "api_key", "key": "hidden" }).to_string(),
        serde_json::json!({ "type": "external_account_authorized_user", "client_secret": "hidden" })
            .to_string(),
        serde_json::json!({ "type": "external_account", "credential_source": { "certificate": { "use_default_certificate_config": true } } })
            .to_string(),
        serde_json::json!({ "type": "external_account", "audience": "a" }).to_string(),
        serde_json::json!({ "type": "service_account", "client_email": "a@b", "private_key": "hidden" }).to_string(),
        "{}".to_owned(),
        "/nowhere/key.json".to_owned(),
    ]
    .into_iter()
    .map(|text| {
        let config = GcpConfig { credentials: Attr::Known(Secret(text)), ..GcpConfig::default() };
        let told = find(&config, None).unwrap_err();
        format!("{}\n{}", told.summary, told.detail)
    })
    .collect();
    let told = told.join("\n---\n");
    assert!(!told.contains("hidden"), "{told}");
    insta::assert_snapshot!(told);
}
