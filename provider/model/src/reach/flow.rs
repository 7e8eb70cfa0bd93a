//! Connections: packets there, replies back, and the filters on both paths.

use super::walk::{End, Gate, Goal, Kind, Walk, nat_address, walk};
use super::{Answer, Hop, Lists, RANGE_UNKNOWN, Reason, Side, Way, acl, filter};
use crate::topology::{Protocol, Subnet};
use std::net::IpAddr;

impl<'a> Lists<'a> {
    pub(super) fn between(&self, from: &Side<'a>, to: &Side<'a>, protocol: Protocol) -> Answer {
        if from.subnet.ranges.is_empty() || to.subnet.ranges.is_empty() {
            return Answer::no(Vec::new(), Reason::unknown(RANGE_UNKNOWN));
        }
        let mut last = None;
        for a in self.addresses(from) {
            for b in self.addresses(to).into_iter().filter(|b| b.is_ipv4() == a.is_ipv4() && from.permits(*b))
            {
                for (near, far) in self.tags(from, to) {
                    let answer = self.packet((from, a, &near), (to, b, &far), protocol);
                    if answer.reached {
                        return answer;
                    }
                    last.get_or_insert(answer);
                }
            }
        }
        last.unwrap_or_else(|| {
            Answer::no(Vec::new(), "source and destination have no address family in common")
        })
    }

    /// The tags to try for two sides.
    fn tags(&self, from: &Side<'_>, to: &Side<'_>) -> Vec<(Vec<String>, Vec<String>)> {
        let far = self.tags_of(to);
        self.tags_of(from)
            .into_iter()
            .flat_map(|near| far.iter().map(move |far| (near.clone(), far.clone())))
            .collect()
    }

    /// One packet and its reply.
    fn packet(
        &self,
        (from, a, near): (&Side<'a>, IpAddr, &[String]),
        (to, b, far): (&Side<'a>, IpAddr, &[String]),
        protocol: Protocol,
    ) -> Answer {
        let there = walk(self, &from.sends(a, near), Goal::address(b));
        let mut hops = there.hops.clone();
        match &there.end {
            End::Subnet(key) if *key == to.subnet.head.key => {}
            End::Subnet(key) => {
                return Answer::no(hops, format!("on this path, {b} is in subnet {}", self.all.name(key)));
            }
            End::Internet | End::Endpoint(_) => {
                return Answer::no(hops, format!("traffic to {b} goes to the internet"));
            }
            End::Dropped(why) => {
                let between = self.between_peers(from.subnet, to.subnet);
                let explained = between.map(|it| why.reworded(|why| format!("{why}; {it}")));
                return Answer::no(hops, explained.unwrap_or_else(|| why.clone()));
            }
        }
        let blocked = filter::leaves(self, from, (to.groups.unwrap_or_default(), b), protocol)
            // Behind NAT, group membership is lost.
            .or_else(|| {
                filter::enters(self, Some(from).filter(|_| there.source.1 == a), there.source.1, to, protocol)
            });
        if let Some(why) = blocked {
            return Answer::no(hops, why);
        }
        // Return path: to the source that the receiver saw, then from each NAT to the address that it translated.
        let reply = Side { public: false, ..Side::of(to.name, to.subnet) };
        let back = walk(self, &reply.sends(b, far), Goal::address(there.source.1));
        let mut gates = back.gates.clone();
        let returned = match arrived(back, &there.source.0) {
            Ok(()) => self.way_home(&there, b, &mut gates),
            Err(failure) => Err(failure),
        };
        if let Err((back, why)) = returned {
            hops.extend(back.into_iter().map(|hop| Hop { text: format!("return: {}", hop.text), ..hop }));
            return Answer::no(hops, why.reworded(|why| format!("no return path: {why}")));
        }
        match acl::blocks(self, &there.gates, &gates, protocol) {
            Some(why) => Answer::no(hops, why),
            None => Answer { reached: true, way: Way::Network, hops, why: None, hint: None },
        }
    }

    /// The way of replies from each NAT to the sender that it translated, in reverse order. Collects the subnets that they
    /// enter and leave; their source is the far end.
    fn way_home(
        &self,
        there: &Walk<'a>,
        far: IpAddr,
        gates: &mut Vec<Gate<'a>>,
    ) -> Result<(), (Vec<Hop>, Reason)> {
        for (nat, behind, address) in there.nat.iter().rev() {
            // Google's NAT is in no subnet, and returns replies to the sender itself.
            let Some(nat) = self.all.subnets.get(nat).filter(|it| !it.head.home.filters_by_network()) else {
                continue;
            };
            let Some(own) = nat_address(nat) else { continue };
            let back = walk(self, &Side::of(&nat.head.name, nat).sends(own, &[]), Goal::address(*address));
            gates.extend(
                back.gates
                    .iter()
                    .map(|gate| Gate { peer: if gate.peer == own { far } else { gate.peer }, ..*gate }),
            );
            arrived(back, behind)?;
        }
        Ok(())
    }

    /// Explains two networks that are connected only through two peerings in a row, which do not forward by design.
    fn between_peers(&self, from: &Subnet, to: &Subnet) -> Option<String> {
        let (from, to) = (from.network.as_deref()?, to.network.as_deref()?);
        let (mine, theirs) = (self.peers.get(from)?, self.peers.get(to)?);
        let hub = mine.intersection(theirs).next().filter(|_| !mine.contains(to))?;
        let [from, to, hub] = [from, to, hub].map(|key| self.all.name(key));
        Some(format!("{from} and {to} are both peered with {hub}, and peering is not transitive"))
    }

    pub(super) fn outbound(&self, from: &Side<'a>, protocol: Protocol) -> Answer {
        self.public_addresses(from, Kind::Public, protocol)
    }

    /// A connection to public addresses: those of any host, or those of a service.
    pub(super) fn public_addresses(&self, from: &Side<'a>, kind: Kind<'_>, protocol: Protocol) -> Answer {
        let mut last = None;
        for a in self.addresses(from) {
            for b in self.addresses_of(kind, |b| b.is_ipv4() == a.is_ipv4() && from.permits(*b)) {
                for tags in self.tags_of(from) {
                    let answer = self.leaving(from, (a, &tags), Goal { address: b, kind }, protocol);
                    if answer.reached {
                        return answer;
                    }
                    last.get_or_insert(answer);
                }
            }
        }
        last.unwrap_or_else(|| Answer::no(Vec::new(), Reason::unknown(RANGE_UNKNOWN)))
    }

    /// One packet to a public address and its reply.
    pub(super) fn leaving(
        &self,
        from: &Side<'a>,
        (a, tags): (IpAddr, &[String]),
        goal: Goal<'_>,
        protocol: Protocol,
    ) -> Answer {
        let there = walk(self, &from.sends(a, tags), goal);
        let way = match &there.end {
            End::Internet => Way::Internet,
            End::Endpoint(_) => Way::Endpoint,
            End::Dropped(why) => return Answer::no(there.hops.clone(), why.clone()),
            End::Subnet(_) => return Answer::no(there.hops, "the traffic stays inside the network"),
        };
        // Replies arrive where the last packet left.
        let mut gates: Vec<Gate<'a>> = there.gates.last().map(|gate| gate.mirrored()).into_iter().collect();
        if let Err((_, why)) = self.way_home(&there, goal.address, &mut gates) {
            return Answer::no(there.hops, why.reworded(|why| format!("no return path from NAT: {why}")));
        }
        if let Some(why) = filter::leaves(self, from, (&[], goal.address), protocol) {
            return Answer::no(there.hops, why);
        }
        match acl::blocks(self, &there.gates, &gates, protocol) {
            Some(why) => Answer::no(there.hops, why),
            None => Answer { reached: true, way, hops: there.hops, why: None, hint: None },
        }
    }

    /// From the internet to a public address, if replies leave through an internet gateway.
    pub(super) fn inbound(&self, to: &Side<'a>, protocol: Protocol) -> Answer {
        let target = to.subnet;
        if !to.public {
            let why = format!("no host in subnet {} has a public address", target.head.name);
            return Answer::no(Vec::new(), why);
        }
        let mut why = Reason::unknown(RANGE_UNKNOWN);
        for a in self.addresses(to) {
            for b in self.addresses_of(Kind::Public, |b| b.is_ipv4() == a.is_ipv4()) {
                for tags in self.tags_of(to) {
                    let back = walk(self, &to.sends(a, &tags), Goal::address(b));
                    let gates: Vec<Gate<'a>> = back.gates.iter().map(Gate::mirrored).collect();
                    why = match back.end {
                        End::Internet if back.nat.is_empty() => {
                            let blocked = filter::enters(self, None, b, to, protocol).map(Reason::from);
                            match blocked.or_else(|| acl::blocks(self, &gates, &back.gates, protocol)) {
                                None => {
                                    let mut hops = back.hops;
                                    hops.reverse();
                                    return Answer {
                                        reached: true,
                                        way: Way::Internet,
                                        hops,
                                        why: None,
                                        hint: None,
                                    };
                                }
                                Some(why) => why,
                            }
                        }
                        End::Internet | End::Endpoint(_) => "replies leave through NAT".into(),
                        End::Dropped(why) => why,
                        End::Subnet(_) => "replies stay inside the network".into(),
                    };
                }
            }
        }
        Answer::no(Vec::new(), why)
    }
}

/// Whether a reply arrived in the subnet; otherwise its path and the reason.
fn arrived(back: Walk<'_>, subnet: &str) -> Result<(), (Vec<Hop>, Reason)> {
    let why = match back.end {
        // It knows the connections that were opened through it, not those of their replies.
        End::Subnet(_) if !back.nat.is_empty() => {
            "the replies pass a NAT gateway that knows no such connection".into()
        }
        End::Subnet(key) if key == subnet => return Ok(()),
        End::Dropped(why) => why,
        _ => "the replies arrive elsewhere".into(),
    };
    Err((back.hops, why))
}
