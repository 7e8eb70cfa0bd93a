//! Throughput in virtual time.

mod sim;

use sim::{Link, MS, SEC, Script, World};

#[test]
fn bulk_transfer_arrives() {
    let mut world = World::simple(1, Link::clean(100_000_000, 10 * MS));
    world.open([Script::bulk(10_000_000), Script::bulk(1_000_000)], false);
    world.run(20 * SEC);
    let [a, b] = &world.pairs[0];
    assert_eq!((a.received, b.received), (1_000_000, 10_000_000));
    assert!(a.closed.is_some() && b.closed.is_some());
    println!("{} ms", world.now / MS);
}
