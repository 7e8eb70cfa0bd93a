//! Listeners and their queues of established connections.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use hashbrown::HashMap;

use crate::random::Keyed;
use crate::stack::{Stack, StreamId};

/// A listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerId {
    pub(crate) index: u32,
}

/// What a listener listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// One address, or every one.
    pub address: Option<IpAddr>,
    /// One port, or every one.
    pub port: Option<u16>,
    /// Connections that wait for [`Stack::accept`] at most; SYNs beyond are dropped, and sent again by their peers.
    pub backlog: usize,
    /// Tell of a SYN with [`Event::Incoming`](crate::Event::Incoming) and answer it only after [`Stack::admit`], or
    /// [`Stack::deny`] it: a gateway first finds out whether the destination can be reached. [`Stack::accept`] has none of
    /// these.
    pub defer: bool,
}

impl Listen {
    /// A listener on this port of every address.
    #[must_use]
    pub fn port(port: u16) -> Self {
        Self { address: None, port: Some(port), backlog: 1_024, defer: false }
    }

    /// A listener on every port of every address; with `accept_any` for any destination whatever.
    #[must_use]
    pub fn any() -> Self {
        Self { address: None, port: None, backlog: 1_024, defer: false }
    }
}

struct Listener {
    listen: Listen,
    queue: VecDeque<StreamId>,
    notified: bool,
}

pub(crate) struct Listeners {
    list: Vec<Option<Listener>>,
    table: HashMap<(Option<IpAddr>, Option<u16>), u32, Keyed>,
}

impl Listeners {
    pub(crate) fn new(keyed: Keyed) -> Self {
        Self { list: Vec::new(), table: HashMap::with_hasher(keyed) }
    }

    /// The most particular listener for an address.
    pub(crate) fn find(&self, local: &SocketAddr) -> Option<ListenerId> {
        let (address, port) = (Some(local.ip()), Some(local.port()));
        [(address, port), (None, port), (address, None), (None, None)]
            .iter()
            .find_map(|key| self.table.get(key))
            .map(|index| ListenerId { index: *index })
    }

    pub(crate) fn has_room(&self, id: ListenerId) -> bool {
        self.get(id).is_some_and(|listener| listener.queue.len() < listener.listen.backlog)
    }

    pub(crate) fn deferred(&self, id: ListenerId) -> bool {
        self.get(id).is_some_and(|listener| listener.listen.defer)
    }

    /// Queues a connection; returns the listener if it has not been notified yet.
    pub(crate) fn push(&mut self, index: u32, stream: StreamId) -> Option<ListenerId> {
        let listener = self.list.get_mut(index as usize)?.as_mut()?;
        listener.queue.push_back(stream);
        (!std::mem::replace(&mut listener.notified, true)).then_some(ListenerId { index })
    }

    pub(crate) fn pop(&mut self, id: ListenerId) -> Option<StreamId> {
        self.list.get_mut(id.index as usize)?.as_mut()?.queue.pop_front()
    }

    pub(crate) fn clear_notified(&mut self, id: ListenerId) {
        if let Some(Some(listener)) = self.list.get_mut(id.index as usize) {
            listener.notified = false;
        }
    }

    fn get(&self, id: ListenerId) -> Option<&Listener> {
        self.list.get(id.index as usize)?.as_ref()
    }
}

impl Stack {
    /// Listens; `None` if the port is in use.
    pub fn listen(&mut self, listen: Listen) -> Option<ListenerId> {
        let key = (listen.address, listen.port);
        if self.listeners.table.contains_key(&key) {
            return None;
        }
        let index = self.listeners.list.len() as u32;
        self.listeners.list.push(Some(Listener { listen, queue: VecDeque::new(), notified: false }));
        self.listeners.table.insert(key, index);
        Some(ListenerId { index })
    }

    /// Stops listening. Connections that have not been accepted are reset.
    pub fn unlisten(&mut self, now: std::time::Duration, id: ListenerId) {
        let Some(listener) = self.listeners.list.get_mut(id.index as usize).and_then(Option::take) else {
            return;
        };
        self.listeners.table.remove(&(listener.listen.address, listener.listen.port));
        for stream in listener.queue {
            self.abort(now, stream);
        }
        self.end_half_open(now, id.index);
    }
}
