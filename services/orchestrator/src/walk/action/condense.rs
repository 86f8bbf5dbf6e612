//! Rewrites a follow-up into a standalone question before the walk begins: the only change of a
//! question (R2).

use emend_core::limits::MAX_QUESTION_BYTES;
use emend_proto::v1::{RewritePurpose, RewriteRequest};

use super::{Report, StepContext};
use crate::walk::deadline::Share;

/// The name of the step, which belongs to no graph.
pub(in crate::walk) const CONDENSE: &str = "condense";

/// How condensing can end; no edge depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::walk) enum Condensed {
    /// The question is standalone now.
    Rewritten,
    /// The question stays as it was asked.
    Unchanged,
    /// The rewriter did not answer; the question is taken as it was asked.
    Unavailable,
}

impl Condensed {
    pub(in crate::walk) fn name(self) -> &'static str {
        match self {
            Condensed::Rewritten => "rewritten",
            Condensed::Unchanged => "unchanged",
            Condensed::Unavailable => "unavailable",
        }
    }
}

pub(in crate::walk) async fn run(context: &mut StepContext<'_>) -> (Condensed, Report) {
    let question = context.state.question();
    let request = RewriteRequest {
        question: question.text().to_owned(),
        purpose: RewritePurpose::Condense.into(),
        history: question.history().to_vec(),
        ..RewriteRequest::default()
    };
    let response = match context.services.rewrite(request, context.hop(Share::Half)).await {
        Ok(response) => response,
        Err(failure) => return (Condensed::Unavailable, Report::failed(&failure)),
    };
    let text = response.query.trim().to_owned();
    let asked = context.state.question().text();
    if text.is_empty() || text == asked || text.len() > MAX_QUESTION_BYTES {
        let report = Report::of("the question stands on its own").costing(response.usage);
        return (Condensed::Unchanged, report);
    }
    let report = Report::of(format!("question: {text}"))
        .costing(response.usage)
        .with_query(asked.to_owned(), text.clone());
    context.state.stand_alone(text);
    (Condensed::Rewritten, report)
}
