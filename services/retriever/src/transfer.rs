//! Collections as streams of documents: copies, exports and imports.

mod copy;
mod export;
mod import;
mod parts;

use emend_chassis::{ActorHandle, CallError, Caller, Work};
use emend_core::Scope;

use crate::error::RetrieverError;
use crate::library::Library;

pub(crate) use copy::{COPIES, Copy, copy};
pub(crate) use export::{Export, export};
pub(crate) use import::{IMPORTS, import};

/// Hands work to an actor, again and again while there is no room.
async fn call<W: Work<Library, Error = RetrieverError> + Clone>(
    actors: &ActorHandle<Library>,
    scope: &Scope,
    span: &tracing::Span,
    work: &W,
) -> Result<W::Reply, CallError<RetrieverError>> {
    loop {
        let caller = Caller::new(scope.deadline, scope.cancel.child_token(), span.clone());
        match actors.call(work.clone(), caller).await {
            Err(CallError::Full { retry_after }) if !scope.is_stopped() => tokio::time::sleep(retry_after).await,
            outcome => return outcome,
        }
    }
}
