//! What a link option means for the plan: times, utilisation, cost, and whether it fits.

use crate::formula;
use crate::plan::Demand;
use crate::prices::{HOURS, Item};
use crate::request::{Link, LinkKind, Place, Request, Store};
use crate::units::{Bytes, LinkRate, Seconds, Share, Usd};
use serde::Serialize;

/// A link option of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OptionPlan {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: LinkKind,
    /// Its rate per direction, of all gateways together.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: LinkRate,
    /// Whether the rate is an assumption or documented default, and not given.
    pub rate_is_default: bool,
    /// Whether it fits.
    pub verdict: Verdict,
    /// Why.
    pub reasons: Vec<String>,
    /// Each transfer alone on the link.
    pub transfers: Vec<Transfer>,
    /// The time of all datasets, one after the other.
    #[serde(rename = "datasets_seconds")]
    pub datasets: Seconds,
    /// The part of the time that training waits for checkpoints.
    pub lost_to_checkpoints: Option<Share>,
    /// The part of the rate that the peak uses. Above 1, the transfers are late.
    pub peak_utilisation: Share,
    /// What it costs in a month.
    pub cost: Cost,
    /// The planned rate of each gateway in Mbit/s, as its metrics count. Only WireGuard has gateways.
    pub planned_rate_mbit: Option<u64>,
    /// The planned rate of each pod's agent in Mbit/s, as its metrics count. None if the number of pods is not known.
    pub agent_planned_rate_mbit: Option<u64>,
}

/// Whether an option fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It carries the planned rate.
    Fits,
    /// It carries the peak, and breaks the 70 % rule or has too little headroom.
    Tight,
    /// It carries less than the peak.
    Slow,
    /// It cannot be used here.
    Unusable,
}

impl Verdict {
    /// The term in every output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Tight => "tight",
            Self::Slow => "slow",
            Self::Unusable => "unusable",
        }
    }
}

/// A transfer over a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transfer {
    /// Name of the dataset, or `checkpoint`.
    pub name: String,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// The time it needs.
    #[serde(rename = "time_seconds")]
    pub time: Seconds,
    /// The time it may take.
    #[serde(rename = "within_seconds")]
    pub within: Seconds,
}

impl Transfer {
    /// Whether it ends in time, if it is alone on the link.
    pub fn on_time(&self) -> bool {
        self.time <= self.within
    }
}

/// Cost of a month.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Traffic out of the cloud, also through a transit gateway.
    #[serde(rename = "egress_usd")]
    pub egress: Usd,
    /// Ports, connections, tunnels, and gateways.
    #[serde(rename = "fixed_usd")]
    pub fixed: Usd,
    /// The time that training waits for checkpoints, if an hour of it has a price.
    #[serde(rename = "waiting_usd")]
    pub waiting: Usd,
    /// All of them.
    #[serde(rename = "total_usd")]
    pub total: Usd,
}

/// Computes an option.
pub(crate) fn option(name: &str, link: &Link, request: &Request, demand: &Demand) -> OptionPlan {
    let (mut transfers, mut datasets) = (Vec::new(), 0.0);
    for (name, dataset) in &request.datasets {
        let time = dataset.size.time_at(link.rate);
        datasets += time.0;
        transfers.push(Transfer { name: name.clone(), size: dataset.size, time, within: dataset.within });
    }
    let mut lost = None;
    if let Some(checkpoint) = &request.checkpoint {
        let time = checkpoint.size.time_at(link.rate);
        lost = Some(formula::lost(checkpoint.pause.unwrap_or(time), checkpoint.interval));
        let within = checkpoint.upload_within;
        transfers.push(Transfer { name: "checkpoint".to_owned(), size: checkpoint.size, time, within });
    }
    let mut reasons = Vec::new();
    let verdict = match unusable(link.kind, request) {
        Some(why) => {
            reasons.push(why.to_owned());
            Verdict::Unusable
        }
        None => carries(link.rate, demand, &mut reasons),
    };
    if verdict != Verdict::Unusable {
        reasons.push(property(link.kind).to_owned());
        if link.kind == LinkKind::Vpn && request.store == Store::Aws && connections(link.rate) > 1 {
            reasons.push("above 1.25 Gbit/s, several connections share a transit gateway".to_owned());
        }
    }
    let is_wireguard = link.kind == LinkKind::Wireguard;
    let planned = |among| formula::planned_mbit(demand.planned, link.rate, among);
    let gateway = is_wireguard.then(|| planned(link.gateways)).flatten();
    if is_wireguard && gateway.is_none() {
        reasons.push("a gateway carries less than 1 Mbit/s, so it has no planned rate".to_owned());
    } else if is_wireguard && link.rate.rate() < demand.planned {
        reasons
            .push("the planned rate of its gateways is what they carry, so that alerts can fire".to_owned());
    }
    OptionPlan {
        name: name.to_owned(),
        kind: link.kind,
        rate: link.rate,
        rate_is_default: link.assumed,
        verdict,
        reasons,
        transfers,
        datasets: Seconds(datasets),
        lost_to_checkpoints: lost,
        peak_utilisation: demand.peak.of(link.rate),
        cost: cost(link, request, demand, lost),
        planned_rate_mbit: gateway,
        agent_planned_rate_mbit: request.pods.filter(|_| is_wireguard).and_then(planned),
    }
}

fn carries(rate: LinkRate, demand: &Demand, reasons: &mut Vec<String>) -> Verdict {
    if rate.rate() >= demand.planned {
        reasons.push(format!("{rate} covers the planned rate of {}", demand.planned));
        Verdict::Fits
    } else if rate.rate() >= demand.peak {
        reasons.push(format!(
            "the peak uses {} of {rate}, so the planned rate of {} does not fit",
            demand.peak.of(rate),
            demand.planned
        ));
        Verdict::Tight
    } else {
        reasons.push(format!("the peak needs {}, and the link carries {rate}", demand.peak));
        Verdict::Slow
    }
}

/// Why a kind of link cannot be used, if so.
fn unusable(kind: LinkKind, request: &Request) -> Option<&'static str> {
    match (kind, request.place) {
        (LinkKind::RunpodGlobal, _) => Some("it connects pods with each other, not with a cloud"),
        (LinkKind::CloudSync, _) if request.private => {
            Some("it copies buckets, and reaches no private services or names")
        }
        (LinkKind::CloudSync, Place::Site) => Some("it works for volumes of RunPod only"),
        (LinkKind::Vpn | LinkKind::DirectConnect | LinkKind::Interconnect, Place::Rented) => {
            Some("it ends at a router of your own, which rented pods do not have")
        }
        _ => None,
    }
}

fn property(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::CloudSync => {
            "nothing to run; copies whole folders over the internet with a bucket credential in RunPod"
        }
        LinkKind::Wireguard => "reaches private services and names, also from pods without privileges",
        LinkKind::Vpn => "managed by the cloud; each connection has two tunnels",
        LinkKind::DirectConnect | LinkKind::Interconnect => {
            "cheaper traffic and a constant rate; ordered weeks ahead"
        }
        LinkKind::RunpodGlobal => "",
    }
}

/// Connections of an AWS VPN: one carries 1.25 Gbit/s.
fn connections(rate: LinkRate) -> u64 {
    rate.0.get().div_ceil(1_250_000_000)
}

fn cost(link: &Link, request: &Request, demand: &Demand, lost: Option<Share>) -> Cost {
    let prices = &request.prices;
    let aws = request.store == Store::Aws;
    let internet =
        prices.traffic(if aws { Item::AwsInternet } else { Item::GcpInternet }, demand.out_per_month);
    let units = |gigabits: u64| link.rate.0.get().div_ceil(gigabits * 1_000_000_000);
    // Of equal prices, the larger port: one port is simpler than ten.
    let ports = |small: Item, large: Item| {
        let small = prices.month(small, units(10));
        let large = prices.month(large, units(100));
        if small < large { small } else { large }
    };
    let dedicated = |item: Item| prices.traffic(item, demand.out_per_month);
    let (egress, fixed) = match link.kind {
        LinkKind::CloudSync => (internet, Usd(0.0)),
        LinkKind::Wireguard => {
            let gateway = if aws { Item::AwsGateway } else { Item::GcpGateway };
            (internet, prices.month(gateway, link.gateways.get()))
        }
        // A virtual private gateway uses one connection at a time. A transit gateway shares traffic among several, and is
        // attached to each of them and to the VPC.
        LinkKind::Vpn if aws && connections(link.rate) > 1 => {
            let count = connections(link.rate);
            let transit = prices.traffic(Item::AwsTransit, demand.out_per_month);
            let attachments = prices.month(Item::AwsTransitAttachment, count + 1);
            let fixed = Usd(prices.month(Item::AwsVpn, count).0 + attachments.0);
            (Usd(internet.0 + transit.0), fixed)
        }
        LinkKind::Vpn if aws => (internet, prices.month(Item::AwsVpn, 1)),
        // A tunnel of Google Cloud carries at least 1 Gbit/s, and availability takes two.
        LinkKind::Vpn => (internet, prices.month(Item::GcpVpn, units(1).max(2))),
        LinkKind::DirectConnect if link.rate.0.get() <= 1_000_000_000 => {
            (dedicated(Item::AwsDirectConnect), prices.month(Item::AwsPort1g, 1))
        }
        LinkKind::DirectConnect => {
            (dedicated(Item::AwsDirectConnect), ports(Item::AwsPort10g, Item::AwsPort100g))
        }
        LinkKind::Interconnect => {
            let circuits = ports(Item::GcpPort10g, Item::GcpPort100g);
            let attachments = prices.month(Item::GcpAttachment, units(10));
            (dedicated(Item::GcpInterconnect), Usd(circuits.0 + attachments.0))
        }
        LinkKind::RunpodGlobal => (Usd(0.0), Usd(0.0)),
    };
    let hour = request.checkpoint.as_ref().and_then(|checkpoint| checkpoint.hour);
    let waiting = Usd(hour.map_or(0.0, |hour| hour.0) * lost.map_or(0.0, |share| share.0) * HOURS);
    Cost { egress, fixed, waiting, total: Usd(egress.0 + fixed.0 + waiting.0) }
}
