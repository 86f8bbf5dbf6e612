//! What it took to answer a request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Usage;

/// Counts the calls of models that a request costs, whether they answer or fail, with the tokens of those that are not in
/// its reply, and names the one that answered. Clones share what they hold.
///
/// A request that is answered by a model that keeps none has a count of 0.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    paid: Arc<Mutex<Paid>>,
}

#[derive(Debug, Default)]
struct Paid {
    calls: u32,
    model: Option<String>,
    wasted: Usage,
}

/// No part of what is asked.
impl PartialEq for Receipt {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Receipt {
    /// A model is called.
    pub fn called(&self) {
        let mut paid = self.paid();
        paid.calls = paid.calls.saturating_add(1);
    }

    /// The model with this name answers.
    pub fn answered(&self, model: &str) {
        self.paid().model = Some(model.to_owned());
    }

    /// A model spent tokens on what is no reply, or none that its caller can read.
    pub fn wasted(&self, usage: Usage) {
        self.paid().wasted += usage;
    }

    /// The tokens that are in no reply, as far as they are known.
    pub fn waste(&self) -> Usage {
        self.paid().wasted
    }

    /// Calls so far. Tries of one call that failed in passing are one.
    pub fn calls(&self) -> u32 {
        self.paid().calls
    }

    /// The model that answered, by the name it was asked under.
    pub fn model(&self) -> Option<String> {
        self.paid().model.clone()
    }

    fn paid(&self) -> MutexGuard<'_, Paid> {
        self.paid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
