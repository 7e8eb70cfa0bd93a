//! What a finding says about ranges.

use crate::bond::Bond;
use crate::hints::Hint;
use crate::table::{Pair, Table};
use crate::{Finding, Rule, Severity, Side};
use warren_cidr::{IpNet, Moves, Relation, Why};

impl Table<'_> {
    fn side(&self, index: usize) -> Side {
        let label = &self.ranges[index].label;
        Side {
            name: label.name.clone(),
            owner: label.owner.clone(),
            net: Some(self.ranges[index].net),
            site: self.facts[index].site.clone(),
        }
    }

    pub(crate) fn overlap(&self, pair: &Pair, movable: usize, hint: Hint) -> Finding {
        let Pair { left, right, relation, why, severity } = *pair;
        let other = if movable == left { right } else { left };
        let verb = match relation {
            Relation::Equal => "has the same range as",
            Relation::Contains if movable == left => "contains",
            Relation::Contains => "is inside",
        };
        let bond = self.bond(left, right);
        let siblings =
            self.facts[left].subnet.is_some() && self.facts[left].subnet == self.facts[right].subnet;
        let apart = bond == Bond::Apart;
        let (rule, detail) = match why {
            Why::BothOccupy | Why::BothReserve if siblings => {
                (Rule::SubnetOverlap, "both are subnets of the same network")
            }
            Why::BothOccupy if bond == Bond::Network => {
                (Rule::Overlap, "both are ranges of the same network")
            }
            Why::BothOccupy if matches!(bond, Bond::Hidden { .. }) => {
                (Rule::Overlap, "both use these addresses, so they cannot be in one network, or connected")
            }
            Why::BothOccupy if apart => {
                (Rule::Overlap, "both use these addresses, so they cannot be connected later")
            }
            Why::BothOccupy => (
                Rule::Overlap,
                "both use these addresses, and a fabric can route an address to one network only",
            ),
            Why::BothReserve => (Rule::Overlap, "both reserve these addresses"),
            Why::ForeignReservation => (Rule::ForeignReservation, "another owner reserved the range"),
            Why::BeyondOwnReservation => (
                Rule::BeyondReservation,
                "the network is larger than the address plan entry that reserves its range",
            ),
            Why::Reserved if bond == Bond::Network => {
                (Rule::Reserved, "a network may not use the range of its own services or VPN clients")
            }
            Why::Reserved if matches!(bond, Bond::Hidden { .. }) => (
                Rule::Reserved,
                "services or VPN clients use it, so their network and connected ones must not",
            ),
            Why::Reserved if apart => (
                Rule::Reserved,
                "services or VPN clients of another network use it, so they cannot be connected later",
            ),
            Why::Reserved if bond != Bond::Entry => {
                (Rule::Reserved, "services or VPN clients of a connected network use it")
            }
            Why::Reserved => (Rule::Reserved, "no network may use a reserved range"),
        };
        let name = |index: usize| format!("{} ({})", self.ranges[index].label.name, self.ranges[index].net);
        let Hint { mut text, reason } = hint;
        if why == Why::ForeignReservation {
            let own = "if one team owns both files, set the same owner for each with `--owner NAME=FILE`";
            text = Some(text.map_or_else(|| own.to_owned(), |free| format!("{free}; {own}")));
        }
        let mut detail = detail.to_owned();
        for line in [self.tie(left, right), reason].into_iter().flatten() {
            detail.push('\n');
            detail.push_str(&line);
        }
        Finding {
            severity,
            rule,
            sides: vec![self.side(movable), self.side(other)],
            message: format!("{} {verb} {}", name(movable), name(other)),
            detail,
            hint: text,
        }
    }

    pub(crate) fn outsider(&self, child: usize, parents: &[usize], moves: &Moves<'_>) -> Finding {
        let net = self.ranges[child].net;
        let mut nets: Vec<IpNet> = parents.iter().map(|&index| self.ranges[index].net).collect();
        nets.sort();
        nets.dedup();
        let free = Some(moves.after(child)).filter(|free| *free != net);
        let listed: Vec<String> = nets.iter().map(ToString::to_string).collect();
        let (severity, detail) = if self.facts[child].live {
            (
                Severity::Warning,
                "the subnet already exists, so its network must have a range that is not in the files",
            )
        } else {
            (Severity::Error, "one of the ranges of its network must contain the subnet")
        };
        let sides = std::iter::once(child).chain(parents.iter().copied()).map(|index| self.side(index));
        Finding {
            severity,
            rule: Rule::OutsideParent,
            sides: sides.collect(),
            message: format!(
                "{} ({net}) is outside its network, which has {}",
                self.ranges[child].label.name,
                listed.join(", ")
            ),
            detail: match moves.why_not(child).filter(|_| free.is_none()) {
                Some(why) => format!("{detail}\nno range is proposed: {why}"),
                None => detail.to_owned(),
            },
            hint: free.map(|net| format!("use {net}, the nearest free range of this size in the network")),
        }
    }
}
