//! The end of a walk: its result, and the reason if it is not ANSWERED.

use emend_proto::v1::{ChatMessage, Limit, WalkResult, WalkStatus, chat_message};

use super::{
    outage,
    state::{Attempt, State, Verdict},
};
use crate::graph::FinishStatus;

/// How a walk came to its end.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// The status that the graph or the limit asks for.
    pub(super) status: FinishStatus,
    /// Why the status is not ANSWERED; not used if it is.
    pub(super) reason: String,
    /// The limit that ended the walk, if one did.
    pub(super) exhausted: Limit,
}

/// The status and the answer that the state supports. ANSWERED needs an answer that passed its
/// grading, and documents that could be searched; an answer without evidence is UNGROUNDED (R7).
enum Settled<'a> {
    Answer(WalkStatus, &'a Attempt),
    Abstained,
}

fn settle(state: &State, wanted: FinishStatus) -> Settled<'_> {
    let Some(best) = state.best() else {
        return Settled::Abstained;
    };
    let unverified = if best.evidence.is_empty() {
        WalkStatus::Ungrounded
    } else {
        WalkStatus::Unverified
    };
    match wanted {
        FinishStatus::Abstained => match state.in_doubt() {
            Some(in_doubt) => Settled::Answer(unverified, in_doubt),
            None => Settled::Abstained,
        },
        FinishStatus::Answered if best.verdict == Verdict::Passed && state.outages.documents_unsearched().is_none() => {
            Settled::Answer(WalkStatus::Answered, best)
        }
        FinishStatus::Ungrounded => {
            let without_evidence = state.attempts.iter().rfind(|attempt| attempt.evidence.is_empty());
            match without_evidence {
                Some(attempt) => Settled::Answer(WalkStatus::Ungrounded, attempt),
                None => Settled::Answer(unverified, best),
            }
        }
        FinishStatus::Answered | FinishStatus::Unverified => Settled::Answer(unverified, best),
    }
}

/// Which generation the result will show, if any.
pub(super) fn shown(state: &State, wanted: FinishStatus) -> Option<u32> {
    match settle(state, wanted) {
        Settled::Answer(_, attempt) => Some(attempt.number),
        Settled::Abstained => None,
    }
}

/// The result without the fields that only the engine knows: graph, options, trace id, duration.
pub(super) fn result(state: State, end: End) -> WalkResult {
    let usage = Some(state.usage);
    let result = match settle(&state, end.status) {
        Settled::Answer(status, attempt) => {
            let answered = status == WalkStatus::Answered;
            WalkResult {
                status: status.into(),
                answer: attempt.answer.clone(),
                sentences: attempt.sentences.clone(),
                documents: attempt.evidence.to_vec(),
                usage,
                reason: match state.outages.documents_unsearched() {
                    _ if answered => String::new(),
                    Some(failure) if attempt.verdict == Verdict::Passed => {
                        format!("the documents could not be searched, so the answer is not from them; {failure}")
                    }
                    _ if end.status == FinishStatus::Abstained => attempt.doubt(),
                    _ => end.reason,
                },
                groundedness: attempt.groundedness,
                usefulness: attempt.usefulness,
                ..WalkResult::default()
            }
        }
        Settled::Abstained if let Some(failure) = state.outages.cause(state.searched_evidence) => WalkResult {
            status: WalkStatus::Failed.into(),
            documents: state.documents(),
            usage,
            reason: end.reason,
            failure: Some(outage::message(failure)),
            ..WalkResult::default()
        },
        Settled::Abstained => {
            let own_words = state.abstained.clone().filter(|words| !words.trim().is_empty());
            WalkResult {
                status: WalkStatus::Abstained.into(),
                answer: own_words
                    .unwrap_or_else(|| emend_text::language(state.question().text()).abstention().to_owned()),
                documents: state.documents(),
                usage,
                reason: if state.abstained.is_some() {
                    // The abstention is the main reason. What came after it, for example a web
                    // search that is not configured, only says why nothing corrected it.
                    format!(
                        "the evidence that was found does not answer the question; {}",
                        end.reason
                    )
                } else {
                    end.reason
                },
                ..WalkResult::default()
            }
        }
    };
    let degraded_by = state.outages.all().iter().map(outage::message).collect();
    let standalone_question = state.question().standalone().unwrap_or_default().to_owned();
    let steps = state.steps.beside(&result.documents);
    WalkResult {
        message: result.failure.is_none().then(|| ChatMessage {
            role: chat_message::Role::Assistant.into(),
            content: result.answer.clone(),
        }),
        standalone_question,
        exhausted: end.exhausted.into(),
        steps,
        degraded_by,
        ..result
    }
}
