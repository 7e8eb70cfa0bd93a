//! The answers equal those of a brute-force packet walk, address by address, on random small networks.

mod google;
mod inside;
mod outside;
mod overlay;
mod world;
