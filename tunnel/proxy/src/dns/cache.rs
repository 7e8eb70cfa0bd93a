//! Answers that are kept for as long as they say.

use std::{collections::HashMap, sync::Arc, time::Duration};

use hickory_proto::op::Message;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::message::{Question, age, lifetime};

/// Records of one answer that is worth keeping.
const RECORDS: usize = 128;
/// Bytes of one answer that is worth keeping.
const BYTES: usize = 8 << 10;

#[derive(Debug)]
struct Kept {
    message: Arc<Message>,
    since: Instant,
    until: Instant,
}

/// Answers by question.
#[derive(Debug)]
pub(super) struct Cache {
    kept: Mutex<HashMap<Question, Kept>>,
    most: usize,
}

impl Cache {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), most }
    }

    /// The answer as it is now, its TTLs counted down.
    pub(super) fn get(&self, question: &Question) -> Option<Arc<Message>> {
        let now = Instant::now();
        let (message, kept_for) = {
            let kept = self.kept.lock();
            let entry = kept.get(question).filter(|entry| now < entry.until)?;
            (Arc::clone(&entry.message), now - entry.since)
        };
        if kept_for < Duration::from_secs(1) {
            return Some(message);
        }
        let mut message = Message::clone(&message);
        age(&mut message, kept_for);
        Some(Arc::new(message))
    }

    /// Forgets all answers.
    pub(super) fn clear(&self) {
        self.kept.lock().clear();
    }

    /// Keeps an answer, if it may be kept at all.
    pub(super) fn put(&self, question: &Question, message: &Arc<Message>) {
        let records = message.answers.len() + message.authorities.len() + message.additionals.len();
        let Some(lifetime) = lifetime(message).filter(|_| records <= RECORDS && self.most > 0) else {
            return;
        };
        if message.to_vec().is_ok_and(|bytes| bytes.len() > BYTES) {
            return;
        }
        let now = Instant::now();
        let mut kept = self.kept.lock();
        if kept.len() >= self.most && !kept.contains_key(question) {
            kept.retain(|_, entry| now < entry.until);
        }
        if kept.len() >= self.most && !kept.contains_key(question) {
            // The one that would go first anyway.
            let next = kept.iter().min_by_key(|(_, entry)| entry.until).map(|(question, _)| question.clone());
            next.map(|question| kept.remove(&question));
        }
        let entry = Kept { message: Arc::clone(message), since: now, until: now + lifetime };
        kept.insert(question.clone(), entry);
    }
}
