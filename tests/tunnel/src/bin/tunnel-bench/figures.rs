//! Medians and tables.

/// The median; of an even number the mean of the two in the middle. `None` of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

/// The median, with the smallest and the largest value if there are several.
pub(crate) fn spread(runs: &[f64]) -> Option<String> {
    let middle = cell(median(runs.iter().copied()), 3);
    let smallest = runs.iter().copied().min_by(f64::total_cmp)?;
    let largest = runs.iter().copied().max_by(f64::total_cmp)?;
    Some(if runs.len() == 1 { middle } else { format!("{middle} ({smallest:.3} to {largest:.3})") })
}

/// A number for a table; a dash where there is none.
pub(crate) fn cell(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Prints a Markdown table.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) {
    println!("| {} |", header.join(" | "));
    println!("|{}", "---|".repeat(header.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// Bytes as megabytes.
pub(crate) fn megabytes(bytes: u64) -> f64 {
    number(bytes) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spread() {
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]).as_deref(), Some("2.000 (1.000 to 3.000)"));
        assert_eq!(spread(&[1.0]).as_deref(), Some("1.000"));
        assert_eq!(spread(&[]), None);
    }
}
