//! What a service does for one call.

use emend_core::{Scope, ServiceError};

/// A piece of work on a service's state `S`: what is asked, what comes back, how it can fail, and how it is done.
///
/// `S` is what a service keeps between calls. Any type can be work, also a request of a contract:
///
/// ```
/// # use emend_chassis::{InvalidRequest, Work};
/// # use emend_core::Scope;
/// struct Dictionary(Vec<String>);
///
/// struct LookUp(usize);
///
/// impl Work<Dictionary> for LookUp {
///     type Reply = Option<String>;
///     type Error = InvalidRequest;
///     const NAME: &'static str = "look_up";
///
///     async fn run(self, dictionary: &Dictionary, _: &Scope) -> Result<Option<String>, InvalidRequest> {
///         Ok(dictionary.0.get(self.0).cloned())
///     }
/// }
/// ```
pub trait Work<S>: Send + 'static {
    /// What the caller gets.
    type Reply: Send + 'static;
    /// How the work itself can fail.
    type Error: ServiceError;
    /// Name in logs, for example `grade_documents`.
    const NAME: &'static str;

    /// Does the work on the actor's thread, which other works share: what computes or blocks belongs on threads of its
    /// own. The future is dropped at its next await point when the caller is gone or the deadline past; what it started
    /// elsewhere has the `scope` to look at. A panic ends the actor and with it all that the actor had begun.
    fn run(self, state: &S, scope: &Scope) -> impl Future<Output = Result<Self::Reply, Self::Error>>;
}
