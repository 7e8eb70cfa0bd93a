//! Time to seal and to open a message, for ring and for the library of this machine: `cargo bench -p warren-cipher`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use warren_cipher::{Key, Suite, load};

fn messages(c: &mut Criterion) {
    let suites = std::iter::once(Suite::RING).chain(load().inspect_err(|why| eprintln!("{why}")));
    for suite in suites {
        let key = Key::new(suite, &[7; 32]);
        let mut group = c.benchmark_group(suite.name());
        for length in [64, 576, 1_420, 8_920] {
            group.throughput(Throughput::Bytes(length as u64));
            let mut body = vec![3; length];
            group.bench_function(BenchmarkId::new("seal", length), |b| {
                b.iter(|| key.seal(&[1; 12], &[], black_box(&mut body)));
            });
            let mut message = vec![3; length];
            let tag = key.seal(&[1; 12], &[], &mut message).unwrap_or_default();
            message.extend(tag);
            let sealed = message.clone();
            group.bench_function(BenchmarkId::new("open", length), |b| {
                b.iter(|| {
                    message.copy_from_slice(&sealed);
                    key.open(&[1; 12], &[], black_box(&mut message)).map(|plain| plain.len())
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, messages);
criterion_main!(benches);
