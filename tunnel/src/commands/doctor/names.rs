//! Whether the domains of running agents are resolved through their tunnels, by a query for one of them.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::Finding;
use crate::{
    agent,
    runtime::{
        host::InterfaceName,
        status::{DnsTest, Status},
        uapi,
    },
};

const CHECK: &str = "private names";
/// Longest wait for the test of an agent.
const TIMEOUT: Duration = Duration::from_secs(6);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Tests the domains of all agents that run for this user.
pub(super) fn examine() -> Vec<Finding> {
    uapi::running().iter().filter_map(examine_one).collect()
}

fn examine_one(interface: &InterfaceName) -> Option<Finding> {
    let status = uapi::status_of(interface).ok()?;
    let domains = status.dns_zones.iter().flat_map(|zone| zone.domains.iter().map(String::as_str));
    let domains: Vec<&str> = domains.collect();
    if domains.is_empty() {
        return None;
    }
    let tested = if status.services.is_some() { by_agent(interface) } else { by_this_machine(&status) };
    Some(finding(interface, &domains.join(", "), tested))
}

fn finding(interface: &InterfaceName, domains: &str, tested: Option<DnsTest>) -> Finding {
    const HINT: &str = "check the handshake with `warren-tunnel status`, and the resolvers with `warren-tunnel gateway status` at the gateway";
    match tested {
        Some(test) if test.works => Finding::ok(
            CHECK,
            format!("{interface} resolves {domains}; {} answered in {} ms", test.domain, test.milliseconds),
        ),
        Some(DnsTest { domain, answer: Some(answer), .. }) => {
            Finding::limited(CHECK, format!("{interface}: the gateway answers `{answer}` for {domain}"), HINT)
        }
        Some(DnsTest { domain, answer: None, .. }) => {
            Finding::limited(CHECK, format!("{interface}: no answer for {domain}"), HINT)
        }
        None => Finding::limited(CHECK, format!("{interface}: the test of {domains} did not end"), HINT),
    }
}

/// The agent alone reaches the servers: its status has the result of a test that the first look starts.
fn by_agent(interface: &InterfaceName) -> Option<DnsTest> {
    let begun = Instant::now();
    loop {
        let served = uapi::status_of(interface).ok()?.services?;
        if served.dns_test.is_some() || begun.elapsed() > TIMEOUT {
            return served.dns_test;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// The interface leads to the servers.
fn by_this_machine(status: &Status) -> Option<DnsTest> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(agent::test_names(&agent::names_by_interface(status)))
}
