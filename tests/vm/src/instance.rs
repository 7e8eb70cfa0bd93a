//! An instance with a gateway: its first boot and a reboot, and first boots that a cut of the power ends.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::gateway::Cloud;
use crate::image::Image;
use crate::machine::{Boot, Disks, Machine, Root};
use crate::payload::{System, payload};
use crate::report::Report;

/// The first point of the boot script, from which each first boot goes on.
const FIRST: &str = "before /etc/sysusers.d/warren.conf";
const SNAPSHOT: &str = "first";
const KEPT: &str = "first.qcow2";

/// The kernel's arguments. systemd leaves out what only first boots and consoles of users need.
const ARGUMENTS: &str = "root=/dev/vda rw init=/sbin/warren-vm-init systemd.show_status=0 systemd.getty_auto=0 \
                         systemd.gpt_auto=0 systemd.condition_needs_update=0";

/// Google's agent for users and addresses is not what runs the startup script.
const LESS: &str = " systemd.mask=google-guest-agent.service systemd.mask=google-shutdown-scripts.service";

/// A cut of the power: so many seconds after a point of the first boot.
#[derive(Debug)]
struct Cut {
    name: &'static str,
    point: &'static str,
    seconds: u64,
}

const fn cut(name: &'static str, point: &'static str, seconds: u64) -> Cut {
    Cut { name, point, seconds }
}

/// Six seconds are more than the file system waits until it commits names, and less than the kernel waits until it writes contents.
const CUTS: &[Cut] = &[
    cut("while the gateway makes its store", "leases", 0),
    cut("6 s after the last unit", "after /etc/systemd/system/warren-restart.service", 6),
    cut("in the middle of the download", "half of the binary", 0),
    cut("between two units", "after /etc/systemd/system/warren-fetch.service", 0),
    cut("6 s after the binary has its name", "after /usr/local/bin/warren-tunnel", 6),
    cut("between two secrets", "secret wireguard", 0),
    cut("at the start of the gateway", "gateway", 0),
    cut("before the binary has its name", "before /usr/local/bin/warren-tunnel", 0),
    cut("6 s after the gateway has made its store", "leases", 6),
    cut("after the secrets", "secrets", 0),
    cut(
        "before the unit of the gateway has its name",
        "before /etc/systemd/system/warren-gateway.service",
        0,
    ),
    cut("before the first file has its name", FIRST, 0),
    cut("20 s after the first file", FIRST, 20),
    cut("40 s after the first file", FIRST, 40),
];

/// Where things are, and how long a machine may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) image: &'a Image,
    pub(crate) products: &'a Path,
    pub(crate) filter: Option<&'a str>,
    pub(crate) limit: Duration,
}

impl Place<'_> {
    fn disks(&self, cloud: Cloud, filter: Option<&str>) -> Result<Disks> {
        let disks = Disks::new(&self.image.folder)?;
        payload(disks.path(), System::Instance(cloud), self.products, filter)?;
        disks.layer()?;
        Ok(disks)
    }

    fn boot<'a>(&'a self, disks: &'a Disks, cloud: Cloud, role: &str) -> Boot<'a> {
        let arguments = format!("{ARGUMENTS} warren.role={role}");
        Boot {
            folder: &self.image.folder,
            disks,
            root: Root::Layer,
            arguments,
            cloud: Some(cloud),
            snapshot: None,
            limit: self.limit,
        }
    }
}

/// Boots an instance from its image, and reboots it.
pub(crate) fn whole(place: &Place<'_>, cloud: Cloud, print: &dyn Fn(&str)) -> Result<Report> {
    let disks = place.disks(cloud, place.filter)?;
    let mut all = Report::default();
    for role in [cloud.name(), "rebooted"] {
        print(&format!("{}: {role}", cloud.name()));
        all.add(&follow(&place.boot(&disks, cloud, role), print)?);
    }
    Ok(all)
}

/// Boots a machine, and reports its cases.
pub(crate) fn follow(boot: &Boot<'_>, print: &dyn Fn(&str)) -> Result<Report> {
    let mut machine = Machine::start(boot)?;
    let mut report = Report::default();
    machine.follow(|line| {
        if let Some(told) = report.take(line) {
            print(&told);
        }
    })?;
    if let Some(missing) = report.end() {
        print(&format!("{missing}\n{}\nconsole in {}", machine.console(), machine.console_file().display()));
    }
    Ok(report)
}

/// Cuts the power during first boots, and boots again from the same disk.
pub(crate) fn cuts(place: &Place<'_>, cloud: Cloud, print: &dyn Fn(&str)) -> Result<Report> {
    let disks = place.disks(cloud, None)?;
    let begun = Instant::now();
    let mut first = place.boot(&disks, cloud, "cut");
    first.arguments.push_str(" warren.points");
    first.arguments.push_str(LESS);
    let mut machine = Machine::start(&first)?;
    machine.reach(FIRST)?;
    machine.save(SNAPSHOT)?;
    machine.cut()?;
    disks.keep(KEPT)?;
    print(&format!("the boot script has begun after {:.0} s", begun.elapsed().as_secs_f64()));

    let chosen = CUTS.iter().filter(|cut| place.filter.is_none_or(|filter| cut.name.contains(filter)));
    let mut all = Report::default();
    for cut in chosen {
        print(&format!("the power is cut {}", cut.name));
        disks.restore(KEPT)?;
        let begun = Instant::now();
        let mut machine = Machine::start(&Boot { snapshot: Some(SNAPSHOT), ..first.clone() })?;
        if cut.point != FIRST {
            machine.go_on(Duration::ZERO)?;
            machine.reach(cut.point).context(cut.name)?;
        }
        if cut.seconds > 0 {
            machine.go_on(Duration::from_secs(cut.seconds))?;
        }
        machine.cut()?;
        let cut_after = begun.elapsed();
        let mut again = place.boot(&disks, cloud, "cut");
        again.arguments.push_str(LESS);
        let report = follow(&again, print)?;
        print(&format!(
            "cut {:.0} s after the snapshot, all in {:.0} s",
            cut_after.as_secs_f64(),
            begun.elapsed().as_secs_f64()
        ));
        all.add(&report);
    }
    Ok(all)
}
