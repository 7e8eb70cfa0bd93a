//! How shares depend on the seed: quantiles of BBR against CUBIC. `cargo run --example fairness -- SEEDS`, 20 unless told.
#![expect(clippy::disallowed_methods, reason = "an example reads its arguments")]

mod share;

use std::io::Write as _;

use warren_netstack::Congestion::{Bbr, Cubic};

fn main() -> std::io::Result<()> {
    let seeds = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(20);
    let mut out = std::io::stdout();
    writeln!(
        out,
        "BBR to CUBIC: least, a tenth, median, nine tenths, most; beyond a factor of two; mean and most loss"
    )?;
    for count in [1, 4] {
        for tenths in [1, 5, 10, 20, 40] {
            let all = share::shares([Bbr, Cubic], count, tenths, 0..seeds);
            let at = |part: usize| all[(all.len() - 1) * part / 10].ratio();
            let beyond = all.iter().filter(|one| !(0.5..=2.0).contains(&one.ratio())).count();
            let mean = all.iter().map(|one| one.loss).sum::<f64>() / all.len() as f64;
            let most = all.iter().map(|one| one.loss).fold(0.0, f64::max);
            let buffer = tenths as f64 / 10.0;
            writeln!(
                out,
                "{count} and {count}, {buffer:.1} BDP: {:.2} {:.2} {:.2} {:.2} {:.2}; {beyond} of {}; {:.2} % {:.2} %",
                at(0),
                at(1),
                at(5),
                at(9),
                at(10),
                all.len(),
                mean * 100.0,
                most * 100.0
            )?;
        }
    }
    Ok(())
}
