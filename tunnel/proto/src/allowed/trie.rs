//! A binary trie with compressed paths in one vector.
//!
//! Every node is a prefix; a child's prefix extends its parent's. A node without value has two children, so
//! there are fewer than twice as many nodes as ranges. Cloning is copying two vectors.
//!
//! [`Trie::optimise`] adds a table over the first [`SKIP`] bits after the prefix that all ranges share: an entry
//! holds the node to go on from and the best value above it, which replaces the top of the walk by one step.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const NONE: u32 = u32::MAX;
/// Bits that the jump table covers.
const SKIP: u8 = 10;
/// Fewer nodes are walked as fast without the jump table.
const WORTH: usize = 32;

/// An address as bits.
pub(super) trait Bits: Copy + Eq + std::fmt::Debug {
    const WIDTH: u8;
    /// Bit `at`, counted from the most significant one.
    fn bit(self, at: u8) -> usize;
    /// Up to [`SKIP`] bits from `at` on as a number.
    fn field(self, at: u8) -> usize;
    /// Sets the [`SKIP`] bits from `at` on.
    fn with_field(self, at: u8, field: usize) -> Self;
    /// Number of leading bits in which both agree.
    fn common(self, other: Self) -> u8;
    /// The first `length` bits, the others zero.
    fn masked(self, length: u8) -> Self;
    fn net(self, length: u8) -> Option<IpNet>;
}

macro_rules! bits {
    ($type:ty, $address:ty, $net:ty, $family:path) => {
        impl Bits for $type {
            const WIDTH: u8 = <$type>::BITS as u8;

            #[inline]
            fn bit(self, at: u8) -> usize {
                ((self >> (Self::WIDTH - 1 - at)) & 1) as usize
            }

            #[inline]
            fn field(self, at: u8) -> usize {
                ((self << at) >> (Self::WIDTH - SKIP)) as usize
            }

            fn with_field(self, at: u8, field: usize) -> Self {
                self.masked(at) | ((field as $type) << (Self::WIDTH - SKIP - at))
            }

            #[inline]
            fn common(self, other: Self) -> u8 {
                (self ^ other).leading_zeros() as u8
            }

            #[inline]
            fn masked(self, length: u8) -> Self {
                if length == 0 { 0 } else { self & (<$type>::MAX << (Self::WIDTH - length)) }
            }

            fn net(self, length: u8) -> Option<IpNet> {
                <$net>::new(<$address>::from(self), length).ok().map($family)
            }
        }
    };
}

bits!(u32, Ipv4Addr, Ipv4Net, IpNet::V4);
bits!(u128, Ipv6Addr, Ipv6Net, IpNet::V6);

#[derive(Debug, Clone, Copy)]
struct Node<K, T> {
    key: K,
    length: u8,
    value: Option<T>,
    children: [u32; 2],
}

/// Where a walk goes on after the bits of the jump table.
#[derive(Debug, Clone, Copy)]
struct Jump<T> {
    node: u32,
    best: Option<T>,
}

#[derive(Debug, Clone)]
struct Jumps<K, T> {
    /// Bits that all ranges share.
    prefix: K,
    at: u8,
    table: Vec<Jump<T>>,
}

#[derive(Debug, Clone)]
pub(super) struct Trie<K, T> {
    nodes: Vec<Node<K, T>>,
    free: Vec<u32>,
    root: u32,
    count: usize,
    jumps: Option<Jumps<K, T>>,
}

impl<K: Bits, T: Copy + Eq> Trie<K, T> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), root: NONE, count: 0, jumps: None }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn lookup(&self, key: K) -> Option<T> {
        if let Some(jumps) = &self.jumps
            && jumps.prefix.common(key) >= jumps.at
        {
            let jump = jumps.table[key.field(jumps.at)];
            return self.walk(jump.node, key, jump.best);
        }
        self.walk(self.root, key, None)
    }

    #[inline]
    fn walk(&self, mut at: u32, key: K, mut best: Option<T>) -> Option<T> {
        while let Some(node) = self.nodes.get(at as usize) {
            if node.key.common(key) < node.length {
                break;
            }
            best = node.value.or(best);
            if node.length == K::WIDTH {
                break;
            }
            at = node.children[key.bit(node.length)];
        }
        best
    }

    pub(super) fn insert(&mut self, key: K, length: u8, value: T) -> Option<T> {
        self.jumps = None;
        let key = key.masked(length);
        // The place that points to the current node: a parent and a side, or the root.
        let mut place: Option<(u32, usize)> = None;
        let mut at = self.root;
        loop {
            let Some(node) = self.nodes.get(at as usize).copied() else {
                let new = self.add(key, length, Some(value));
                self.point(place, new);
                self.count += 1;
                return None;
            };
            let common = node.key.common(key).min(node.length).min(length);
            if common == node.length {
                if length == node.length {
                    let old = self.nodes[at as usize].value.replace(value);
                    self.count += usize::from(old.is_none());
                    return old;
                }
                let side = key.bit(node.length);
                place = Some((at, side));
                at = node.children[side];
                continue;
            }
            let new = self.add(key, length, Some(value));
            let above = if common == length { new } else { self.add(key.masked(common), common, None) };
            if above != new {
                self.nodes[above as usize].children[key.bit(common)] = new;
            }
            self.nodes[above as usize].children[node.key.bit(common)] = at;
            self.point(place, above);
            self.count += 1;
            return None;
        }
    }

    pub(super) fn remove(&mut self, key: K, length: u8) -> Option<T> {
        let key = key.masked(length);
        let (mut above, mut place, mut at) = (None, None, self.root);
        loop {
            let node = self.nodes.get(at as usize)?;
            if node.length > length || node.key.common(key) < node.length {
                return None;
            }
            if node.length == length {
                break;
            }
            let side = key.bit(node.length);
            above = place;
            place = Some((at, side));
            at = node.children[side];
        }
        let old = self.nodes[at as usize].value.take()?;
        self.jumps = None;
        self.count -= 1;
        match self.nodes[at as usize].children {
            [NONE, NONE] => {
                self.drop_node(at);
                self.point(place, NONE);
                // The parent may now be a branch with one child: it goes too.
                if let Some((parent, side)) = place
                    && self.nodes[parent as usize].value.is_none()
                {
                    let other = self.nodes[parent as usize].children[1 - side];
                    self.drop_node(parent);
                    self.point(above, other);
                }
            }
            [only, NONE] | [NONE, only] => {
                self.drop_node(at);
                self.point(place, only);
            }
            _ => {}
        }
        Some(old)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (IpNet, T)> + '_ {
        self.nodes.iter().filter_map(|node| Some((node.key.net(node.length)?, node.value?)))
    }

    pub(super) fn optimise(&mut self) {
        self.nodes.shrink_to_fit();
        if self.jumps.is_some() || self.count < WORTH {
            return;
        }
        let Some(root) = self.nodes.get(self.root as usize) else { return };
        // Ranges above the first branch are short; their values become part of the entries.
        let (mut at, mut top, mut best) = (self.root, *root, root.value);
        while let [only, NONE] | [NONE, only] = top.children
            && only != NONE
        {
            at = only;
            top = self.nodes[at as usize];
            best = top.value.or(best);
        }
        let start = top.length;
        if start > K::WIDTH - SKIP {
            return;
        }
        let table = (0..1_usize << SKIP)
            .map(|field| {
                let key = top.key.with_field(start, field);
                let mut jump = Jump { node: at, best: None };
                // `best` of the entry is that of the nodes walked past; the node itself is looked at later.
                let mut above = best;
                while let Some(node) = self.nodes.get(jump.node as usize) {
                    if node.length > start + SKIP || node.key.common(key) < node.length {
                        // Deeper than the table, or another branch: the look-up decides.
                        break;
                    }
                    above = node.value.or(above);
                    if node.length == start + SKIP && node.length == K::WIDTH {
                        jump.node = NONE;
                        break;
                    }
                    if node.length == start + SKIP {
                        break;
                    }
                    jump.node = node.children[key.bit(node.length)];
                }
                jump.best = above;
                jump
            })
            .collect();
        self.jumps = Some(Jumps { prefix: top.key, at: start, table });
    }

    fn add(&mut self, key: K, length: u8, value: Option<T>) -> u32 {
        let node = Node { key, length, value, children: [NONE; 2] };
        if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    fn drop_node(&mut self, at: u32) {
        self.nodes[at as usize].value = None;
        self.free.push(at);
    }

    fn point(&mut self, place: Option<(u32, usize)>, to: u32) {
        match place {
            Some((parent, side)) => self.nodes[parent as usize].children[side] = to,
            None => self.root = to,
        }
    }
}
