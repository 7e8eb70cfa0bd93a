//! The price table of the documentation is that of the code.

use warren_capacity::prices::{DATE, Price, TABLE, Unit};

const PAGE: &str = include_str!("../../../docs/capacity.md");

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
    assert!(PAGE.contains(&format!("List prices of {DATE}")));
    assert!(PAGE.contains(&table), "docs/capacity.md needs this table:\n{table}");
}
