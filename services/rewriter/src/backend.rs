//! Rewriter backends.

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

/// A backend that rewrites questions into queries.
pub trait Backend: Send + Sync {
    /// The name recorded in spans.
    fn name(&self) -> &'static str;

    /// Rewrites the original question of `request` into a query for its purpose. The query differs from every failed
    /// query by more than case or spacing.
    ///
    /// The purpose "condense" yields the question as it stands alone, even if it is a failed query. The request is
    /// validated. Dropping the future cancels the work.
    fn rewrite(&self, request: RewriteRequest, scope: Scope) -> BoxFuture<'_, Result<Rewritten, RewriteError>>;
}

/// A rewritten query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rewritten {
    /// The query; empty if there is no new one.
    pub query: String,
    /// The model usage of the rewrite.
    pub usage: Usage,
    /// Why the backend fell back from its first choice; `None` if it did not.
    pub fallback: Option<&'static str>,
}

/// Creates the backend that `options` select.
///
/// # Errors
/// [`LoadError`] if the options are invalid or the model cannot be loaded.
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
