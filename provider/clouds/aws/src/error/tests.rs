use super::*;

fn error(code: &str, message: &str) -> ApiError {
    ApiError { operation: "CreateVpc", code: code.into(), message: message.into(), status: 400 }
}

#[test]
fn every_known_code_has_a_hint() {
    let codes = [
        "UnauthorizedOperation",
        "AuthFailure",
        "ExpiredToken",
        "OptInRequired",
        "VpcLimitExceeded",
        "InstanceLimitExceeded",
        "InsufficientInstanceCapacity",
        "InvalidSubnet.Conflict",
        "InvalidSubnet.Range",
        "InvalidVpc.Range",
        "CidrConflict",
        "InvalidParameterValue",
        "RouteAlreadyExists",
        "Resource.AlreadyAssociated",
        "RequestLimitExceeded",
        "DependencyViolation",
        "InvalidVpcID.NotFound",
        "ConflictingDomainExists",
        "LastVPCAssociation",
        "NotAuthorizedException",
        "HostedZoneNotEmpty",
        "InvalidChangeBatch",
        "PriorRequestNotComplete",
        "SomethingNew",
    ];
    let told: Vec<String> = codes
        .iter()
        .map(|code| {
            let diagnostic = Diagnostic::from(error(code, "message from AWS"));
            format!("{}\n{}", diagnostic.summary, diagnostic.detail)
        })
        .collect();
    insta::assert_snapshot!(told.join("\n---\n"));
}

#[test]
fn an_unanswered_call_is_told() {
    let silent = ApiError { status: 0, ..error("", "dispatch failure: connection refused") };
    assert!(silent.is_ambiguous());
    let diagnostic = Diagnostic::from(silent);
    insta::assert_snapshot!(format!("{}\n{}", diagnostic.summary, diagnostic.detail));
}

#[test]
fn a_dead_endpoint_is_told_with_the_region() {
    let hosts =
        ["ec2.us-est-1.amazonaws.com", "ec2.us-east-1.amazonaws.com", "iam.amazonaws.com", "127.0.0.1:5000"];
    let told = hosts.map(|host| {
        let dead = Unreachable { host: host.into(), reason: "its name does not resolve".into() };
        let error = SdkError::<aws_sdk_ec2::operation::describe_vpcs::DescribeVpcsError, HttpResponse>::dispatch_failure(
            aws_smithy_runtime_api::client::result::ConnectorError::user(dead.into()),
        );
        let error = Err::<(), _>(error).named("DescribeVpcs").unwrap_err();
        assert!(!error.is_ambiguous() && !error.is_throttle() && !error.is_not_ready());
        let diagnostic = Diagnostic::from(error);
        format!("{}\n{}", diagnostic.summary, diagnostic.detail)
    });
    insta::assert_snapshot!(told.join("\n---\n"));
}

#[test]
fn layers_of_the_sdk_are_not_told() {
    let cause = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "connection reset by peer");
    let error =
        SdkError::<aws_sdk_ec2::operation::describe_vpcs::DescribeVpcsError, HttpResponse>::dispatch_failure(
            aws_smithy_runtime_api::client::result::ConnectorError::io(cause.into()),
        );
    assert_eq!(chain(&error), "connection reset by peer");
}

#[test]
fn a_response_has_what_it_must_have() {
    let none: Option<String> = None;
    let told = [
        none.clone().or_missing("CreateVpc", "VpcId").map(drop),
        none.clone().parsed::<u8>("DescribeVpcs", "Count").map(drop),
        Some("many".to_owned()).parsed_if_set::<u8>("DescribeVpcs", "Count").map(drop),
    ]
    .map(|result| {
        let diagnostic = Diagnostic::from(result.unwrap_err());
        format!("{}\n{}", diagnostic.summary, diagnostic.detail)
    });
    insta::assert_snapshot!(told.join("\n---\n"));
    assert_eq!(none.parsed_if_set::<u8>("DescribeVpcs", "Count"), Ok(None));
    let unknown = tf_provider_rs::Attr::<String>::Unknown.value().map(drop).unwrap_err();
    assert_eq!(
        Diagnostics::from(ApiError::from(unknown.clone())).0[0].detail,
        Diagnostics::from(unknown).0[0].detail
    );
}

#[test]
fn codes_are_told_apart() {
    let all = [
        ("InvalidSubnetID.NotFound", Remedy::NotFound),
        ("NatGatewayNotFound", Remedy::NotFound),
        ("DependencyViolation", Remedy::InUse),
        ("IncorrectState", Remedy::InUse),
        ("RequestLimitExceeded", Remedy::Throttled),
        ("EC2ThrottledException", Remedy::Throttled),
        ("ThrottledException", Remedy::Throttled),
        ("PriorRequestNotComplete", Remedy::Busy),
        ("RouteAlreadyExists", Remedy::Conflict),
        ("InvalidParameterValue", Remedy::Final),
        ("LimitExceededException", Remedy::Final),
    ];
    for (code, remedy) in all {
        assert_eq!(error(code, "").remedy(), remedy, "{code}");
    }
    let gateway = ApiError { operation: "DeleteTransitGateway", ..error("IncorrectState", "") };
    assert_eq!(gateway.remedy(), Remedy::Busy);
    assert_eq!(ApiError { status: 503, ..error("InternalError", "") }.remedy(), Remedy::Lost);
    for code in ["InsufficientInstanceCapacity", "InsufficientAddressCapacity", "InsufficientVolumeCapacity"]
    {
        assert_eq!(ApiError { status: 500, ..error(code, "") }.remedy(), Remedy::Final, "{code}");
        assert_eq!(of_attempt(code, 500), Remedy::Final, "{code}");
    }
    assert_eq!(ApiError { status: 503, ..error("RequestLimitExceeded", "") }.remedy(), Remedy::Throttled);
}

/// The messages are those that hashicorp/aws (`ec2_instance.go`, `vpc_flow_log.go`) waits for.
#[test]
fn a_new_identity_is_waited_for() {
    let profile = "arn:aws:iam::123456789012:instance-profile/gateway";
    let invalid = format!(
        "Value ({profile}) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN"
    );
    for (code, message) in [
        ("InvalidParameterValue", invalid.as_str()),
        (
            "InvalidParameterValue",
            "Value (gateway) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
        ),
        ("InvalidParameterValue", &format!("IAM Instance Profile \"{profile}\" has no associated IAM Roles")),
        ("InvalidParameter", "Unable to assume given IAM role"),
    ] {
        assert_eq!(error(code, message).remedy(), Remedy::Unpropagated, "{message}");
    }
}
