//! Keyed hashing and a generator, both from the caller's seed: the same seed gives the same run.

use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, SocketAddr};

/// SipHash-1-3 with a secret key: demultiplexing that a peer cannot make collide, and initial sequence numbers
/// (RFC 6528 §3).
#[derive(Clone, Copy)]
pub(crate) struct Keyed {
    k0: u64,
    k1: u64,
}

impl Keyed {
    pub(crate) fn new(seed: &[u8; 32], half: usize) -> Self {
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&seed[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        Self { k0: word(half * 16), k1: word(half * 16 + 8) }
    }

    pub(crate) fn hash_words(&self, words: &[u64]) -> u64 {
        let mut state = self.build_hasher();
        for word in words {
            state.write_u64(*word);
        }
        state.finish()
    }
}

impl BuildHasher for Keyed {
    type Hasher = Sip;

    fn build_hasher(&self) -> Sip {
        Sip {
            v: [
                self.k0 ^ 0x736f_6d65_7073_6575,
                self.k1 ^ 0x646f_7261_6e64_6f6d,
                self.k0 ^ 0x6c79_6765_6e65_7261,
                self.k1 ^ 0x7465_6462_7974_6573,
            ],
            words: 0,
        }
    }
}

/// State of one hash. Input is taken in words; a short tail is padded, which is sound for keys of fixed layout.
pub(crate) struct Sip {
    v: [u64; 4],
    words: u64,
}

impl Sip {
    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.v;
        *v0 = v0.wrapping_add(*v1);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v3);
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.wrapping_add(*v3);
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v2 = v2.rotate_left(32);
    }
}

impl Hasher for Sip {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.words += 1;
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    fn finish(&self) -> u64 {
        let mut end = Self { v: self.v, words: 0 };
        let length = self.words << 56;
        end.v[3] ^= length;
        end.round();
        end.v[0] ^= length;
        end.v[2] ^= 0xff;
        end.round();
        end.round();
        end.round();
        end.v[0] ^ end.v[1] ^ end.v[2] ^ end.v[3]
    }
}

/// xorshift64*: jitter. Nothing that must stay secret.
#[derive(Clone, Copy)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    #[cfg(test)]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// First ephemeral port, and how many there are.
const FIRST_PORT: u16 = 32_768;
const PORTS: u64 = 28_232;
/// Counters of source ports.
const COUNTERS: usize = 1_024;
/// Tags that keep the uses of the secret apart.
const TAG_OFFSET: u64 = 0x706f_7274_6f66_6673;
const TAG_TABLE: u64 = 0x706f_7274_7461_626c;
const TAG_ANY: u64 = 0x706f_7274_616e_7921;

/// Source ports by the double-hash algorithm (RFC 6056 §3.3.4): two keyed hashes of the destination choose a beginning and a
/// counter, so the ports towards one destination say nothing of those towards another.
pub(crate) struct Ports {
    keyed: Keyed,
    counters: Vec<u16>,
    drawn: u64,
}

impl Ports {
    pub(crate) fn new(keyed: Keyed) -> Self {
        Self { keyed, counters: vec![0; COUNTERS], drawn: 0 }
    }

    /// The next port to try towards `remote`.
    pub(crate) fn next(&mut self, local: IpAddr, remote: SocketAddr) -> u16 {
        let (own, other) = (address_bits(local), address_bits(remote.ip()));
        let hash = |tag| {
            let ends = [own as u64, (own >> 64) as u64, other as u64, (other >> 64) as u64];
            let [a, b, c, d] = ends;
            self.keyed.hash_words(&[tag, a, b, c, d, remote.port().into()])
        };
        let counter = &mut self.counters[hash(TAG_TABLE) as usize % COUNTERS];
        let port = (hash(TAG_OFFSET) % PORTS + u64::from(*counter)) % PORTS;
        *counter = counter.wrapping_add(1);
        FIRST_PORT + port as u16
    }

    /// A port for a socket that has no one destination (RFC 6056 §3.3.1, with a keyed hash of a counter as the generator).
    pub(crate) fn any(&mut self) -> u16 {
        self.drawn += 1;
        FIRST_PORT + (self.keyed.hash_words(&[TAG_ANY, self.drawn]) % PORTS) as u16
    }
}

/// An address as a number, IPv4 apart from IPv6.
pub(crate) fn address_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) | (0xffff << 32),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}
