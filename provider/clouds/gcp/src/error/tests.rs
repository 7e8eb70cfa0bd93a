use super::*;

fn error(reason: &str, status: u16) -> ApiError {
    ApiError {
        operation: "networks.insert",
        reason: reason.into(),
        message: "The message of the API.".into(),
        status,
    }
}

#[test]
fn every_known_reason_has_a_hint() {
    let reasons = [
        ("accessNotConfigured", 403),
        ("authError", 401),
        ("forbidden", 403),
        ("QUOTA_EXCEEDED", 0),
        ("rateLimitExceeded", 403),
        ("alreadyExists", 409),
        ("resourceInUseByAnotherResource", 400),
        ("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", 0),
        ("notFound", 404),
        ("resourceNotReady", 400),
        ("conditionNotMet", 412),
        ("containerNotEmpty", 400),
        ("publicZone", 400),
        ("invalidRecordCount", 400),
        ("invalid", 400),
        ("somethingNew", 400),
    ];
    let told: Vec<String> = reasons
        .iter()
        .map(|(reason, status)| {
            let diagnostic = Diagnostic::from(error(reason, *status));
            format!("{}\n{}", diagnostic.summary, diagnostic.detail)
        })
        .collect();
    insta::assert_snapshot!(told.join("\n---\n"));
}

#[test]
fn an_unanswered_call_is_told() {
    let silent = error("", 0);
    assert!(silent.is_ambiguous());
    let diagnostic = Diagnostic::from(silent);
    insta::assert_snapshot!(format!("{}\n{}", diagnostic.summary, diagnostic.detail));
}

#[test]
fn an_incomplete_answer_names_operation_and_member() {
    let missing = None::<String>.or_missing("networks.get", "selfLink").unwrap_err();
    assert_eq!(String::new().or_missing("networks.get", "selfLink"), Err(missing.clone()));
    assert!(!missing.is_ambiguous() && !missing.is_not_found() && !missing.is_not_ready());
    assert_eq!("x".to_owned().or_missing("networks.get", "selfLink").as_deref(), Ok("x"));
    let unknown = ApiError::from(tf_provider_rs::Attr::<String>::Unknown.value().unwrap_err());
    assert_eq!(unknown.reason, "missingValue");
    assert_eq!(None.parsed_if_set::<u8>("networks.get", "mtu"), Ok(None));
    assert_eq!(Some("9").parsed("networks.get", "mtu"), Ok(9_u8));
    let unexpected = Some("many").parsed::<u8>("networks.get", "mtu").unwrap_err();
    assert!(unexpected.to_string().contains("\"many\" as `mtu`"), "{unexpected}");
    let diagnostic = Diagnostic::from(missing);
    insta::assert_snapshot!(format!("{}\n{}", diagnostic.summary, diagnostic.detail));
}

#[test]
fn a_disabled_api_is_enabled_by_the_hint() {
    let hint = error("SERVICE_DISABLED", 403).hint().unwrap();
    for api in ["compute", "dns", "servicedirectory", "artifactregistry", "secretmanager", "iam"] {
        assert!(hint.contains(&format!(" {api}.googleapis.com")), "{api}");
    }
    assert!(hint.contains(" accesscontextmanager.googleapis.com"));
}

#[test]
fn a_bridge_is_not_to_be_imported() {
    let id = "accessPolicies/1/servicePerimeters/bridge";
    let diagnostic = Diagnostic::from(ApiError::bridge("servicePerimeters.get", id));
    insta::assert_snapshot!(format!("{}\n{}", diagnostic.summary, diagnostic.detail));
}

#[test]
fn early_and_late_reasons_mean_the_same() {
    for reason in ["resourceNotReady", "RESOURCE_NOT_READY"] {
        assert!(error(reason, 400).is_not_ready());
    }
    assert!(error("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", 0).is_in_use());
    assert!(!error("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", 0).is_ambiguous());
    assert!(!error("invalid", 400).is_not_ready());
}

/// Both are answers of Google to a change of a peering (hashicorp/google issue 3034).
#[test]
fn another_operation_on_a_peered_network_is_waited_for() {
    for message in [
        "There is a peering operation in progress on the local or peer network. Try again later.",
        "There is a route operation in progress on the local or peer network. Try again later.",
    ] {
        assert!(ApiError { message: message.into(), ..error("badRequest", 400) }.is_not_ready());
    }
    assert!(!error("badRequest", 400).is_not_ready());
}

/// A rate passes, a quota of objects does not.
#[test]
fn throttling_is_told_from_quotas() {
    let told = |reason: &str, status, message: &str| {
        ApiError { message: message.into(), ..error(reason, status) }.remedy()
    };
    let rate = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service \
                'compute.googleapis.com' for consumer 'project_number:1'.";
    for (reason, status, message) in [
        ("rateLimitExceeded", 403, "Rate Limit Exceeded"),
        ("userRateLimitExceeded", 403, "User Rate Limit Exceeded"),
        ("quotaExceeded", 403, rate),
        ("CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", 403, "Quota exceeded"),
        ("RATE_LIMIT_EXCEEDED", 403, rate),
        // The client has dropped the reason.
        ("PERMISSION_DENIED", 403, rate),
        ("UNKNOWN", 403, "Rate Limit Exceeded"),
        ("RESOURCE_EXHAUSTED", 429, "x"),
        ("CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", 400, "x"),
    ] {
        assert_eq!(told(reason, status, message), Remedy::Throttled, "{reason} {message}");
    }
    let quota = "Quota 'NETWORKS' exceeded.  Limit: 5.0 globally.";
    assert_eq!(told("quotaExceeded", 403, quota), Remedy::Final);
    assert_eq!(told("QUOTA_EXCEEDED", 400, quota), Remedy::Final);
    assert_eq!(told("forbidden", 403, "Required 'compute.networks.create' permission"), Remedy::Final);
}

/// The message is that of hashicorp/google issue 10227.
#[test]
fn a_new_service_account_is_waited_for() {
    let message = "Permission iam.serviceAccounts.get is required to perform this operation on service account \
                   projects/acme-ml/serviceAccounts/gw@acme-ml.iam.gserviceaccount.com.";
    let hidden =
        ApiError { operation: "serviceAccounts.get", message: message.into(), ..error("forbidden", 403) };
    assert_eq!(hidden.remedy(), Remedy::Unpropagated);
    let denied = ApiError { operation: "networks.get", ..hidden };
    assert_eq!(denied.remedy(), Remedy::Final);
}

#[test]
fn a_precondition_that_passes_is_waited_for() {
    let told = |message: &str| ApiError { message: message.into(), ..error("FAILED_PRECONDITION", 400) };
    assert!(told("The resource 'projects/p/locations/l/repositories/r' is not ready").is_not_ready());
    assert!(told("Repository r is being deleted").is_not_ready());
    assert!(told("The etag is not that of the secret").is_not_ready());
    assert!(!told("The key does not exist").is_not_ready());
    let message = "Service account gw@acme-ml.iam.gserviceaccount.com does not exist.".to_owned();
    assert!(ApiError { message, ..error("INVALID_ARGUMENT", 400) }.is_not_ready());
}

#[test]
fn credentials_are_redacted() {
    let text = "token=ya29.a0AfH6SMBx refused \"eyJhbGciOiJSUzI1NiJ9.e30.sig\" for projects/acme-ml";
    assert_eq!(redact(text), "(redacted) refused (redacted) for projects/acme-ml");
}
