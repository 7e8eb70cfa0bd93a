//! A binary trie with compressed paths in one vector.
//!
//! Every node is a prefix; a child's prefix extends its parent's. A node without value has two children, so
//! there are fewer than twice as many nodes as ranges. Cloning is copying two vectors.
//!
//! [`Trie::optimise`] gives nodes with many descendants a table over the next bits (up to [`MOST`], as many as keep
//! it filled): an entry holds the node to go on from and the best value on the way there, so that one step
//! replaces as many as the table has bits.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const NONE: u32 = u32::MAX;
/// A table covers at most so many bits.
const MOST: u8 = 14;
/// Entries that share a node, on average, at most: else the table would be large for nothing.
const SHARED: usize = 2;
/// A table with fewer targets is not faster than the walk.
const FEW: usize = 4;

/// An address as bits.
pub(super) trait Bits: Copy + Eq + std::fmt::Debug {
    const WIDTH: u8;
    /// Bit `at`, counted from the most significant one.
    fn bit(self, at: u8) -> usize;
    /// The `bits` bits from `at` on as a number; at least one, and not past the end.
    fn field(self, at: u8, bits: u8) -> usize;
    /// The first `at` bits, then the `bits` bits of `field`, then zeros.
    fn with_field(self, at: u8, bits: u8, field: usize) -> Self;
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
            fn field(self, at: u8, bits: u8) -> usize {
                ((self << at) >> (Self::WIDTH - bits)) as usize
            }

            fn with_field(self, at: u8, bits: u8, field: usize) -> Self {
                self.masked(at) | ((field as $type) << (Self::WIDTH - bits - at))
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
    value: Option<T>,
    children: [u32; 2],
    /// Where its table begins.
    table: u32,
    /// Bits that its table covers, 0 without a table.
    bits: u8,
    length: u8,
}

/// Where a walk goes on after the bits of a table.
#[derive(Debug, Clone, Copy)]
struct Jump<T> {
    node: u32,
    best: Option<T>,
}

#[derive(Debug, Clone)]
pub(super) struct Trie<K, T> {
    nodes: Vec<Node<K, T>>,
    free: Vec<u32>,
    root: u32,
    count: usize,
    /// All tables one after the other.
    jumps: Vec<Jump<T>>,
}

impl<K: Bits, T: Copy + Eq> Trie<K, T> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), root: NONE, count: 0, jumps: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn lookup(&self, key: K) -> Option<T> {
        let (mut at, mut best) = (self.root, None);
        while let Some(node) = self.nodes.get(at as usize) {
            if node.key.common(key) < node.length {
                break;
            }
            best = node.value.or(best);
            if node.bits > 0 {
                let jump = self.jumps[node.table as usize + key.field(node.length, node.bits)];
                best = jump.best.or(best);
                at = jump.node;
            } else if node.length < K::WIDTH {
                at = node.children[key.bit(node.length)];
            } else {
                break;
            }
        }
        best
    }

    pub(super) fn insert(&mut self, key: K, length: u8, value: T) -> Option<T> {
        self.drop_tables();
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
        self.drop_tables();
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
        if !self.jumps.is_empty() {
            return;
        }
        let mut todo = vec![self.root];
        while let Some(at) = todo.pop() {
            let Some(node) = self.nodes.get(at as usize).copied() else { continue };
            let bits = self.worth(&node);
            if bits == 0 {
                todo.extend(node.children);
                continue;
            }
            let table = self.jumps.len();
            for field in 0..1_usize << bits {
                let jump = self.jump(&node, bits, field);
                // Neighbours share a node: it is looked at once.
                if jump.node != NONE
                    && self.jumps.get(table..).and_then(|own| own.last()).map(|last| last.node)
                        != Some(jump.node)
                {
                    todo.push(jump.node);
                }
                self.jumps.push(jump);
            }
            let node = &mut self.nodes[at as usize];
            node.table = table as u32;
            node.bits = bits;
        }
        self.jumps.shrink_to_fit();
    }

    /// How many bits a table of this node should cover: the most with which it is filled.
    fn worth(&self, top: &Node<K, T>) -> u8 {
        // A node below, whose parent ends before the table's last bit and which itself does not, is the target of
        // an entry. So each counts for the numbers of bits between its parent's length and its own.
        let mut change = [0_isize; MOST as usize + 2];
        let mut todo = vec![(top.children, 0)];
        while let Some((children, above)) = todo.pop() {
            for node in children.into_iter().filter_map(|child| self.nodes.get(child as usize)) {
                let below = node.length - top.length;
                change[usize::from(above) + 1] += 1;
                if below < MOST {
                    change[usize::from(below) + 1] -= 1;
                    todo.push((node.children, below));
                }
            }
        }
        let (mut targets, mut best) = (0, 0);
        for bits in 1..=MOST.min(K::WIDTH - top.length) {
            targets += change[usize::from(bits)];
            let filled = targets.unsigned_abs() * SHARED >= 1 << bits;
            if filled && targets.unsigned_abs() >= FEW {
                best = bits;
            }
        }
        best
    }

    /// The walk from a node over the bits of its table.
    fn jump(&self, top: &Node<K, T>, bits: u8, field: usize) -> Jump<T> {
        let key = top.key.with_field(top.length, bits, field);
        let end = top.length + bits;
        let mut jump = Jump { node: top.children[key.bit(top.length)], best: None };
        while let Some(node) = self.nodes.get(jump.node as usize).filter(|node| node.length < end) {
            if node.key.common(key) < node.length {
                jump.node = NONE;
                break;
            }
            jump.best = node.value.or(jump.best);
            jump.node = node.children[key.bit(node.length)];
        }
        // What begins otherwise within the table's bits is for no address of this entry.
        if self.nodes.get(jump.node as usize).is_some_and(|node| node.key.common(key) < end) {
            jump.node = NONE;
        }
        jump
    }

    fn drop_tables(&mut self) {
        if !self.jumps.is_empty() {
            self.jumps = Vec::new();
            self.nodes.iter_mut().for_each(|node| node.bits = 0);
        }
    }

    fn add(&mut self, key: K, length: u8, value: Option<T>) -> u32 {
        let node = Node { key, value, children: [NONE; 2], table: 0, bits: 0, length };
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
