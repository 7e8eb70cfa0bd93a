//! Answers from a run on a real account, as entries of the corpus.
//!
//! Terraform writes the provider's diagnostics as JSON lines (`terraform apply -json`). The summary of a refused call is
//! `OPERATION failed: CODE`, and its detail has the cloud's message between the object and the hint. The provider's log
//! (`TF_LOG_PROVIDER=DEBUG`) has the API and the HTTP status, also of calls that were repeated and of errors that the provider
//! expects, but never a message: those entries have the message `-`.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::scrub::scrub;

/// The log's line about a call, up to its fields.
const CALL: [&str; 3] = ["called the AWS API", "called the Google API", "called the RunPod API"];

static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(\w+)=(?:"([^"]*)"|(\S+))"#).ok());

/// A call that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refused {
    service: String,
    operation: String,
    status: u16,
    code: String,
    message: String,
}

/// The entries for the refused calls in the output of Terraform and in the log of the provider, scrubbed, each once.
pub fn record(output: &str, log: &str) -> String {
    let logged: Vec<Refused> = log.lines().filter_map(logged).collect();
    let same =
        |one: &Refused, other: &Refused| (&one.operation, &one.code) == (&other.operation, &other.code);
    let mut entries: Vec<Refused> = Vec::new();
    for line in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Some(mut told) = told(&line["diagnostic"]) else { continue };
        if let Some(call) = logged.iter().find(|call| same(call, &told)) {
            told.service.clone_from(&call.service);
            told.status = call.status;
        }
        if !entries.contains(&told) {
            entries.push(told);
        }
    }
    for call in logged {
        if !entries.iter().any(|entry| same(entry, &call)) {
            entries.push(call);
        }
    }
    entries.iter().map(Refused::entry).collect::<Vec<_>>().join("\n")
}

/// The call that a diagnostic is about.
fn told(diagnostic: &Value) -> Option<Refused> {
    let (operation, code) = diagnostic["summary"].as_str()?.split_once(" failed: ")?;
    let (told, _hint) = diagnostic["detail"].as_str()?.split_once("\n\n")?;
    let message = ["AWS returned: ", "RunPod reported: "]
        .iter()
        .find_map(|before| told.split_once(before))
        .or_else(|| told.split_once(": "))
        .map(|(_, message)| message)?;
    Some(Refused {
        service: String::new(),
        operation: operation.to_owned(),
        status: 0,
        code: code.to_owned(),
        message: message.to_owned(),
    })
}

/// The refused call in a line of the log.
fn logged(line: &str) -> Option<Refused> {
    let (_, fields) = CALL.iter().find_map(|call| line.split_once(call))?;
    let field = |name: &str| {
        let found = FIELD.as_ref()?.captures_iter(fields).find(|field| &field[1] == name)?;
        found.get(2).or_else(|| found.get(3)).map(|text| text.as_str().to_owned())
    };
    let status: u16 = field("status")?.parse().ok()?;
    let (operation, code) = (field("operation")?, field("failure")?);
    // Without a response there is no answer, and without a code none that an entry could hold.
    if status < 400 || code.is_empty() || code == "error" {
        return None;
    }
    let service = service(&field("service")?, &operation).to_owned();
    Some(Refused { service, operation, status, code, message: "-".to_owned() })
}

/// The corpus' name of an API; empty if it has none.
fn service(logged: &str, operation: &str) -> &'static str {
    let collection = operation.split('.').next().unwrap_or_default();
    match (logged, collection) {
        ("EC2", _) => "ec2",
        ("ECR", _) => "ecr",
        ("IAM", _) => "iam",
        ("SSM", _) => "ssm",
        ("STS", _) => "sts",
        ("Route 53", _) => "route53",
        ("Route53Resolver", _) => "resolver",
        ("runpod", _) => "runpod",
        ("google", "managedZones" | "resourceRecordSets") => "dns",
        ("google", "repositories") => "artifacts",
        ("google", "secrets") => "secrets",
        ("google", "serviceAccounts") => "accounts",
        ("google", "servicePerimeters") => "perimeters",
        ("google", _) => "compute",
        _ => "",
    }
}

impl Refused {
    fn entry(&self) -> String {
        let quoted = |text: &str| Value::from(scrub(text)).to_string();
        format!(
            "[[answer]]\nid = {}\nsource = \"https://\"\nservice = {}\noperation = {}\nstatus = {}\ncode = {}\nmessage = {}\nclient = \"\"\n",
            quoted(&format!("{}-{}", self.operation, self.code).to_lowercase().replace(' ', "-")),
            quoted(&self.service),
            quoted(&self.operation),
            self.status,
            quoted(&self.code),
            quoted(&self.message),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn refused_calls_become_entries_once_and_without_names() {
        let line = |summary: &str, detail: &str| {
            serde_json::json!({"type": "diagnostic", "diagnostic": {"summary": summary, "detail": detail}})
                .to_string()
        };
        let denied = "warren_aws_vpc \"hub\": AWS returned: You are not authorized to perform this operation. User: \
                      arn:aws:iam::405223848550:user/anna is not authorized\n\nAllow this action.";
        let output = [
            r#"{"type": "version", "terraform": "1.11.0"}"#.to_owned(),
            line("CreateVpc failed: UnauthorizedOperation", denied),
            line("CreateVpc failed: UnauthorizedOperation", denied),
            line(
                "networks.insert failed: forbidden",
                "network \"hub\": Required permission for 'projects/p-1'\n\nGrant.",
            ),
            line("Timed out", "warren_aws_vpc \"hub\" was not available"),
            "not JSON".to_owned(),
        ];
        let call = |cloud: &str, fields: &str| {
            format!(
                "2026-11-23T05:00:00.000Z [DEBUG] provider.terraform-provider-warren: called the {cloud} API: {fields}"
            )
        };
        let log = [
            call("AWS", "service=EC2 operation=CreateVpc attempt=1 status=403 failure=UnauthorizedOperation"),
            call(
                "AWS",
                "service=\"Route 53\" operation=CreateHostedZone status=400 failure=PriorRequestNotComplete",
            ),
            call("AWS", "service=EC2 operation=DescribeVpcs status=200"),
            call("AWS", "service=EC2 operation=DescribeVpcs failure=timeout"),
            call("RunPod", "service=runpod operation=createPod status=429 failure=\"Too Many Requests\""),
            call("RunPod", "service=runpod operation=createPod status=429 failure=\"Too Many Requests\""),
            "[DEBUG] provider: waiting: status=400 operation=x failure=y service=EC2".to_owned(),
        ];
        insta::assert_snapshot!(record(&output.join("\n"), &log.join("\n")));
    }
}
