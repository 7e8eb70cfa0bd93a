//! The table of virtual-time throughput: one stream, 1 Gbit/s, several delays and losses, both controllers.
//! `cargo run --release --example throughput`.

use std::io::Write;

use warren_netstack::Congestion;
use warren_netstack_sim::{Link, MS, SEC, Script, World, config};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    writeln!(
        out,
        "goodput in Mbit/s of a 1 Gbit/s line, queue of one BDP (at least 128 KiB), MTU 1420; first 5 s / 5 s to 20 s"
    )?;
    writeln!(
        out,
        "{:>10} {:>9} {:>17} {:>17} {:>17} {:>17}",
        "controller", "delay ms", "loss 0", "0.1 %", "1 %", "3 %"
    )?;
    for congestion in [Congestion::Bbr, Congestion::Cubic] {
        for delay in [2, 80] {
            write!(out, "{congestion:>10?} {delay:>9}")?;
            for loss in [0.0, 0.001, 0.01, 0.03] {
                let mut link = Link::clean(1_000_000_000, delay * MS / 2);
                link.loss = loss;
                let mut back = link.clone();
                back.loss = 0.0;
                let mut configs = [config(0, 1), config(1, 1)];
                configs[0].congestion = congestion;
                for one in &mut configs {
                    one.budget_bytes = 64 << 20;
                }
                let mut world = World::new(7, configs, [link, back]);
                world.open([Script::bulk(u64::MAX), Script::bulk(0)], false);
                world.run_until(5 * SEC);
                let first = world.pairs[0][1].received;
                world.run_until(20 * SEC);
                let rest = world.pairs[0][1].received - first;
                write!(out, " {:>8}/{:<8}", first * 8 / 5_000_000, rest * 8 / 15_000_000)?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
