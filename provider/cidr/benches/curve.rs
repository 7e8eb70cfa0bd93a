//! Cost of the overlap report and of planning as the input grows, beside other crates on the same input.
//!
//! `cargo bench -p warren-cidr` prints the curves and the ratios, then criterion's statistics. With `--lines` it prints
//! `what n seconds` for comparison with other languages and stops; a word after it (`--lines plan`) chooses one kind.

use criterion::{BenchmarkId, Criterion};
use prefix_trie::PrefixMap;
use std::hint::black_box;
use std::time::Duration;
use warren_cidr::{Bound, IpNet, Ipv4Net, NetworkRequest, Request, Want, merge, overlaps, solve};

/// The same sequence as in the Python comparison: `x = x * 6364136223846793005 + 1442695040888963407`, high 32 bits.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }
}

/// `n` ranges from /20 to /32 anywhere.
fn ranges(n: usize) -> Vec<IpNet> {
    let mut sequence = Sequence(1);
    (0..n)
        .map(|_| {
            let prefix = 20 + (sequence.next() % 13) as u8;
            IpNet::V4(Ipv4Net::new_assert(sequence.next().into(), prefix)).trunc()
        })
        .collect()
}

/// The same for IPv6: /40 to /64.
fn ranges_v6(n: usize) -> Vec<IpNet> {
    let mut sequence = Sequence(2);
    (0..n)
        .map(|_| {
            let prefix = 40 + (sequence.next() % 25) as u8;
            let high = u128::from(sequence.next()) << 64 | u128::from(sequence.next()) << 96;
            IpNet::new(std::net::Ipv6Addr::from(high).into(), prefix).expect("prefix is at most 64").trunc()
        })
        .collect()
}

/// `n` networks from /26 to /30 of one pool.
fn request(n: usize) -> Request {
    let mut sequence = Sequence(3);
    let mut request = Request::default();
    request.pools.insert("all".into(), vec!["10.0.0.0/8".parse().expect("a range")]);
    for i in 0..n {
        let prefix = 26 + (sequence.next() % 5) as u8;
        request.networks.insert(format!("n{i:06}"), NetworkRequest::new(&["all"], Want::Prefix(prefix)));
    }
    request
}

/// Median seconds of five runs, as [`once`] counts them.
fn seconds<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..5).map(|_| once(&mut work)).collect();
    times.sort_unstable_by(f64::total_cmp);
    times[2]
}

/// Seconds that the processor was at work in one run: on a shared machine the clock on the wall counts the others too. All
/// that is measured here runs on one thread.
fn once<T>(mut work: impl FnMut() -> T) -> f64 {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    black_box(work());
    now() - start
}

fn v4(nets: &[IpNet]) -> Vec<Ipv4Net> {
    nets.iter().filter_map(|net| if let IpNet::V4(net) = net { Some(*net) } else { None }).collect()
}

/// Every pair by a radix trie: each range is looked up along the path of its prefixes.
fn pairs_by_trie(nets: &[Ipv4Net]) -> u64 {
    let mut map: PrefixMap<Ipv4Net, Vec<u32>> = PrefixMap::new();
    for (index, net) in nets.iter().enumerate() {
        match map.get_mut(net) {
            Some(list) => list.push(index as u32),
            None => {
                map.insert(*net, vec![index as u32]);
            }
        }
    }
    let mut pairs = 0;
    for (net, list) in &map {
        let all: usize = map.cover(&net).map(|(_, list)| list.len()).sum();
        let outer = (all - list.len()) as u64;
        pairs += outer * list.len() as u64 + (list.len() * (list.len() - 1) / 2) as u64;
    }
    pairs
}

fn pairs_by_pairs(nets: &[Ipv4Net]) -> u64 {
    let mut pairs = 0;
    for (i, a) in nets.iter().enumerate() {
        pairs += nets[i + 1..].iter().filter(|b| a.contains(*b) || b.contains(a)).count() as u64;
    }
    pairs
}

/// First fit over sorted neighbours, each new range compared with all: what a script does with a range library.
fn plan_by_pairs(request: &Request) -> usize {
    let pool: Ipv4Net = "10.0.0.0/8".parse().expect("a range");
    let mut placed: Vec<Ipv4Net> = Vec::new();
    for network in request.networks.values() {
        let Want::Prefix(prefix) = network.want else { continue };
        let free = pool.subnets(prefix).ok().and_then(|mut all| {
            all.find(|net| !placed.iter().any(|other| other.contains(net) || net.contains(other)))
        });
        placed.extend(free);
    }
    placed.len()
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn curves() {
    println!("overlap report, IPv4 (all pairs listed)");
    println!(
        "{:>9} {:>10} {:>12} {:>9} | {:>9} {:>9} {:>9} {:>9}",
        "n", "ms", "ns/(n log n)", "pairs", "trie x", "merge x", "iprange x", "pairs x"
    );
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        let nets = ranges(n);
        let plain = v4(&nets);
        let ours =
            seconds(|| overlaps(&nets).pairs().fold(0u64, |sum, pair| sum + 1 + (pair.0 == pair.1) as u64));
        let count = overlaps(&nets).count();
        assert_eq!(count, pairs_by_trie(&plain), "the trie finds the same pairs");
        let trie = seconds(|| pairs_by_trie(&plain));
        let aggregate = seconds(|| Ipv4Net::aggregate(&plain));
        let range = seconds(|| {
            let mut set: iprange::IpRange<Ipv4Net> = plain.iter().copied().collect();
            set.simplify();
            set
        });
        let pairwise = if n <= 10_000 {
            format!("{:.0}", seconds(|| pairs_by_pairs(&plain)) / ours)
        } else {
            "-".into()
        };
        println!(
            "{n:>9} {:>10.3} {:>12.3} {count:>9} | {:>9.1} {:>9.1} {:>9.1} {pairwise:>9}",
            ours * 1e3,
            ours * 1e9 / (n as f64 * (n as f64).log2()),
            trie / ours,
            aggregate / ours,
            range / ours
        );
    }
    println!("overlap report, IPv6");
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        let nets = ranges_v6(n);
        let ours = seconds(|| overlaps(&nets).pairs().count());
        println!("{n:>9} {:>10.3} {:>12.3}", ours * 1e3, ours * 1e9 / (n as f64 * (n as f64).log2()));
    }
    println!("merge: the same ranges in and out; then ipnet with IPv4 unpacked beforehand");
    println!("{:>9} {:>10} {:>12} | {:>9} {:>9}", "n", "ms", "ns/(n log n)", "ipnet x", "unpacked x");
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        let nets = ranges(n);
        let plain = v4(&nets);
        assert_eq!(merge(&nets), IpNet::aggregate(&nets), "ipnet merges to the same blocks");
        let ours = seconds(|| merge(&nets));
        let (aggregate, unpacked) =
            (seconds(|| IpNet::aggregate(&nets)), seconds(|| Ipv4Net::aggregate(&plain)));
        println!(
            "{n:>9} {:>10.3} {:>12.3} | {:>9.1} {:>9.1}",
            ours * 1e3,
            ours * 1e9 / (n as f64 * (n as f64).log2()),
            aggregate / ours,
            unpacked / ours
        );
    }
    println!("plan");
    for n in [1_000, 10_000, 100_000] {
        let request = request(n);
        let ours = seconds(|| solve(&request, Bound::default()).expect("it fits"));
        let mut again = request.clone();
        again.previous = solve(&request, Bound::default()).expect("it fits").networks;
        let held = seconds(|| solve(&again, Bound::default()).expect("it fits"));
        // Once: the comparison takes seconds.
        let pairwise =
            if n <= 1_000 { format!("{:.0}", once(|| plan_by_pairs(&request)) / ours) } else { "-".into() };
        println!(
            "{n:>9} {:>10.3} {:>12.3} again {:>10.3} | pairwise x {pairwise}",
            ours * 1e3,
            ours * 1e9 / (n as f64 * (n as f64).log2()),
            held * 1e3
        );
    }
}

/// Prints `what n seconds`; of one kind only if `only` names it.
#[expect(clippy::print_stdout, reason = "read by the comparison with other languages")]
fn lines(only: Option<&str>) {
    let wanted = |what: &str| only.is_none_or(|only| only == what);
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        let (v4, v6) = (ranges(n), ranges_v6(n));
        if wanted("overlaps") {
            println!("overlaps {n} {}", seconds(|| overlaps(&v4).pairs().count()));
            println!("pairs {n} {}", overlaps(&v4).count());
        }
        if wanted("overlaps6") {
            println!("overlaps6 {n} {}", seconds(|| overlaps(&v6).pairs().count()));
        }
        if wanted("merge") {
            println!("merge {n} {}", seconds(|| merge(&v4)));
        }
        if wanted("ipnet") {
            println!("ipnet {n} {}", seconds(|| IpNet::aggregate(&v4)));
        }
    }
    for n in [1_000, 10_000, 100_000] {
        let mut request = request(n);
        if wanted("plan") {
            println!("plan {n} {}", seconds(|| solve(&request, Bound::default()).expect("it fits")));
        }
        if wanted("replan") {
            request.previous = solve(&request, Bound::default()).expect("it fits").networks;
            println!("replan {n} {}", seconds(|| solve(&request, Bound::default()).expect("it fits")));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the arguments choose the output")]
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--lines") {
        return lines(arguments.get(at + 1).map(String::as_str).filter(|word| !word.starts_with('-')));
    }
    curves();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let mut group = criterion.benchmark_group("overlaps");
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        let nets = ranges(n);
        group.bench_with_input(BenchmarkId::from_parameter(n), &nets, |bench, nets| {
            bench.iter(|| overlaps(nets).count());
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("plan");
    for n in [1_000, 10_000, 100_000] {
        let request = request(n);
        group.bench_with_input(BenchmarkId::from_parameter(n), &request, |bench, request| {
            bench.iter(|| solve(request, Bound::default()));
        });
    }
    group.finish();
}
