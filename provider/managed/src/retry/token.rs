//! Request tokens: a call that is repeated with the same token takes effect once.
//!
//! A token is derived from fabric, owner, type and name, the resource's mark in private state, and the number of the create
//! call that it made. It stays the same until the call is answered, also if the run is cancelled meanwhile, and a create
//! after that has another one: clouds remember tokens for longer than objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

/// The token of one create call.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    seed: [u8; 16],
    used: Arc<AtomicBool>,
}

impl Token {
    pub(crate) fn new(parts: &[&str]) -> Token {
        Token { seed: digest(parts), used: Arc::default() }
    }

    /// Whether a call has sent it, so that repeating the create cannot make a second object.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

tokio::task_local! {
    static TOKEN: Token;
}

/// Performs a create call with its token.
pub(crate) async fn attempt<T>(token: Token, create: impl Future<Output = T>) -> T {
    TOKEN.scope(token, create).await
}

/// The token of the create that this task performs, for its call `operation`; `None` outside a create.
pub fn token(operation: &str) -> Option<[u8; 16]> {
    TOKEN
        .try_with(|token| {
            token.used.store(true, Ordering::Relaxed);
            digest(&[&hex(&token.seed), operation])
        })
        .ok()
}

/// A digest of texts, none of which runs into the next.
pub fn digest(parts: &[&str]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.finalize()[..16]);
    digest
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
