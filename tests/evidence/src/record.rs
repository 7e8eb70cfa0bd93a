//! Answers from a run on a real account, as entries of the corpus.
//!
//! Terraform writes the provider's diagnostics as JSON lines (`terraform apply -json`). The summary of a refused call is
//! `OPERATION failed: CODE`, and its detail has the cloud's message between the object and the hint. The HTTP status is
//! not in it: the entry has 0, to be filled in from the provider's log.

use serde_json::Value;

use crate::scrub::scrub;

/// The entries for the refused calls in the output of Terraform, scrubbed, each once.
pub fn record(output: &str) -> String {
    let mut entries: Vec<String> = Vec::new();
    for line in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let entry = refused(&line["diagnostic"]);
        entries.extend(entry.filter(|entry| !entries.contains(entry)));
    }
    entries.join("\n")
}

fn refused(diagnostic: &Value) -> Option<String> {
    let (operation, code) = diagnostic["summary"].as_str()?.split_once(" failed: ")?;
    let (told, _hint) = diagnostic["detail"].as_str()?.split_once("\n\n")?;
    let message = ["AWS returned: ", "RunPod reported: "]
        .iter()
        .find_map(|before| told.split_once(before))
        .or_else(|| told.split_once(": "))
        .map(|(_, message)| message)?;
    let quoted = |text: &str| Value::from(scrub(text)).to_string();
    Some(format!(
        "[[answer]]\nid = {}\nsource = \"https://\"\nservice = \"\"\noperation = {}\nstatus = 0\ncode = {}\nmessage = {}\nclient = \"\"\n",
        quoted(&format!("{operation}-{code}").to_lowercase()),
        quoted(operation),
        quoted(code),
        quoted(message),
    ))
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
        insta::assert_snapshot!(record(&output.join("\n")));
    }
}
