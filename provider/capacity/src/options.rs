//! What a link option means for the plan: times, utilisation, cost, and whether it fits.

use crate::formula;
use crate::plan::Demand;
use crate::prices::Item;
use crate::request::{Link, LinkKind, Place, Request, Store};
use crate::units::{BitRate, Bytes, Seconds, Share, Usd};
use serde::Serialize;

/// A link option of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OptionPlan {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: LinkKind,
    /// Its rate per direction.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
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
    /// The planned rate of each gateway in Mbit/s. Only WireGuard has gateways.
    pub planned_rate_mbit: Option<u64>,
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
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Tight => "tight",
            Self::Slow => "too slow",
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
    /// Traffic out of the cloud.
    #[serde(rename = "egress_usd")]
    pub egress: Usd,
    /// Ports, connections, tunnels, and gateways.
    #[serde(rename = "fixed_usd")]
    pub fixed: Usd,
    /// Both.
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
    }
    let planned = BitRate(demand.planned.0.div_ceil(link.gateways));
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
        peak_utilisation: Share(demand.peak.0 as f64 / link.rate.0 as f64),
        cost: cost(link, request, demand),
        planned_rate_mbit: (link.kind == LinkKind::Wireguard).then(|| planned.mbit()),
    }
}

fn carries(rate: BitRate, demand: &Demand, reasons: &mut Vec<String>) -> Verdict {
    let used = Share(demand.peak.0 as f64 / rate.0 as f64);
    if rate >= demand.planned {
        reasons.push(format!("{rate} covers the planned rate of {}", demand.planned));
        Verdict::Fits
    } else if rate >= demand.peak {
        reasons.push(format!(
            "the peak uses {used} of {rate}, so the planned rate of {} does not fit",
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

fn cost(link: &Link, request: &Request, demand: &Demand) -> Cost {
    let prices = &request.prices;
    let aws = request.store == Store::Aws;
    let internet = if aws { Item::AwsInternet } else { Item::GcpInternet };
    let units = |rate: u64| link.rate.0.div_ceil(rate * 1_000_000_000);
    let ports = |small: Item, large: Item| {
        let small = prices.month(small, units(10));
        let large = prices.month(large, units(100));
        if small <= large { small } else { large }
    };
    let (item, fixed) = match link.kind {
        LinkKind::CloudSync => (internet, Usd(0.0)),
        LinkKind::Wireguard => {
            let gateway = if aws { Item::AwsGateway } else { Item::GcpGateway };
            (internet, prices.month(gateway, link.gateways))
        }
        // AWS carries 1.25 Gbit/s on a tunnel, Google Cloud at least 1 Gbit/s, and wants two for availability.
        LinkKind::Vpn if aws => (internet, prices.month(Item::AwsVpn, link.rate.0.div_ceil(1_250_000_000))),
        LinkKind::Vpn => (internet, prices.month(Item::GcpVpn, units(1).max(2))),
        LinkKind::DirectConnect if link.rate.0 <= 1_000_000_000 => {
            (Item::AwsDirectConnect, prices.month(Item::AwsPort1g, 1))
        }
        LinkKind::DirectConnect => (Item::AwsDirectConnect, ports(Item::AwsPort10g, Item::AwsPort100g)),
        LinkKind::Interconnect => {
            let circuits = ports(Item::GcpPort10g, Item::GcpPort100g);
            let attachments = prices.month(Item::GcpAttachment, units(10));
            (Item::GcpInterconnect, Usd(circuits.0 + attachments.0))
        }
        LinkKind::RunpodGlobal => return Cost { egress: Usd(0.0), fixed: Usd(0.0), total: Usd(0.0) },
    };
    let egress = prices.traffic(item, demand.out_per_month);
    Cost { egress, fixed, total: Usd(egress.0 + fixed.0) }
}
