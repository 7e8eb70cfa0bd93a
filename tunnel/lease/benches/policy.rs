//! What a check of a flow costs: `cargo bench -p warren-lease`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use ipnet::IpNet;
use warren_lease::policy::{Flow, Policy, RateLimit};
use warren_wire::Name;
use warren_wire::gateway::{Allow, Group, PortRange, Protocol};

fn policy(c: &mut Criterion) {
    let mut group = c.benchmark_group("policy");
    for rules in [10_u32, 10_000] {
        let allow = (0..rules).map(|index| Allow {
            to: IpNet::new(Ipv4Addr::from(0x0a00_0000 + index * 256).into(), 24).into_iter().collect(),
            to_groups: Vec::new(),
            ports: (0..8).map(|port| PortRange::new(1000 + port * 10, 1005 + port * 10).ok()).collect(),
            protocols: None,
            direct: false,
        });
        let (name, rules_of): (Result<Name, _>, _) =
            ("gpu".parse(), Group { allow: allow.collect(), ..Group::default() });
        let Ok(name) = name else { return };
        let compiled = Policy::compile([(&name, &rules_of)]);
        let id = compiled.group(&name);
        let own = [IpAddr::from([10, 200, 0, 2])];
        let mut at = 0_u32;
        group.bench_function(format!("check against {rules} rules"), |b| {
            b.iter(|| {
                at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let destination = Ipv4Addr::from(0x0a00_0000 + at % (rules * 256)).into();
                let flow = Flow { source: own[0], destination, protocol: Protocol::Tcp, port: 1064 };
                compiled.check(id, &own, black_box(&flow)).is_ok()
            });
        });
    }
    let limit = RateLimit::new(u64::MAX, u64::MAX);
    group.bench_function("rate limit", |b| b.iter(|| limit.take(black_box(Duration::from_secs(1)), 1)));
    group.finish();
}

criterion_group!(benches, policy);
criterion_main!(benches);
