//! Policies of endpoints and buckets, with requests for an object.

use warren_dataplane::aws::{EndpointKind, Peer};
use warren_dataplane::lab::Outcome;
use warren_dataplane::servers::SIGNED;

use crate::world::{Draft, World, p};

const READ_ALL: &str = r#"{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"*"}"#;

/// A VPC whose subnet `inside` reaches S3 through the gateway endpoint `vpce-s3-hub`, and whose subnet `public` reaches it over
/// the internet. The bucket `corpus` has these statements in its policy.
fn draft(statements: &str) -> Draft {
    let draft = Draft::new().vpc("hub", "10.0.0.0/16").internet_gateway("hub");
    draft
        .subnet("hub", "inside", "10.0.1.0/24")
        .subnet("hub", "public", "10.0.2.0/24")
        .table("inside", &[])
        .table("public", &[("0.0.0.0/0", "igw-hub")])
        .gateway_endpoint("hub", &["inside-table"])
        .bucket("corpus", (!statements.is_empty()).then_some(statements))
        .bucket("other", None)
}

impl World {
    #[track_caller]
    fn reads(&self, from: &str, bucket: &str, server: &str) {
        let outcome = self.get(from, bucket, &[SIGNED]);
        assert_eq!(outcome.server(), Some(server), "{from} -> {bucket}: {outcome:?}");
    }

    /// The request arrives, and is refused for this reason.
    #[track_caller]
    fn refused(&self, from: &str, bucket: &str, why: &str) {
        let outcome = self.get(from, bucket, &[SIGNED]);
        let Outcome::Forbidden(text) = &outcome else { panic!("{from} -> {bucket}: {outcome:?}") };
        assert!(text.contains("<Code>AccessDenied</Code>") && text.contains(why), "{text}");
    }
}

#[test]
fn an_endpoint_lets_through_only_what_its_policy_allows() {
    let only = r#"{"Effect":"Allow","Principal":"*","Action":"s3:Get*","Resource":"arn:aws:s3:::corpus/*"}"#;
    let world = draft("").endpoint_policy("vpce-s3-hub", only).build();
    world.reads("inside", "corpus", "vpce-s3-hub");
    world.refused("inside", "other", "no VPC endpoint policy allows the s3:GetObject action");
    // What does not pass the endpoint is not subject to its policy.
    world.reads("public", "other", "public services");

    let write = only.replace("s3:Get*", "s3:Put*");
    let world = draft("").endpoint_policy("vpce-s3-hub", &write).build();
    world.refused("inside", "corpus", "no VPC endpoint policy allows");

    let but = r#"{"Effect":"Deny","Principal":"*","Action":"*","NotResource":"arn:aws:s3:::corpus/*"}"#;
    let world = draft("").endpoint_policy("vpce-s3-hub", &format!("{READ_ALL},{but}")).build();
    world.reads("inside", "corpus", "vpce-s3-hub");
    world.refused("inside", "other", "explicit deny in a VPC endpoint policy");
}

#[test]
fn a_bucket_knows_the_endpoint_and_the_vpc_of_a_request() {
    for (key, own, other) in
        [("aws:SourceVpce", "vpce-s3-hub", "vpce-other"), ("aws:SourceVpc", "hub", "vpc-other")]
    {
        let deny = |operator: &str, value: &str| {
            let condition = format!(r#"{{"{operator}":{{"{key}":"{value}"}}}}"#);
            format!(
                r#"{{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"*","Condition":{condition}}}"#
            )
        };
        let world = draft(&deny("StringNotEquals", own)).build();
        world.reads("inside", "corpus", "vpce-s3-hub");
        world.refused("public", "corpus", "explicit deny in a resource-based policy");
        let world = draft(&deny("StringNotEquals", other)).build();
        world.refused("inside", "corpus", "explicit deny in a resource-based policy");
        let world = draft(&deny("StringEquals", own)).build();
        world.refused("inside", "corpus", "explicit deny in a resource-based policy");
        world.reads("public", "corpus", "public services");
    }
}

#[test]
fn through_an_endpoint_the_address_is_private_and_without_one_public() {
    let deny = |operator: &str, key: &str, range: &str| {
        let condition = format!(r#"{{"{operator}":{{"{key}":"{range}"}}}}"#);
        format!(
            r#"{{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"*","Condition":{condition}}}"#
        )
    };
    let world = draft(&deny("NotIpAddress", "aws:VpcSourceIp", "10.0.1.0/24")).build();
    world.reads("inside", "corpus", "vpce-s3-hub");
    world.refused("public", "corpus", "explicit deny");
    let world = draft(&deny("NotIpAddress", "aws:VpcSourceIp", "10.0.2.0/24")).build();
    world.refused("inside", "corpus", "explicit deny");
    // The key is absent where there is an endpoint, also for a private range.
    let world = draft(&deny("NotIpAddress", "aws:SourceIp", "10.0.0.0/16")).build();
    world.refused("inside", "corpus", "explicit deny");
    world.refused("public", "corpus", "explicit deny");
    let world = draft(&deny("NotIpAddress", "aws:SourceIp", "3.208.0.0/12")).build();
    world.refused("inside", "corpus", "explicit deny");
    world.reads("public", "corpus", "public services");
}

#[test]
fn an_interface_endpoint_has_a_policy_and_an_identity_too() {
    let deny = r#"{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::corpus/*",
        "Condition":{"StringNotEquals":{"aws:SourceVpce":"vpce-s3"}}}"#;
    let only = r#"{"Effect":"Allow","Principal":"*","Action":"s3:*","NotResource":"arn:aws:s3:::other/*"}"#;
    let open = [Peer::Range(p("10.0.0.0/16"))];
    let world = draft(deny).group("sg", "hub", &open).interface_endpoint("s3", "public", &["sg"], true);
    let world = world.endpoint_policy("vpce-s3", only).build();
    world.reads("inside", "corpus", "vpce-s3");
    world.reads("public", "corpus", "vpce-s3");
    world.refused("inside", "other", "no VPC endpoint policy allows");

    let inbound = |account: &mut warren_dataplane::aws::Account| {
        for endpoint in &mut account.endpoints {
            if let EndpointKind::Interface { private_dns_only_for_inbound, .. } = &mut endpoint.kind {
                *private_dns_only_for_inbound = true;
            }
        }
    };
    let world = draft(deny).group("sg", "hub", &open).interface_endpoint("s3", "public", &["sg"], true);
    let world = world.change(inbound).build();
    world.refused("inside", "corpus", "explicit deny in a resource-based policy");
    world.reads("inside", "other", "vpce-s3-hub");
}

#[test]
fn whoever_signs_nothing_needs_the_bucket_s_policy() {
    let world = draft(READ_ALL).build();
    let anonymous = |bucket: &str| world.get("inside", bucket, &[]);
    assert_eq!(anonymous("corpus").server(), Some("vpce-s3-hub"));
    assert!(matches!(anonymous("other"), Outcome::Forbidden(_)));
    // A bucket of somebody else.
    assert_eq!(anonymous("open-data").server(), Some("vpce-s3-hub"));
}

#[test]
fn endpoints_of_ecr_refuse_as_registries_and_apis_do() {
    let open = [Peer::Range(p("10.0.0.0/16"))];
    let one = r#"{"Effect":"Allow","Principal":"*","Action":["ecr:BatchGetImage","ecr:GetDownloadUrlForLayer"],
        "Resource":"arn:aws:ecr:us-east-1:123456789012:repository/llm/*"}"#;
    let draft = draft("").group("sg", "hub", &open);
    let draft = draft.interface_endpoint("ecr.dkr", "public", &["sg"], true);
    let draft = draft.interface_endpoint("ecr.api", "public", &["sg"], true);
    let world = draft.endpoint_policy("vpce-ecr.dkr", one).endpoint_policy("vpce-ecr.api", one).build();
    let registry = "123456789012.dkr.ecr.us-east-1.amazonaws.com";
    let get = |path: &str| world.ask("inside", registry, path, &[]);
    assert_eq!(get("/v2/llm/trainer/manifests/1").server(), Some("vpce-ecr.dkr"));
    assert_eq!(get("/v2/").server(), Some("vpce-ecr.dkr"));
    let Outcome::Forbidden(text) = get("/v2/other/manifests/1") else { panic!("not refused") };
    assert!(text.contains("\"DENIED\"") && text.contains("no VPC endpoint policy allows"), "{text}");
    let token = "x-amz-target: AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
    let Outcome::Forbidden(text) =
        world.ask("inside", "api.ecr.us-east-1.amazonaws.com", "/", &[token, SIGNED])
    else {
        panic!("not refused")
    };
    assert!(text.contains("AccessDeniedException") && text.contains("ecr:GetAuthorizationToken"), "{text}");
}
