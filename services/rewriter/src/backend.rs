//! How queries are made.

mod keywords;
mod llm;

use std::sync::Arc;

use emend_core::Scope;
use emend_models::progress::Progress;
use emend_models::prompt::Prompts;
use emend_proto::v1::{RewriteRequest, Usage};
use futures::future::BoxFuture;

use crate::config::{BackendKind, Options};
use crate::error::{LoadError, RewriteError};

pub use keywords::KeywordBackend;
pub use llm::LlmBackend;

/// Makes queries.
pub trait Backend: Send + Sync {
    /// The name that spans tell.
    fn name(&self) -> &'static str;

    /// A query for the request's purpose, made from its original question, and none of its failed queries in any case or
    /// spacing; to condense, the question as it stands alone, which no failed query forbids. The request is within the contract's limits. Dropping the future stops the work.
    fn rewrite(&self, request: RewriteRequest, scope: Scope) -> BoxFuture<'_, Result<Rewritten, RewriteError>>;
}

/// A new query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rewritten {
    /// The query; empty when there is no new one.
    pub query: String,
    /// What it cost.
    pub usage: Usage,
    /// Why the backend's first choice was not taken; none where it was.
    pub fallback: Option<&'static str>,
}

/// The backend that `options` ask for.
///
/// # Errors
/// [`LoadError`] when the options do not describe one, or its model cannot be had.
pub async fn load(options: &Options) -> Result<Arc<dyn Backend>, LoadError> {
    options.chat.check()?;
    match options.backend {
        BackendKind::Keywords => Ok(Arc::new(KeywordBackend)),
        BackendKind::Llm => {
            let chat = options.chat.load(Progress::none()).await?;
            let chat = chat.ok_or(LoadError::NoModel)?;
            let prompts = Prompts::load(&options.prompts)?;
            Ok(Arc::new(LlmBackend::new(chat, prompts, options.retry_temperature)))
        }
    }
}
