//! Claims a range, as the provider does before it creates a network.
//!
//! `cargo run -p warren-guard --example claim -- s3://bucket/claims.json llm platform-repo hub 10.0.0.0/16 [http://127.0.0.1:5000]`

use std::process::ExitCode;

use warren_guard::{ClaimRole, Guard, GuardConfig, Key, S3Options};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, fabric, owner, name, range, endpoint @ ..] = arguments.as_slice() else {
        eprintln!("usage: claim LOCATION FABRIC OWNER NAME RANGE [S3-ENDPOINT]");
        return ExitCode::from(2);
    };
    let endpoint = endpoint.first().cloned();
    let (claims, net) = match (url.parse(), warren_cidr::parse_cidr(range)) {
        (Ok(claims), Ok(net)) => (claims, net),
        (Err(error), _) => return fail(&format!("{error}")),
        (_, Err(error)) => return fail(&format!("{error}")),
    };
    let guard = Guard::new(GuardConfig {
        fabric: fabric.clone(),
        owner: owner.clone(),
        claims: Some(claims),
        s3: S3Options { allow_http: endpoint.is_some(), endpoint, ..S3Options::default() },
        ..GuardConfig::default()
    });
    match guard.claim(&Key::new("warren_aws_vpc", name), ClaimRole::Occupy, &[net]).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            fail(&refused.0.iter().map(|d| format!("{}\n{}\n", d.summary, d.detail)).collect::<String>())
        }
    }
}

fn fail(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::FAILURE
}
