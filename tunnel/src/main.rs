//! The tunnel binary.

fn main() {}
