//! What a caller can make use of.

use std::fmt;
use std::sync::Arc;

use super::ChatReply;

type Read = dyn Fn(&ChatReply) -> bool + Send + Sync;

/// Which replies a caller can read; every one where nothing is said.
///
/// It decides nothing but whether another model is asked, where there is one: who asks gets a reply that it cannot read all
/// the same when no model has a better one.
#[derive(Clone, Default)]
pub struct Accepts(Option<Arc<Read>>);

impl Accepts {
    /// The replies for which `read` is true.
    pub fn only(read: impl Fn(&ChatReply) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }

    /// Whether the caller can read this.
    pub fn reads(&self, reply: &ChatReply) -> bool {
        self.0.as_ref().is_none_or(|read| read(reply))
    }
}

impl fmt::Debug for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "some" } else { "all" })
    }
}

/// No part of what is asked.
impl PartialEq for Accepts {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
