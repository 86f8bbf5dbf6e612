//! The tasks of the rewriter's actor.

use emend_chassis::Task;
use emend_proto::v1;

use crate::error::RewriteError;

/// Make a query. The request is valid.
pub(crate) struct Rewrite(pub(crate) v1::RewriteRequest);

impl Task for Rewrite {
    type Reply = v1::RewriteResponse;
    type Error = RewriteError;
    const NAME: &'static str = "rewrite";
}
