//! Sets the name servers of the tunnel: with resolvconf if installed, else systemd-resolved, else in /etc/resolv.conf.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs, io,
    io::Write as _,
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use warren_wire::enrolment::DnsZone;

use super::{Change, Journal};
use crate::runtime::{
    host::InterfaceName,
    problem::{Context, Problem, Result},
};

/// How name servers are set on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dns {
    /// The program resolvconf.
    Resolvconf(PathBuf),
    /// The program resolvectl of a running systemd-resolved.
    Resolved(PathBuf),
    /// The file itself.
    File(PathBuf),
}

/// The method for this machine.
pub fn chosen() -> Dns {
    let find = |program: &str| {
        ["/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/local/bin"]
            .iter()
            .map(|folder| Path::new(folder).join(program))
            .find(|path| path.exists())
    };
    if let Some(path) = find("resolvconf") {
        return Dns::Resolvconf(path);
    }
    match find("resolvectl") {
        Some(path) if Path::new("/run/systemd/resolve").exists() => Dns::Resolved(path),
        _ => Dns::File("/etc/resolv.conf".into()),
    }
}

impl Dns {
    /// The name for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Resolvconf(_) => "resolvconf",
            Self::Resolved(_) => "systemd-resolved",
            Self::File(_) => "/etc/resolv.conf",
        }
    }

    /// Sets `servers` as the machine's name servers, after recording how to undo it.
    ///
    /// # Errors
    /// When the program fails or the file cannot be written.
    pub fn set(
        &self,
        interface: &InterfaceName,
        servers: &[IpAddr],
        search: &[String],
        journal: &mut Journal,
    ) -> Result<()> {
        match self {
            Self::Resolvconf(program) => {
                let record = format!("tun.{interface}");
                journal.note(Change::Resolvconf { record: record.clone() })?;
                run(program, &["-a", &record, "-m", "0", "-x"], Some(&file(servers, search)))
            }
            Self::Resolved(program) => {
                journal.note(Change::Resolved { interface: interface.to_string() })?;
                let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
                let mut arguments = vec!["dns", interface.as_str()];
                arguments.extend(servers.iter().map(String::as_str));
                run(program, &arguments, None)?;
                // `~.` makes these servers the ones for every name, as wg-quick's DNS means it.
                let mut arguments = vec!["domain", interface.as_str(), "~."];
                arguments.extend(search.iter().map(String::as_str));
                run(program, &arguments, None)
            }
            Self::File(path) => {
                let backup = journal.sibling("resolv.conf");
                replace(path, &backup, &file(servers, search), journal)
            }
        }
    }

    /// Sends the names below some domains to other servers, after recording how to undo it. False if that is not possible here.
    ///
    /// # Errors
    /// When the program fails.
    pub fn set_domains(
        &self,
        interface: &InterfaceName,
        zones: &[DnsZone],
        journal: &mut Journal,
    ) -> Result<bool> {
        let Self::Resolved(program) = self else { return Ok(false) };
        let servers: BTreeSet<String> =
            zones.iter().flat_map(|zone| &zone.servers).map(ToString::to_string).collect();
        // The interface has one list of servers for all its domains.
        if zones.iter().any(|zone| zone.servers.len() != servers.len()) {
            return Ok(false);
        }
        journal.note(Change::Resolved { interface: interface.to_string() })?;
        // `~` is for a domain that is only routed, not searched.
        let domains: Vec<String> =
            zones.iter().flat_map(|zone| &zone.domains).map(|domain| format!("~{domain}")).collect();
        for (verb, values) in [
            ("dns", servers.into_iter().collect()),
            ("domain", domains),
            ("default-route", vec!["false".to_owned()]),
        ] {
            let mut arguments = vec![verb, interface.as_str()];
            arguments.extend(values.iter().map(String::as_str));
            run(program, &arguments, None)?;
        }
        Ok(true)
    }

    /// Sets a server of this machine in place of the name servers in `before`, whose other lines stay, after recording how to
    /// undo it.
    ///
    /// # Errors
    /// When the program fails or the file cannot be written.
    pub fn set_local(
        &self,
        interface: &InterfaceName,
        server: IpAddr,
        before: &str,
        journal: &mut Journal,
    ) -> Result<()> {
        match self {
            Self::Resolved(_) => self.set(interface, &[server], &[], journal),
            Self::Resolvconf(program) => {
                let record = format!("tun.{interface}");
                journal.note(Change::Resolvconf { record: record.clone() })?;
                run(program, &["-a", &record, "-m", "0", "-x"], Some(&with_server(before, server)))
            }
            Self::File(path) => {
                let backup = journal.sibling("resolv.conf");
                replace(path, &backup, &with_server(before, server), journal)
            }
        }
    }
}

fn replace(path: &Path, backup: &Path, text: &str, journal: &mut Journal) -> Result<()> {
    let doing = || format!("name servers in {}", path.display());
    let before = fs::read(path).while_doing(doing)?;
    if let Some(folder) = backup.parent() {
        fs::create_dir_all(folder).while_doing(doing)?;
    }
    fs::write(backup, before).while_doing(doing)?;
    journal.note(Change::ResolvFile { path: path.to_owned(), backup: backup.to_owned() })?;
    // Written in place: in a container the file is a bind mount and cannot be renamed over.
    write_in_place(path, text.as_bytes()).while_doing(doing)
}

fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(path)?;
    file.write_all(bytes)
}

/// Undoes one of the changes that [`Dns::set`] wrote down.
///
/// # Errors
/// When the program fails or the file cannot be written.
pub fn undo(change: &Change) -> Result<()> {
    match change {
        Change::Resolvconf { record } => match chosen() {
            Dns::Resolvconf(program) => run(&program, &["-d", record, "-f"], None),
            _ => Ok(()),
        },
        Change::Resolved { interface } => match chosen() {
            // systemd-resolved forgets the servers with the interface.
            Dns::Resolved(program) => run(&program, &["revert", interface], None).or(Ok(())),
            _ => Ok(()),
        },
        Change::ResolvFile { path, backup } => {
            let doing = || format!("{} from {}", path.display(), backup.display());
            match fs::read(backup) {
                Ok(before) => write_in_place(path, &before).while_doing(doing)?,
                // The backup is removed last: without it, this has been undone already.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error).while_doing(doing),
            }
            fs::remove_file(backup).while_doing(doing)
        }
        _ => Ok(()),
    }
}

/// The first line of a file that we wrote.
const WRITTEN: &str = "# Written by warren-tunnel, which restores the previous file when it ends\n";

/// A file with one server in place of all others.
fn with_server(before: &str, server: IpAddr) -> String {
    let mut text = format!("{WRITTEN}nameserver {server}\n");
    for line in before.lines().filter(|line| !line.trim_start().starts_with("nameserver")) {
        _ = writeln!(text, "{line}");
    }
    text
}

fn file(servers: &[IpAddr], search: &[String]) -> String {
    let mut text = String::from(WRITTEN);
    for server in servers {
        _ = writeln!(text, "nameserver {server}");
    }
    if !search.is_empty() {
        _ = writeln!(text, "search {}", search.join(" "));
    }
    text
}

fn run(program: &Path, arguments: &[&str], input: Option<&str>) -> Result<()> {
    let doing = || format!("{} {}", program.display(), arguments.first().unwrap_or(&""));
    let mut child = Command::new(program)
        .args(arguments)
        .env_remove("WARREN_PRIVATE_KEY")
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .while_doing(doing)?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        // A program that does not read its input reports the reason by its exit code.
        _ = stdin.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().while_doing(doing)?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Problem::new(format!("{}: {}: {}", doing(), output.status, stderr.trim()))
        .hint("remove DNS from the configuration to keep the machine's name servers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_this_machine_takes_the_place_of_the_others_alone() {
        let before =
            "# mine\nnameserver 10.0.0.1\n nameserver 10.0.0.2\nsearch corp.example\noptions ndots:5\n";
        let text = with_server(before, "127.83.0.1".parse().unwrap());
        assert_eq!(
            text,
            format!("{WRITTEN}nameserver 127.83.0.1\n# mine\nsearch corp.example\noptions ndots:5\n")
        );
    }

    #[test]
    fn systemd_resolved_gets_domains_and_not_all_names() {
        let folder = tempfile::tempdir().unwrap();
        let (program, log) = (folder.path().join("resolvectl"), folder.path().join("log"));
        fs::write(&program, format!("#!/bin/sh\necho \"$*\" >> {}\n", log.display())).unwrap();
        let mut permissions = fs::metadata(&program).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        fs::set_permissions(&program, permissions).unwrap();
        let mut journal = Journal::open(folder.path().join("run/wg0.json")).unwrap();
        let zone = |domain: &str| DnsZone {
            domains: vec![domain.parse().unwrap()],
            servers: vec!["10.100.0.1".parse().unwrap()],
        };
        let (interface, zones) = ("wg0".parse().unwrap(), [zone("googleapis.com"), zone("example.org")]);
        assert!(Dns::Resolved(program).set_domains(&interface, &zones, &mut journal).unwrap());
        let expected =
            "dns wg0 10.100.0.1\ndomain wg0 ~googleapis.com ~example.org\ndefault-route wg0 false\n";
        assert_eq!(fs::read_to_string(&log).unwrap(), expected);
        assert!(!Dns::File("x".into()).set_domains(&interface, &zones, &mut journal).unwrap());
    }

    #[test]
    fn the_file_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        let backup = folder.path().join("run/backup");
        fs::write(&path, "nameserver 9.9.9.9\n").unwrap();
        let mut journal = Journal::open(folder.path().join("run/wg0.json")).unwrap();
        let text = file(&["10.0.0.1".parse().unwrap()], &["corp.example".into()]);
        replace(&path, &backup, &text, &mut journal).unwrap();
        assert!(fs::read_to_string(&path).unwrap().ends_with("nameserver 10.0.0.1\nsearch corp.example\n"));
        let change = journal.last().unwrap().clone();
        undo(&change).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "nameserver 9.9.9.9\n");
        undo(&change).unwrap();
        assert!(!backup.exists());
    }
}
