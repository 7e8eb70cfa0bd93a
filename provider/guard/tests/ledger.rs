//! Processes of one run compare what they plan. The test binary is also the provider process: this process starts them,
//! as Terraform does. The answers are compared with those of a comparison of every pair.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(clippy::print_stdout, reason = "a test program prints its result")]

#[path = "ledger/case.rs"]
mod case;
#[path = "ledger/process.rs"]
mod process;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use case::{Case, Random};
use process::{Alias, Process};
use warren_guard::{LiveRange, Location, Usage};

/// Cases of the random tests.
const CASES: u64 = 1000;
const KILLS: u64 = 40;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("provider") => process::serve(),
        Some("--list") => ExitCode::SUCCESS,
        _ => {
            every_overlap_is_reported_and_nothing_else();
            killed_processes_leave_a_ledger_that_others_use();
            a_process_that_holds_the_lock_is_waited_for_and_then_reported();
            processes_that_cannot_meet_say_so_once();
            an_account_that_only_the_apply_knows_raises_no_alarm();
            one_name_in_one_place_is_one_network();
            live_ranges_of_other_configurations_count();
            println!("test result: ok. 7 passed; 0 failed; 0 ignored");
            ExitCode::SUCCESS
        }
    }
}

/// Plans random networks of two to five provider configurations in random order, each configuration in a process of
/// its own, and again in other processes, as an apply does.
fn every_overlap_is_reported_and_nothing_else() {
    let mut folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let (mut refused, mut planned) = (0, 0);
    let mut validator = Process::start(folder.path());
    let mut processes: Vec<Process> = Vec::new();
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        // The runs of `terraform test` have one ledger, in which what an earlier run has planned does not count.
        if seed % 20 == 0 {
            processes.clear();
            folder = tempfile::tempdir().unwrap();
            validator = Process::start(folder.path());
        }
        validator.validate();
        while processes.len() < case.aliases.len() {
            processes.push(Process::start(folder.path()));
        }
        for (process, alias) in processes.iter_mut().zip(&case.aliases) {
            process.configure(alias);
        }
        let told = if seed % 3 == 0 {
            case.plan_at_once(&mut processes)
        } else {
            case.plan_in_order(&mut processes)
        };
        case.judge(&told, seed);
        refused += u64::from(case.conflicts() > 0);
        planned += case.resources.len();
        if case.conflicts() == 0 {
            // The walk that applies plans everything again, in processes that know nothing.
            for (process, alias) in processes.iter_mut().zip(&case.aliases) {
                process.configure(alias);
            }
            let again = case.plan_in_order(&mut processes);
            assert!(again.iter().all(Vec::is_empty), "case {seed}: {again:#?}");
        }
    }
    let took = start.elapsed();
    assert!((CASES / 6..CASES * 5 / 6).contains(&refused), "the cases are too similar: {refused} of {CASES}");
    eprintln!(
        "{CASES} runs with {planned} networks, {refused} with overlaps: all reported, no false alarm ({took:?})"
    );
}

/// Processes are killed while they append; what the others wrote stays, and they continue.
fn killed_processes_leave_a_ledger_that_others_use() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (case::alias("us-east-1"), case::alias("eu-west-1"));
    let mut bystander = Process::start(folder.path());
    bystander.configure(&one);
    assert_eq!(bystander.plan(&case::vpc("bystander", 0, "192.168.0.0/16")), Vec::<String>::new());
    for kill in 0..KILLS {
        let mut killed = Process::start(folder.path());
        killed.configure(&two);
        killed.plan_without_end(&case::vpc("killed", 0, "10.0.0.0/16"));
        std::thread::sleep(Duration::from_millis(5 + kill * 3 % 47));
        killed.kill();
        let mut next = Process::start(folder.path());
        next.configure(&two);
        let told = next.plan(&case::vpc("next", 0, "192.168.128.0/20"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("bystander") && told[0].contains("us-east-1"), "{told:?}");
        assert!(bystander.plan(&case::vpc("bystander", 0, "192.168.0.0/16"))[0].contains("next"));
        next.forget(&case::vpc("next", 0, "192.168.128.0/20"));
        assert_eq!(bystander.plan(&case::vpc("bystander", 0, "192.168.0.0/16")), Vec::<String>::new());
    }
    eprintln!("{KILLS} processes killed while they planned: nothing lost");
}

/// A stopped process does not stop the plan of the others.
fn a_process_that_holds_the_lock_is_waited_for_and_then_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Process::start(folder.path());
    first.configure(&case::alias("us-east-1"));
    assert_eq!(first.plan(&case::vpc("first", 0, "10.0.0.0/16")), Vec::<String>::new());
    let ledger = only_file(folder.path());
    let lock = std::fs::OpenOptions::new().write(true).open(ledger).unwrap();
    lock.lock().unwrap();
    let mut second = Process::start(folder.path());
    second.configure(&case::alias("eu-west-1"));
    let start = Instant::now();
    let told = second.plan(&case::vpc("second", 0, "10.0.0.0/16"));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(told[0].contains("another process has locked it for 10 s"), "{told:?}");
    // Reported once; within the process the guard works.
    let told = second.plan(&case::vpc("third", 0, "10.0.0.0/20"));
    assert!(told.len() == 1 && told[0].contains("second"), "{told:?}");
}

fn processes_that_cannot_meet_say_so_once() {
    let mut process = Process::start(Path::new("/nowhere"));
    process.configure(&case::alias("us-east-1"));
    let told = process.plan(&case::vpc("first", 0, "10.0.0.0/16"));
    assert!(told.len() == 1 && told[0].contains("cannot share its ranges with the others"), "{told:?}");
    assert_eq!(process.plan(&case::vpc("second", 0, "10.1.0.0/16")), Vec::<String>::new());
}

/// During the plan, a value of the provider block may be unknown.
fn an_account_that_only_the_apply_knows_raises_no_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let known = case::alias("us-east-1");
    let unknown = Alias { location: Location::default(), ..known.clone() };
    let hub = case::vpc("hub", 0, "10.0.0.0/16");
    let mut plan = Process::start(folder.path());
    plan.configure(&unknown);
    assert_eq!(plan.plan(&hub), Vec::<String>::new());
    let mut other = Process::start(folder.path());
    other.configure(&unknown);
    assert_eq!(other.plan(&case::vpc("hub", 0, "10.1.0.0/16")), Vec::<String>::new());
    drop((plan, other));
    let mut apply = Process::start(folder.path());
    apply.configure(&known);
    assert_eq!(apply.plan(&hub), Vec::<String>::new());
    // Once it is known, it is compared.
    let mut elsewhere = Process::start(folder.path());
    elsewhere.configure(&case::alias("eu-west-1"));
    assert_eq!(elsewhere.plan(&hub).len(), 1);
}

/// Two provider configurations for one location have one namespace.
fn one_name_in_one_place_is_one_network() {
    let folder = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (Process::start(folder.path()), Process::start(folder.path()));
    for process in [&mut one, &mut two] {
        process.configure(&case::alias("us-east-1"));
    }
    assert_eq!(one.plan(&case::vpc("hub", 0, "10.0.0.0/16")), Vec::<String>::new());
    let told = two.plan(&case::vpc("hub", 0, "10.1.0.0/16"));
    assert!(told.len() == 1 && told[0].contains("names must be unique"), "{told:?}");
}

/// Each process reads the live networks of its own region. Whoever comes second reports the conflict.
fn live_ranges_of_other_configurations_count() {
    let (one, two) = (case::alias("us-east-1"), case::alias("eu-west-1"));
    let live = |id: &str, net: &str, owner: Option<&str>| LiveRange {
        net: net.parse().unwrap(),
        usage: Usage::Network,
        kind: "warren_aws_vpc".into(),
        id: id.to_owned(),
        name: String::new(),
        owner: owner.map(str::to_owned),
        fabric: owner.map(|_| one.fabric.clone()),
        location: two.location.clone(),
        parent: None,
    };
    let there = [live("vpc-legacy", "10.1.0.0/16", None), live("vpc-own", "10.2.0.0/16", Some(&one.owner))];
    for reader_first in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (mut planner, mut reader) = (Process::start(folder.path()), Process::start(folder.path()));
        planner.configure(&one);
        reader.configure(&two);
        reader.live(&there);
        let mut told = Vec::new();
        let mut read = || told.extend(reader.plan(&case::vpc("there", 0, "10.9.0.0/16")));
        if reader_first {
            read();
        }
        let mut planned = planner.plan(&case::vpc("new", 0, "10.1.128.0/20"));
        planned.extend(planner.plan(&case::vpc("moved", 0, "10.2.0.0/16")));
        if !reader_first {
            read();
        }
        told.extend(planned);
        assert_eq!(told.len(), 1, "reader first: {reader_first}: {told:?}");
        for said in ["warren_aws_vpc \"new\"", "is inside 10.1.0.0/16 of live vpc-legacy", "eu-west-1"] {
            assert!(told[0].contains(said), "{said:?} in {told:?}");
        }
        // Nothing is reported twice, and the next run in this folder starts afresh.
        assert_eq!(reader.plan(&case::vpc("there", 0, "10.9.0.0/16")), Vec::<String>::new());
    }
}

fn only_file(folder: &Path) -> std::path::PathBuf {
    let private = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    std::fs::read_dir(private).unwrap().next().unwrap().unwrap().path()
}
