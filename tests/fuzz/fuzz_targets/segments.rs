//! See `warren_netstack::fuzz::segments`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warren_netstack::fuzz::segments(bytes));
