//! `--transparent`: the program runs in the network of a tunnel that ends in a user namespace, and its plain sockets use the tunnel.
//!
//! ```text
//! exec ─► this program again: enters the helper's user and network namespaces, has a mount namespace with a resolv.conf of its
//!         own, and becomes the program
//!                      127.0.0.1:53     names: those of the tunnel, all others from this machine's servers
//!                      HTTPS_PROXY      destinations beside the tunnel
//! ```

use std::{
    ffi::OsString,
    fs::File,
    io::{self, ErrorKind, Write as _},
    os::{fd::AsFd as _, unix::process::CommandExt as _},
    process::Command,
};

use rustix::mount::mount_bind;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use tempfile::NamedTempFile;

use crate::{
    agent::{AgentArgs, DeviceChoice, proxies::Proxies},
    cli::{EnterArgs, ExecArgs},
    commands::print_error,
    runtime::{
        net::ENTER,
        problem::{Context as _, Problem, Result},
    },
};

/// What programs look names up with.
const RESOLV_CONF: &str = "/etc/resolv.conf";

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

/// The name servers of programs inside, and the process whose network they enter.
pub(super) struct Resolver {
    process: u32,
    file: NamedTempFile,
}

impl Resolver {
    /// Writes the file. It ends with this value.
    ///
    /// # Errors
    /// There is no folder for temporary files.
    pub(super) fn of(process: u32) -> Result<Self> {
        // Programs in a container without the file use its name servers as they are.
        let before = std::fs::read_to_string(RESOLV_CONF).unwrap_or_default();
        let write = || {
            let mut file = tempfile::Builder::new().prefix("warren-resolv-").tempfile()?;
            file.write_all(resolver(&before).as_bytes())?;
            io::Result::Ok(file)
        };
        let doing = || "writing the name servers of the command to a temporary file".into();
        Ok(Self { process, file: write().while_doing(doing)? })
    }

    /// The command that runs another one inside.
    pub(super) fn command(&self, command: &[OsString]) -> Vec<OsString> {
        let before = ["/proc/self/exe".into(), ENTER.into(), self.process.to_string().into()];
        let names = [self.file.path().as_os_str().to_owned(), "--".into()];
        before.into_iter().chain(names).chain(command.iter().cloned()).collect()
    }
}

/// The file with the agent as the only name server; search domains and options stay.
fn resolver(before: &str) -> String {
    let kept = before.lines().filter(|line| line.split_whitespace().next() != Some("nameserver"));
    let mut lines = vec!["nameserver 127.0.0.1"];
    lines.extend(kept);
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
    Ok(())
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
}
