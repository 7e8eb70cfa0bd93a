//! Whether the gateways of an enrolment token can be reached, over TLS and over UDP. The token is not used up.

use std::time::Duration;

use warren_wire::token::Claims;
use warren_wire::{Token, UnixTime};

use super::Finding;
use crate::commands::netcheck::{
    of_claims,
    probe::{self, Failure, Plan, Samples, Target},
};
use crate::runtime::problem::{Problem, Result};

/// A few probes: `netcheck` measures, and this only looks whether something answers.
const PLAN: Plan = Plan { count: 3, timeout: Duration::from_secs(5) };
/// Number of gateways that are tried.
const MAX_TRIED: usize = 8;

/// Checks a token and its gateways.
///
/// # Errors
/// The token cannot be read.
pub(super) fn examine(token: &Token, now: UnixTime) -> Result<Vec<Finding>> {
    let claims = token.peek().map_err(|error| Problem::new(format!("enrolment token: {error}")))?;
    let (names, targets): (Vec<String>, Vec<Target>) = of_claims(&claims).into_iter().take(MAX_TRIED).unzip();
    let mut findings = vec![validity(&claims, now)];
    for ((name, target), measured) in names.iter().zip(&targets).zip(probe::all(&targets, PLAN)) {
        if let (Some(tls), Some(samples)) = (&target.tls, measured.tls) {
            findings.push(by_tls(&format!("{name} ({})", tls.endpoint), samples));
        }
        if let (Some(endpoint), Some(samples)) = (&target.udp, measured.udp) {
            findings.push(by_udp(&format!("{name} ({endpoint})"), samples));
        }
    }
    Ok(findings)
}

fn validity(claims: &Claims, now: UnixTime) -> Finding {
    const CHECK: &str = "token";
    let until = claims.validity.expires();
    if until <= now {
        return Finding::missing(
            CHECK,
            format!("expired at {until}"),
            "request a new token, or check this machine's clock",
        );
    }
    Finding::ok(CHECK, format!("for group {} of fabric {}, until {until}", claims.group, claims.fabric))
}

/// Gateways prove that they have the key of the pin in the token.
fn by_tls(name: &str, samples: Samples) -> Finding {
    const CHECK: &str = "gateway over TLS";
    if let Some(time) = samples.times.iter().min() {
        let text =
            format!("{name} answers with the certificate of the token in {} ms", time.as_millis().max(1));
        return Finding::ok(CHECK, text);
    }
    match samples.error {
        Some(Failure::Other(what, hint)) => Finding::missing(CHECK, format!("{name}: {what}"), hint),
        _ => Finding::missing(CHECK, format!("{name}: no answer"), "check that the gateway runs"),
    }
}

/// The agent falls back to TLS.
fn by_udp(name: &str, samples: Samples) -> Finding {
    const CHECK: &str = "gateway over UDP";
    const HINT: &str =
        "if the network blocks UDP, the agent uses TLS; otherwise have the gateway's UDP port opened";
    if let Some(time) = samples.times.iter().min() {
        return Finding::ok(CHECK, format!("{name} answers in {} ms", time.as_millis().max(1)));
    }
    let what = match samples.error {
        Some(Failure::Closed) => "the port is closed".to_owned(),
        Some(Failure::Other(what, _)) => what,
        Some(Failure::Silent) | None => "no answer".to_owned(),
    };
    Finding::limited(CHECK, format!("{name}: {what}"), HINT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Outcome;

    #[test]
    fn what_does_not_answer_is_a_limitation_over_udp_and_a_fault_over_tls() {
        let samples = |times: &[u64], error| Samples {
            sent: 3,
            times: times.iter().map(|time| Duration::from_micros(*time)).collect(),
            error,
        };
        let answered = || samples(&[2500, 1700], None);
        let findings = [
            by_udp("gw-a (192.0.2.1:51820)", answered()),
            by_udp("gw-a (192.0.2.1:51820)", samples(&[], Some(Failure::Silent))),
            by_udp("gw-a (192.0.2.1:51820)", samples(&[], Some(Failure::Closed))),
            by_tls("gw-a (192.0.2.1:443)", answered()),
            by_tls(
                "gw-a (192.0.2.1:443)",
                samples(&[], Some(Failure::Other("refused".into(), "start it".into()))),
            ),
        ];
        let outcomes = findings.clone().map(|finding| finding.outcome);
        use Outcome::{Limited, Missing, Ok};
        assert_eq!(outcomes, [Ok, Limited, Limited, Ok, Missing]);
        let texts: Vec<&str> = findings.iter().map(|finding| finding.seen.as_str()).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
