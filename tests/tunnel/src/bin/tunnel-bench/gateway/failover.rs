//! Three gateways, etcd and agents, each with a program that asks a server: what it feels when something dies.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::fleet::{Asker, Felt, Fleet, all_answered, live, no_address_twice};
use warren_tunnel_tests::wait_for;

use super::Plan;
use crate::figures::number;
use crate::sheet::Sheet;

const GATEWAYS: u8 = 3;
const AGENTS: u16 = 50;
/// How long etcd is stopped.
const STOPPED: Duration = Duration::from_secs(5);

pub(crate) fn measure(_: &Plan, sheet: &mut Sheet) -> Result<()> {
    let fleet = Fleet::new(GATEWAYS)?;
    let mut gateways =
        (0..usize::from(GATEWAYS)).map(|index| fleet.gateway(index)).collect::<Result<Vec<Gateway>>>()?;
    let token = fleet.fabric.token("gpu", &[])?;
    eprintln!("{AGENTS} agents");
    let agents = (0..AGENTS).map(|number| fleet.pod(number, &token)).collect::<Result<Vec<Member>>>()?;
    let askers = (0..AGENTS).map(|number| fleet.asker(number)).collect::<Result<Vec<Asker>>>()?;
    all_answered(&askers)?;
    let before = live(&gateways[0])?;
    ensure!(before.len() == usize::from(AGENTS), "{} leases", before.len());
    no_address_twice(&before)?;
    let settle = || {
        thread::sleep(Duration::from_secs(3));
        all_answered(&askers)?;
        Ok::<_, anyhow::Error>(Felt::by(&askers))
    };
    settle()?;
    let mut felt = Vec::new();

    gateways[0].daemon.kill()?;
    felt.push(("gateway killed", settle()?));
    gateways[0] = fleet.gateway(0)?;
    let known = || Ok((live(&gateways[0])? == before).then_some(()));
    wait_for(Duration::from_secs(30), "leases at the returned gateway", known)?;

    fleet.cut(1)?;
    felt.push(("path to a gateway cut", settle()?));
    fleet.mend(1)?;

    fleet.etcd.signal(Signal::STOP)?;
    thread::sleep(STOPPED);
    fleet.etcd.signal(Signal::CONT)?;
    felt.push(("etcd stopped for 5 s", settle()?));

    gateways[2].run(&["gateway", "drain"])?;
    felt.push(("gateway drained", settle()?));

    for gateway in &gateways {
        ensure!(live(gateway)? == before, "a lease was lost");
    }
    drop((askers, agents));
    for (what, felt) in felt {
        sheet.note("failover", &format!("{what}, agents affected"), "", number(felt.gaps.len() as u64));
        sheet.note("failover", &format!("{what}, median outage"), "ms", number(felt.median()));
        sheet.note("failover", &format!("{what}, longest outage"), "ms", number(felt.longest));
    }
    Ok(())
}
