//! Counts the calls that a request makes of models.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Usage;

/// Counts the calls of models that one request makes, and the tokens of replies that were discarded. A call is one HTTP
/// request, or one run of a model in this process, whether it succeeds or fails; a retry is another call.
///
/// It also holds the name of the model that answered. Clones share their state. The count stays 0 if the [`Chat`]
/// implementation does not record calls.
///
/// [`Chat`]: super::Chat
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    counters: Arc<Mutex<Counters>>,
}

#[derive(Debug, Default)]
struct Counters {
    calls: u32,
    model: Option<String>,
    wasted: Usage,
}

/// Always equal: a receipt does not take part in the comparison of two requests.
impl PartialEq for Receipt {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Receipt {
    /// Records a model call.
    pub fn called(&self) {
        let mut counters = self.lock();
        counters.calls = counters.calls.saturating_add(1);
    }

    /// Records the name of the model that answered.
    pub fn answered(&self, model: &str) {
        self.lock().model = Some(model.to_owned());
    }

    /// Adds the token usage of a discarded reply: one that was bad or that the caller did not accept.
    pub fn wasted(&self, usage: Usage) {
        self.lock().wasted += usage;
    }

    /// Token usage of the discarded replies, as far as the servers reported it.
    pub fn waste(&self) -> Usage {
        self.lock().wasted
    }

    /// Number of calls so far.
    pub fn calls(&self) -> u32 {
        self.lock().calls
    }

    /// The requested name of the model that answered.
    pub fn model(&self) -> Option<String> {
        self.lock().model.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
