//! The actor that rewrites.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context, Handler};
use emend_chassis::{Alive, Job};
use emend_core::{Scope, ServiceError, semconv};
use emend_proto::v1::{RewritePurpose, RewriteRequest, RewriteResponse};
use tracing::{Instrument, field, info_span};

use crate::backend::Backend;
use crate::error::RewriteError;
use crate::messages::Rewrite;

/// Rewrites with its backend, as many questions at once as are admitted.
pub(crate) struct RewriterActor {
    backend: Arc<dyn Backend>,
    _alive: Alive,
}

impl RewriterActor {
    pub(crate) fn new(backend: Arc<dyn Backend>, alive: Alive) -> Self {
        Self { backend, _alive: alive }
    }
}

impl Actor for RewriterActor {
    type Context = Context<Self>;
}

impl Handler<Job<Rewrite>> for RewriterActor {
    type Result = ();

    fn handle(&mut self, job: Job<Rewrite>, context: &mut Self::Context) {
        let backend = Arc::clone(&self.backend);
        let work = job.run(move |task, scope| async move { rewrite(&*backend, task.0, scope).await });
        context.spawn(work.into_actor(self));
    }
}

/// One rewrite in a span of its own. Question and query are in no span: they are the user's.
async fn rewrite(
    backend: &dyn Backend,
    request: RewriteRequest,
    scope: Scope,
) -> Result<RewriteResponse, RewriteError> {
    let purpose = match request.purpose() {
        RewritePurpose::Unspecified | RewritePurpose::Retrieval => "retrieval",
        RewritePurpose::WebSearch => "web_search",
        RewritePurpose::Condense => "condense",
    };
    let span = info_span!(
        "rewrite",
        otel.name = format!("rewrite {purpose}"),
        otel.status_code = field::Empty,
        { semconv::ERROR_TYPE } = field::Empty,
        emend.rewrite.purpose = purpose,
        emend.rewrite.backend = backend.name(),
        emend.rewrite.failed_queries = request.failed_queries.len(),
        emend.rewrite.fallback = field::Empty,
        emend.rewrite.exhausted = field::Empty,
    );
    match backend.rewrite(request, scope).instrument(span.clone()).await {
        Ok(rewritten) => {
            if let Some(reason) = rewritten.fallback {
                span.record("emend.rewrite.fallback", reason);
            }
            span.record("emend.rewrite.exhausted", rewritten.query.is_empty());
            Ok(RewriteResponse {
                query: rewritten.query,
                usage: Some(rewritten.usage),
            })
        }
        Err(error) => {
            span.record("otel.status_code", "ERROR");
            span.record(semconv::ERROR_TYPE, error.code().name());
            Err(error)
        }
    }
}
