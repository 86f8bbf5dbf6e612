//! Cuts passages into strips and keeps the best: Corrective RAG's decompose-then-recompose.

mod composition;

use std::collections::HashMap;

use emend_proto::v1::{self, Passage, RefineKnowledgeRequest, RefineKnowledgeResponse, Relevance, Strip};

use self::composition::compose;
use super::{Ended, Report, StepContext};
use crate::{
    graph::{Options, RefineOutcome, Refining, StripUnit},
    walk::{
        deadline::Share,
        state::{Held, State},
    },
};

pub(super) async fn run(context: &mut StepContext<'_>, refining: Refining, options: &Options) -> Ended<RefineOutcome> {
    let Some(request) = request(&context.state, refining, options) else {
        let report = Report::of("everything held is refined");
        return Ok((after(&context.state), report));
    };
    let response = context
        .services
        .refine_knowledge(request, context.hop(Share::Half))
        .await;
    let report = match response {
        Ok(response) => apply_strips(&mut context.state, response),
        Err(failure) => return Ok((RefineOutcome::Unavailable, Report::failed(&failure))),
    };
    Ok((after(&context.state), report))
}

fn after(state: &State) -> RefineOutcome {
    if state.held.is_empty() {
        RefineOutcome::NothingKept
    } else {
        RefineOutcome::Refined
    }
}

/// The request for the passages that are not refined yet; `None` if there are none.
pub(super) fn request(state: &State, refining: Refining, options: &Options) -> Option<RefineKnowledgeRequest> {
    let passages: Vec<Passage> = state
        .held
        .iter()
        .filter(|held| !held.refined)
        .map(|held| held.passage.clone())
        .collect();
    (!passages.is_empty()).then(|| RefineKnowledgeRequest {
        question: state.question().text().to_owned(),
        passages,
        unit: match refining.unit {
            StripUnit::Sentences => v1::StripUnit::Sentences,
            StripUnit::Words => v1::StripUnit::Words,
            StripUnit::Passage => v1::StripUnit::Passage,
        }
        .into(),
        size: refining.size.map(|size| size.count(options)),
        max_strips: refining.max_strips.map(|most| most.count(options)),
        threshold: refining.threshold.and_then(|threshold| threshold.ratio(options)),
    })
}

/// Rebuilds each passage from its kept strips; a passage without any is dropped.
pub(super) fn apply_strips(state: &mut State, response: RefineKnowledgeResponse) -> Report {
    let mut strips: HashMap<&str, Vec<&Strip>> = HashMap::new();
    for strip in &response.strips {
        strips.entry(&strip.passage_id).or_default().push(strip);
    }
    let before = state.held.len();
    let mut shown = Vec::with_capacity(before);
    state.held.retain_mut(|held| {
        if held.refined {
            shown.push(held.graded(true));
            return true;
        }
        let all = strips
            .get(held.passage.id.as_str())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let kept = recompose(held, all);
        shown.push(held.graded(kept));
        kept
    });
    let kept = response.strips.iter().filter(|strip| strip.kept).count();
    let ungraded = response.strips.iter().filter(|strip| strip.score.is_none()).count();
    let mut summary = format!("kept {kept} of {} strips", response.strips.len());
    if ungraded > 0 {
        summary.push_str(&format!(", {ungraded} without a grade"));
    }
    let error = response
        .strips
        .iter()
        .find(|strip| !strip.error.is_empty())
        .map(|strip| format!("grader: {}", strip.error))
        .unwrap_or_default();
    let mut report = Report::of(summary).costing(response.usage).showing(shown);
    report.error = error;
    report.strips = response.strips;
    report
}

/// Rebuilds a passage from its kept strips, with the best score among them. Returns whether any
/// strip is kept.
///
/// A strip without a grade says nothing about relevance (R4). A passage is UNGRADED if only such
/// strips are kept. A passage that is dropped is IRRELEVANT only if all its strips were graded.
fn recompose(held: &mut Held, strips: &[&Strip]) -> bool {
    held.refined = true;
    let kept: Vec<&Strip> = strips.iter().copied().filter(|strip| strip.kept).collect();
    if !kept.is_empty() {
        held.score = best_score(&kept);
        held.relevance = match held.score {
            Some(_) => Relevance::Relevant,
            None => Relevance::Ungraded,
        };
        compose(&mut held.passage, &kept);
        return true;
    }
    if strips.iter().any(|strip| strip.score.is_none()) {
        (held.relevance, held.score) = (Relevance::Ungraded, None);
    } else if !strips.is_empty() {
        (held.relevance, held.score) = (Relevance::Irrelevant, best_score(strips));
    }
    false
}

fn best_score(strips: &[&Strip]) -> Option<f64> {
    strips.iter().filter_map(|strip| strip.score).max_by(f64::total_cmp)
}
