//! Our indices: which peer a handshake or session index belongs to.

use std::collections::VecDeque;

use crate::handshake::random::Rng;
use crate::plane::PLACE_BITS;

#[derive(Debug, Clone, Copy)]
struct Place {
    index: u32,
    /// The peer's slot; `None` if the place is free.
    owner: Option<u32>,
}

/// Gives out indices. The low bits are a place in a table, the high bits are random. The place that is free for
/// longest is used first, so that an index stays unused as long as possible.
#[derive(Debug, Default)]
pub(super) struct Indices {
    places: Vec<Place>,
    free: VecDeque<u32>,
}

impl Indices {
    /// A new index; `None` if all of a million are in use.
    pub(super) fn allocate(&mut self, rng: &mut Rng, owner: u32) -> Option<u32> {
        // Some spare places keep a place from being used again at once.
        let at = if self.free.len() > 64 { self.free.pop_front() } else { None };
        let at = match at {
            Some(at) => at,
            None if self.places.len() < 1 << PLACE_BITS => {
                self.places.push(Place { index: 0, owner: None });
                u32::try_from(self.places.len() - 1).ok()?
            }
            None => self.free.pop_front()?,
        };
        let place = &mut self.places[at as usize];
        let mut high = rng.u32() >> PLACE_BITS;
        if high == place.index >> PLACE_BITS {
            high ^= 1;
        }
        *place = Place { index: at | (high << PLACE_BITS), owner: Some(owner) };
        Some(place.index)
    }

    pub(super) fn owner(&self, index: u32) -> Option<u32> {
        let place = self.places.get(at(index))?;
        place.owner.filter(|_| place.index == index)
    }

    pub(super) fn release(&mut self, index: u32) {
        if let Some(place) = self.places.get_mut(at(index))
            && place.index == index
            && place.owner.take().is_some()
        {
            self.free.push_back(index & ((1 << PLACE_BITS) - 1));
        }
    }

    #[cfg(test)]
    pub(super) fn in_use(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

fn at(index: u32) -> usize {
    (index & ((1 << PLACE_BITS) - 1)) as usize
}
