//! Reading and drawing of large plans: `cargo bench -p warren-diagram`.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use warren_diagram::{Options, svg};

fn scale(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan to SVG");
    group.sample_size(10);
    for count in [100, 1_000, 10_000] {
        let text = common::spokes(count, true);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_with_input(BenchmarkId::new("read", count), &text, |bench, text| {
            bench.iter(|| common::read("plan.json", black_box(text)));
        });
        let plan = common::read("plan.json", &text);
        let options = Options { diff: true, ..Options::default() };
        group.bench_with_input(BenchmarkId::new("draw", count), &plan, |bench, plan| {
            bench.iter(|| svg(black_box(plan), &options).len());
        });
    }
    group.finish();
}

criterion_group!(benches, scale);
criterion_main!(benches);
