use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;

use super::*;

/// The definition: the longest of the ranges that contain the address.
#[derive(Default)]
struct Oracle(Vec<(IpNet, u8)>);

impl Oracle {
    fn insert(&mut self, net: IpNet, owner: u8) -> Option<u8> {
        let old = self.remove(net);
        self.0.push((net.trunc(), owner));
        old
    }

    fn remove(&mut self, net: IpNet) -> Option<u8> {
        let at = self.0.iter().position(|(other, _)| *other == net.trunc())?;
        Some(self.0.swap_remove(at).1)
    }

    fn lookup(&self, address: IpAddr) -> Option<u8> {
        let within = self.0.iter().filter(|(net, _)| net.contains(&address));
        within.max_by_key(|(net, _)| net.prefix_len()).map(|(_, owner)| *owner)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(IpNet, u8),
    Remove(IpNet),
    Optimise,
    Lookup(IpAddr),
}

/// Addresses from few values, so that ranges nest and meet.
fn address() -> impl Strategy<Value = IpAddr> {
    let v4 = (prop_oneof![Just(10_u8), Just(11), Just(192), any::<u8>()], 0_u8..3, any::<u8>(), any::<u8>())
        .prop_map(|(a, b, c, d)| IpAddr::V4(Ipv4Addr::new(a, b, c, d)));
    let v6 = (0_u16..3, any::<u8>(), any::<u16>())
        .prop_map(|(a, b, c)| IpAddr::V6(Ipv6Addr::new(0xfd00, a, 0, 0, u16::from(b), 0, 0, c)));
    prop_oneof![3 => v4, 2 => v6]
}

fn net() -> impl Strategy<Value = IpNet> {
    (address(), 0_u8..=128).prop_map(|(address, length)| match address {
        IpAddr::V4(address) => IpNet::V4(Ipv4Net::new(address, length % 33).unwrap()),
        IpAddr::V6(address) => IpNet::V6(Ipv6Net::new(address, length).unwrap()),
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (net(), 0_u8..6).prop_map(|(net, owner)| Step::Insert(net, owner)),
        3 => net().prop_map(Step::Remove),
        1 => Just(Step::Optimise),
        4 => address().prop_map(Step::Lookup),
    ]
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (mut table, mut oracle) = (AllowedIps::new(), Oracle::default());
    let mut asked = Vec::new();
    for step in steps {
        match step {
            Step::Insert(net, owner) => prop_assert_eq!(table.insert(net, owner), oracle.insert(net, owner)),
            Step::Remove(net) => prop_assert_eq!(table.remove(net), oracle.remove(net)),
            Step::Optimise => table.optimise(),
            Step::Lookup(address) => {
                asked.push(address);
                prop_assert_eq!(table.lookup(address), oracle.lookup(address));
            }
        }
        prop_assert_eq!(table.len(), oracle.0.len());
    }
    table.optimise();
    let edges = oracle.0.iter().flat_map(|(net, _)| [net.network(), net.broadcast()]);
    for address in asked.into_iter().chain(edges) {
        prop_assert_eq!(table.lookup(address), oracle.lookup(address));
    }
    let mut left: Vec<_> = table.iter().collect();
    left.sort();
    oracle.0.sort();
    prop_assert_eq!(left, oracle.0);
    Ok(())
}

proptest! {
    #[test]
    fn agrees_with_the_definition(steps in prop::collection::vec(step(), 1..200)) {
        run(steps)?;
    }
}

#[test]
fn a_range_moves_to_its_new_owner() {
    let mut table = AllowedIps::new();
    let net: IpNet = "10.0.0.0/8".parse().unwrap();
    assert_eq!(table.insert(net, 1), None);
    assert_eq!(table.insert("10.9.9.9/8".parse().unwrap(), 2), Some(1));
    assert_eq!(table.len(), 1);
    assert_eq!(table.lookup("10.1.1.1".parse().unwrap()), Some(2));
    table.insert("0.0.0.0/0".parse().unwrap(), 3);
    table.insert("::/0".parse().unwrap(), 4);
    assert_eq!(table.lookup("255.255.255.255".parse().unwrap()), Some(3));
    assert_eq!(table.lookup("::".parse().unwrap()), Some(4));
    assert_eq!(table.remove(net), Some(2));
    assert_eq!(table.lookup("10.1.1.1".parse().unwrap()), Some(3));
}

#[test]
fn many_peers() {
    let mut table = AllowedIps::new();
    table.insert("0.0.0.0/0".parse().unwrap(), u32::MAX);
    for i in 0..10_000_u32 {
        table.insert(IpNet::from(IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + i * 3))), i);
    }
    for optimised in [false, true] {
        if optimised {
            table.optimise();
        }
        for i in 0..10_000_u32 {
            let base = 0x0a00_0000 + i * 3;
            assert_eq!(table.lookup(IpAddr::V4(Ipv4Addr::from(base))), Some(i));
            assert_eq!(table.lookup(IpAddr::V4(Ipv4Addr::from(base + 1))), Some(u32::MAX));
        }
    }
}
