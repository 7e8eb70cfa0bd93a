//! `--transparent`: the program runs in the network of a tunnel that ends in a user namespace, and its plain sockets use the tunnel.
//!
//! ```text
//! exec ─► this program again: enters the helper's user and network namespaces, has a mount namespace with a resolv.conf and a
//!         hosts file of its own, and becomes the program
//!                      127.0.0.1:53     names: those of the tunnel, all others from this machine's servers
//!                      /etc/hosts       the machine's own name: the addresses of the tunnel
//!                      HTTPS_PROXY      destinations beside the tunnel
//! ```

use std::{
    ffi::OsString,
    fs::File,
    io::{self, ErrorKind, Write as _},
    net::IpAddr,
    os::{fd::AsFd as _, unix::process::CommandExt as _},
    process::Command,
};

use ipnet::IpNet;
use rustix::io::Errno;
use rustix::mount::mount_bind;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use tempfile::NamedTempFile;

use crate::{
    agent::{AgentArgs, DeviceChoice, ScopedTunnel, proxies::Proxies},
    cli::{EnterArgs, ExecArgs},
    commands::print_error,
    runtime::{
        net::ENTER,
        problem::{Context as _, Problem, Result},
    },
};

/// What programs look names up with.
const RESOLV_CONF: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";

/// The agent's arguments, with the device that the program needs.
///
/// # Errors
/// Another device was requested.
pub(super) fn arguments(args: &ExecArgs) -> Result<AgentArgs> {
    let mut agent = args.agent.clone();
    if args.transparent {
        match agent.device {
            DeviceChoice::Auto | DeviceChoice::Userns => {
                agent.device = DeviceChoice::Userns;
                agent.services.inside = true;
            }
            // An interface of the machine is there for all programs.
            DeviceChoice::Kernel | DeviceChoice::Tun => {}
            DeviceChoice::User => {
                return Err(Problem::new("--transparent cannot be used with --device user").hint(
                    "remove --device: the program then runs in a user namespace; `warren-tunnel doctor` reports whether one is permitted",
                ));
            }
        }
    }
    Ok(agent)
}

/// The proxies as programs inside see them.
pub(super) fn proxies(outside: &Proxies) -> Proxies {
    Proxies { http: outside.inside, credentials: outside.credentials.clone(), ..Proxies::default() }
}

/// The names that programs inside know, and the process whose network they enter.
pub(super) struct Names {
    process: u32,
    resolver: NamedTempFile,
    hosts: NamedTempFile,
}

impl Names {
    /// Writes the files. They end with this value.
    ///
    /// # Errors
    /// There is no folder for temporary files.
    pub(super) fn of(process: u32, tunnel: &ScopedTunnel) -> Result<Self> {
        // Programs in a container without one of the files have none inside either.
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let write = |prefix: &str, text: &str| {
            let mut file = tempfile::Builder::new().prefix(prefix).tempfile()?;
            file.write_all(text.as_bytes())?;
            io::Result::Ok(file)
        };
        let doing = || "writing the name servers and hosts of the command to temporary files".into();
        let addresses = tunnel.config().interface.addresses.iter().map(IpNet::addr);
        let machine = rustix::system::uname();
        let hosts = hosts(&read(HOSTS), tunnel.name(), &machine.nodename().to_string_lossy(), addresses);
        Ok(Self {
            process,
            resolver: write("warren-resolv-", &resolver(&read(RESOLV_CONF))).while_doing(doing)?,
            hosts: write("warren-hosts-", &hosts).while_doing(doing)?,
        })
    }

    /// The command that runs another one inside.
    pub(super) fn command(&self, command: &[OsString]) -> Vec<OsString> {
        let before = ["/proc/self/exe".into(), ENTER.into(), self.process.to_string().into()];
        let files = [&self.resolver, &self.hosts].map(|file| file.path().as_os_str().to_owned());
        before.into_iter().chain(files).chain(["--".into()]).chain(command.iter().cloned()).collect()
    }
}

/// The file with the agent as the only name server; search domains and options stay.
fn resolver(before: &str) -> String {
    let kept = before.lines().filter(|line| line.split_whitespace().next() != Some("nameserver"));
    let mut lines = vec!["nameserver 127.0.0.1"];
    lines.extend(kept);
    lines.join("\n") + "\n"
}

/// The hosts file, with the names of this pod at its addresses in the tunnel. Programs such as Gloo, MPI, and torchrun look up the
/// machine's own name, and tell others the answer. The first name is the one that other pods know.
fn hosts(before: &str, own: Option<&str>, machine: &str, addresses: impl Iterator<Item = IpAddr>) -> String {
    let plain = |name: &&str| {
        let letters = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        !name.is_empty() && name.chars().all(letters) && !name.starts_with("localhost")
    };
    let names: Vec<&str> = own.into_iter().chain([machine].into_iter().filter(plain)).collect();
    let is_own = |name: &&str| names.iter().any(|own| own.eq_ignore_ascii_case(name));
    let mut lines = Vec::new();
    if !names.is_empty() {
        lines.extend(addresses.map(|address| format!("{address} {}", names.join(" "))));
    }
    for line in before.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let (address, known): (_, Vec<&str>) = (words.next(), words.collect());
        let others: Vec<&str> = known.iter().copied().filter(|name| !is_own(name)).collect();
        match address {
            Some(_) if others.is_empty() && !known.is_empty() => {}
            Some(address) if others.len() < known.len() => {
                lines.push(format!("{address} {}", others.join(" ")));
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

/// Becomes the command, in the network of a process. Returns an exit code if that fails.
pub fn enter(args: &EnterArgs) -> u8 {
    if let Err(error) = go(args) {
        let hint = "`warren-tunnel doctor` reports whether user namespaces are permitted; without --transparent, the command uses proxies";
        print_error(&Problem::new(format!("cannot enter the network of the tunnel: {error}")).hint(hint));
        return super::NOT_UP;
    }
    let Some((program, arguments)) = args.command.split_first() else { return super::NOT_UP };
    let error = Command::new(program).args(arguments).exec();
    print_error(&Problem::new(format!("cannot run {}: {error}", program.display())));
    if error.kind() == ErrorKind::NotFound { 127 } else { 126 }
}

fn go(args: &EnterArgs) -> io::Result<()> {
    let of = |kind: &str| File::open(format!("/proc/{}/ns/{kind}", args.process));
    let (user, net) = (of("user")?, of("net")?);
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(net.as_fd(), Some(LinkNameSpaceType::Network))?;
    #[expect(unsafe_code, reason = "a process with one thread shares no descriptors")]
    // SAFETY: no file descriptors are unshared (no CLONE_FILES), so what is open here stays valid.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    // Shows one file in place of the other.
    mount_bind(&args.resolver, RESOLV_CONF)?;
    match mount_bind(&args.hosts, HOSTS) {
        // Minimal images have none, and nothing that reads it.
        Err(Errno::NOENT) => Ok(()),
        mounted => Ok(mounted?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_the_only_name_server() {
        let before = "search acme.example\nnameserver 10.0.0.2\n nameserver 10.0.0.3\noptions ndots:2\n";
        assert_eq!(resolver(before), "nameserver 127.0.0.1\nsearch acme.example\noptions ndots:2\n");
        assert_eq!(resolver(""), "nameserver 127.0.0.1\n");
    }

    #[test]
    fn the_machines_own_name_is_at_the_addresses_of_the_tunnel() {
        let before =
            "127.0.0.1 localhost POD-7\n# pod-7\n172.17.0.2\tpod-7 # Docker\n10.0.0.9 other pod-77\n";
        let kept = "127.0.0.1 localhost\n# pod-7\n10.0.0.9 other pod-77\n";
        let at = || ["10.100.0.5", "fd00::5"].map(|address| address.parse().unwrap()).into_iter();
        let name = "train-0.gpu.warren.internal";
        assert_eq!(
            hosts(before, Some(name), "pod-7", at()),
            format!("10.100.0.5 {name} pod-7\nfd00::5 {name} pod-7\n{kept}")
        );
        // Without a token, and on machines whose name must not move.
        assert_eq!(hosts(before, None, "pod-7", at()), format!("10.100.0.5 pod-7\nfd00::5 pod-7\n{kept}"));
        for machine in ["localhost", "localhost.localdomain", "", "two words"] {
            assert_eq!(hosts(before, None, machine, at()), before);
        }
    }
}
