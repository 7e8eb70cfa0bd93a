//! Sixteen processes share a claims file and survive kills. The test binary is also the claimant.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(clippy::print_stdout, reason = "a test program prints its result")]

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use warren_guard::{ClaimRole, ClaimsUrl, Guard, GuardConfig, Key};

const CLAIMANTS: usize = 16;
const KILLS: u64 = 40;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("claim") => claimant(&arguments[2..]),
        Some("--list") => ExitCode::SUCCESS,
        _ => {
            one_of_sixteen_processes_wins();
            claims_survive_killed_processes();
            println!("test result: ok. 2 passed; 0 failed; 0 ignored");
            ExitCode::SUCCESS
        }
    }
}

/// `claim FILE OWNER RANGE [ROUNDS]`: succeeds if the claim is granted. With ROUNDS, repeats claim and release that
/// many times.
fn claimant(arguments: &[String]) -> ExitCode {
    let [file, owner, range, rounds @ ..] = arguments else { return ExitCode::from(2) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let guard = guard(Path::new(file), owner);
    let key = Key::new("warren_aws_vpc", "hub");
    let range = range.parse().unwrap();
    let rounds: u32 = rounds.first().map_or(1, |rounds| rounds.parse().unwrap());
    let granted = runtime.block_on(async {
        for round in 1..=rounds {
            if guard.claim(&key, ClaimRole::Occupy, &[range]).await.is_err() {
                return false;
            }
            if round < rounds {
                guard.release(&key).await.unwrap();
            }
        }
        true
    });
    if granted { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn guard(file: &Path, owner: &str) -> Guard {
    Guard::new(GuardConfig {
        fabric: "llm".into(),
        owner: owner.into(),
        claims: Some(ClaimsUrl::File(file.to_owned())),
        ..GuardConfig::default()
    })
}

fn start(file: &Path, owner: &str, range: &str, rounds: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["claim", file.to_str().unwrap(), owner, range, rounds])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// All claimants of the first half overlap each other; those of the second half do not overlap.
fn one_of_sixteen_processes_wins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    let children: Vec<Child> = (0..CLAIMANTS)
        .map(|number| {
            let range = if number < CLAIMANTS / 2 {
                format!("10.0.0.0/{}", 8 + number)
            } else {
                format!("172.16.{number}.0/24")
            };
            start(&file, &format!("owner-{number}"), &range, "1")
        })
        .collect();
    let granted: Vec<bool> = children.into_iter().map(|mut child| child.wait().unwrap().success()).collect();
    let (overlapping, apart) = granted.split_at(CLAIMANTS / 2);
    assert_eq!(overlapping.iter().filter(|granted| **granted).count(), 1, "{granted:?}");
    assert!(apart.iter().all(|granted| *granted), "{granted:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("\"owner\"").count(), 1 + CLAIMANTS / 2, "none lost: {text}");
    eprintln!("{CLAIMANTS} processes: 1 of {} overlapping claims granted, none lost", CLAIMANTS / 2);
}

/// Claimants are killed at any moment; the document stays whole and no claim of a bystander is lost.
fn claims_survive_killed_processes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.json");
    assert!(start(&file, "bystander", "192.168.0.0/16", "1").wait().unwrap().success());
    for kill in 0..KILLS {
        let mut child = start(&file, "killed", "10.0.0.0/8", "1000000");
        std::thread::sleep(Duration::from_millis(5 + kill * 3 % 47));
        child.kill().unwrap();
        child.wait().unwrap();
        // The next claimant finds no lock and a document that it can read; its claim is granted unless the killed
        // one's stands.
        let other = start(&file, "other", "10.1.0.0/16", "1").wait().unwrap().success();
        let text = std::fs::read_to_string(&file).unwrap();
        let stands = text.contains("\"killed\"");
        assert_eq!(other, !stands, "{text}");
        assert!(text.contains("\"bystander\"") && text.ends_with("}\n"), "{text}");
        // The owner of the claim that stands claims again and releases.
        assert!(start(&file, "other", "10.1.0.0/16", "1").wait().unwrap().success() == other);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let key = Key::new("warren_aws_vpc", "hub");
        for owner in ["killed", "other"] {
            runtime.block_on(guard(&file, owner).release(&key)).unwrap();
        }
    }
    eprintln!("{KILLS} processes killed while they changed the claims: nothing lost");
}
