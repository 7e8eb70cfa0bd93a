//! See `warren_tunnel_tests::fuzz::gateway_config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warren_tunnel_tests::fuzz::gateway_config(bytes));
