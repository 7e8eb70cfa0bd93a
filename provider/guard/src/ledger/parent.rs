//! The process that started this one, which is Terraform or OpenTofu, whatever the name of its program is.

use super::Apart;

/// The ID of the process that started this one.
#[cfg(unix)]
pub(super) fn id() -> u32 {
    std::os::unix::process::parent_id()
}

/// The ID of the process that started this one.
#[cfg(not(unix))]
pub(super) fn id() -> u32 {
    0
}

/// The name of the ledger of the process `id`. The start time distinguishes processes that had the same ID, and the
/// namespace those of containers that share a directory.
pub(super) fn file_name(id: u32) -> Result<String, Apart> {
    if id == 0 {
        return Err(Apart::NoParent(
            "it runs in another container, or the system is not supported".to_owned(),
        ));
    }
    match started(id) {
        Some(started) => Ok(format!("run-{}-{id}-{started}.jsonl", namespace())),
        None => Err(Apart::NoParent(format!("the start time of process {id} cannot be read"))),
    }
}

/// Whether the process of a ledger has ended. `false` if that is not certain.
pub(super) fn ended(file_name: &str) -> bool {
    let Some(name) = file_name.strip_prefix("run-").and_then(|name| name.strip_suffix(".jsonl")) else {
        return false;
    };
    let mut parts = name.splitn(3, '-');
    let (Some(theirs), Some(Ok(id)), Some(time)) =
        (parts.next(), parts.next().map(str::parse::<u32>), parts.next())
    else {
        return false;
    };
    theirs == namespace() && started(id).as_deref() != Some(time)
}

/// When a process started, as letters and digits; `None` if there is no such process.
#[cfg(target_os = "linux")]
fn started(id: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // proc_pid_stat(5): field 22 is the start time. Field 2, the name, may contain spaces and parentheses.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(22 - 3).map(str::to_owned)
}

/// When a process started, as letters and digits; `None` if there is no such process.
#[cfg(not(target_os = "linux"))]
fn started(id: u32) -> Option<String> {
    started_by_ps(id)
}

/// As [`started`], for systems without `/proc`. ps(1) of macOS and of Linux know the same keyword.
#[cfg(any(test, not(target_os = "linux")))]
fn started_by_ps(id: u32) -> Option<String> {
    let mut ps = std::process::Command::new("/bin/ps");
    let listed = ps.env("LC_ALL", "C").env("TZ", "UTC").args(["-o", "lstart=", "-p", &id.to_string()]);
    let output = listed.output().ok()?;
    let time: String =
        output.stdout.iter().map(|byte| char::from(*byte)).filter(char::is_ascii_alphanumeric).collect();
    (!time.is_empty()).then_some(time)
}

/// The namespace of process IDs. Elsewhere than on Linux, there is only one.
fn namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_a_process_with_its_start_time() {
        let own = file_name(std::process::id()).unwrap();
        assert!(!ended(&own), "{own}");
        let (rest, _) = own.rsplit_once('-').unwrap();
        assert!(ended(&format!("{rest}-1.jsonl")), "the ID was used again");
        assert!(ended(&format!("run-{}-{}-1.jsonl", namespace(), u32::MAX)));
        // What another container or program wrote is left alone.
        for foreign in ["run-1-1-1.jsonl", "run-1.jsonl", "claims.json", "run---.jsonl"] {
            assert!(!ended(foreign), "{foreign}");
        }
        assert!(matches!(file_name(0), Err(Apart::NoParent(_))));
        assert!(matches!(file_name(u32::MAX), Err(Apart::NoParent(_))));
    }

    #[test]
    fn ps_knows_the_start_time() {
        let own = started_by_ps(std::process::id()).unwrap();
        assert_eq!(started_by_ps(std::process::id()).unwrap(), own);
        assert_ne!(started_by_ps(1).unwrap(), own, "another process");
        assert_eq!(started_by_ps(u32::MAX), None);
        // Weekday, month, day, time and year: nothing that depends on the time of the query.
        let digits = own.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        assert!(own.starts_with(|letter: char| letter.is_ascii_alphabetic()), "{own}");
        assert!((11..=12).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()), "{own}");
    }
}
