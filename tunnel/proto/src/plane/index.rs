//! Sessions by index: a table of two levels that is read without a lock.
//!
//! The low 20 bits of an index are the place, the high 12 bits are random, so that a message of an old session
//! does not reach the one that has its place now. Pages of the second level come into being on first use.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

use super::Session;

/// Bits of the place.
pub(crate) const PLACE_BITS: u32 = 20;
const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;

type Page = Box<[ArcSwapOption<Session>]>;

pub(crate) struct SessionTable {
    pages: Box<[OnceLock<Page>]>,
}

impl SessionTable {
    pub(crate) fn new() -> Self {
        Self { pages: (0..1 << (PLACE_BITS - PAGE_BITS)).map(|_| OnceLock::new()).collect() }
    }

    pub(crate) fn get(&self, index: u32) -> Option<Arc<Session>> {
        let (page, entry) = split(index);
        let guard = self.pages[page].get()?[entry].load();
        guard.as_ref().filter(|session| session.index == index).cloned()
    }

    pub(crate) fn set(&self, index: u32, session: Option<Arc<Session>>) {
        let (page, entry) = split(index);
        let page = self.pages[page].get_or_init(|| (0..PAGE).map(|_| ArcSwapOption::empty()).collect());
        page[entry].store(session);
    }
}

fn split(index: u32) -> (usize, usize) {
    let place = (index & ((1 << PLACE_BITS) - 1)) as usize;
    (place >> PAGE_BITS, place & (PAGE - 1))
}
