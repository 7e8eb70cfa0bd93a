//! The price table of the documentation is that of the code.

use warren_capacity::prices::{DATE, Item, Price, Prices, TABLE, Unit};
use warren_capacity::units::Bytes;

const PAGE: &str = include_str!("../../../docs/capacity.md");
const GUIDE: &str = include_str!("../../../docs/guides/choosing.md");

/// A number with separators.
fn thousands(value: u64) -> String {
    if value < 1000 { value.to_string() } else { format!("{},{:03}", value / 1000, value % 1000) }
}

fn row(price: &Price) -> String {
    let unit = match price.unit {
        Unit::Gib => "GiB",
        Unit::Hour => "hour",
    };
    let tiers: Vec<String> = price
        .tiers
        .iter()
        .map(|(from, usd)| match from {
            0 => format!("{usd}"),
            from => format!("from {} {unit} {usd}", thousands(*from)),
        })
        .collect();
    let found = price.confirmed_by.unwrap_or_default();
    let found = match found.split_once(' ') {
        Some((url, note)) => format!("<{url}> {note}"),
        None if found.is_empty() => String::new(),
        None => format!("<{found}>"),
    };
    format!(
        "| `{}` | {} | {} | {unit} | [list]({}) | {found} |",
        price.key,
        price.what,
        tiers.join("; "),
        price.list
    )
}

#[test]
fn the_page_has_the_price_table() {
    let rows: Vec<String> = TABLE.iter().map(row).collect();
    let table = format!(
        "| Key | For | USD | Per | Vendor | Found in |\n|---|---|---|---|---|---|\n{}\n",
        rows.join("\n")
    );
    assert!(PAGE.contains(&format!("Price table of {DATE}")));
    assert!(PAGE.contains(&table), "docs/capacity.md needs this table:\n{table}");
}

/// The GiB a month from which a port of AWS costs less than traffic to the internet, rounded up to 10.
fn pays_off(prices: &Prices, port: Item) -> u64 {
    let cost = |item, gib: u64| prices.traffic(item, Bytes::from_gib(gib)).value();
    (0..10_000)
        .map(|tens| tens * 10)
        .find(|gib| {
            cost(Item::AwsInternet, *gib) > cost(Item::AwsDirectConnect, *gib) + prices.month(port, 1).value()
        })
        .expect("a port pays off")
}

/// The guide has the volumes from which a port pays off: with the tiers, and with the traffic that is free.
#[test]
fn the_guide_has_the_volumes_from_which_a_port_pays_off() {
    let prices = Prices::default();
    for (port, rate) in [(Item::AwsPort10g, "10 Gbit/s"), (Item::AwsPort1g, "1 Gbit/s")] {
        let gib = pays_off(&prices, port);
        let terabytes = (gib as f64 * 1.073_741_824 / 100.0).round() / 10.0;
        let sentence = format!("A port of {rate} pays off from {} GiB ({terabytes} TB)", thousands(gib));
        assert!(GUIDE.contains(&sentence), "docs/guides/choosing.md needs: {sentence}");
    }
    let node = format!(
        "More than about {:.0} TB<br>out of the cloud a month?",
        pays_off(&prices, Item::AwsPort10g) as f64 * 1.073_741_824e-3
    );
    assert!(GUIDE.contains(&node), "docs/guides/choosing.md needs: {node}");
    let month = |item| prices.month(item, 1).value();
    for (item, text) in [
        (Item::AwsGateway, "about $83 per gateway"),
        (Item::AwsVpn, "about $37 per connection"),
        (Item::AwsPort1g, "$219 to"),
        (Item::AwsPort100g, "to $16,425 per port"),
    ] {
        let usd = thousands(month(item).round() as u64);
        assert!(GUIDE.contains(text) && text.contains(&format!("${usd}")), "{text}: {usd}");
    }
}
