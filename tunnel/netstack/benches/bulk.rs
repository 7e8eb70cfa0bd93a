//! CPU of a bulk stream in memory, each way and beside idle streams. One iteration moves a MiB of data; the reciprocal
//! of the throughput is CPU seconds a byte.

mod pair;

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pair::{MIB, Pair};

fn both(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("send and receive");
    group.sample_size(10).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300));
    group.throughput(Throughput::Bytes(MIB as u64));
    for idle in [0, 1_000, 5_000] {
        let mut pair = Pair::new(idle);
        group.bench_function(format!("1 MiB beside {idle} idle streams"), |bencher| {
            bencher.iter(|| pair.transfer());
        });
    }
    group.finish();
}

criterion_group!(benches, both);
criterion_main!(benches);
