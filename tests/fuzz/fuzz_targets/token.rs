//! See `warren_tunnel_tests::fuzz::token`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warren_tunnel_tests::fuzz::token(bytes));
