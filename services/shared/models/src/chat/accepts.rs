//! The predicate with which a caller accepts or rejects replies.

use std::fmt;
use std::sync::Arc;

use super::ChatReply;

type Predicate = dyn Fn(&ChatReply) -> bool + Send + Sync;

/// Which replies a caller can parse. Accepts every reply by default.
///
/// It only decides whether a fallback model is called. If no model has an acceptable reply, the caller still gets the
/// last one that it did not accept.
#[derive(Clone, Default)]
pub struct Accepts(Option<Arc<Predicate>>);

impl Accepts {
    /// Accepts only the replies for which `predicate` returns true.
    pub fn only(predicate: impl Fn(&ChatReply) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(predicate)))
    }

    /// Whether the caller accepts `reply`.
    pub fn reads(&self, reply: &ChatReply) -> bool {
        self.0.as_ref().is_none_or(|predicate| predicate(reply))
    }
}

impl fmt::Debug for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "some" } else { "all" })
    }
}

/// Always equal: the predicate does not take part in the comparison of two requests.
impl PartialEq for Accepts {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
