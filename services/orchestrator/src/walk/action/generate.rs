//! Writes an answer from the passages held and streams its text.

use std::{collections::HashSet, sync::Arc};

use emend_core::Code;
use emend_proto::v1::{
    FinishReason, GenerateFinished, GenerateRequest, GradedPassage, Sentence, generate_response::Event,
};
use futures::StreamExt as _;

use super::{Ended, Report, StepContext};
use crate::{
    graph::{GenerateOutcome, Options, Writing},
    walk::{
        deadline::Share,
        error::WalkError,
        services::{Dependency, Failure},
        state::{Attempt, Verdict, add_usage, same_passages},
    },
};

/// Most unsupported sentences in a request; the latest are sent.
const MAX_UNSUPPORTED: usize = 50;

pub(super) async fn run(context: &mut StepContext<'_>, writing: Writing, options: &Options) -> Ended<GenerateOutcome> {
    let evidence: Arc<[GradedPassage]> = context.state.documents().into();
    if evidence.is_empty() {
        let report = Report::of("no passage to answer from");
        return Ok((GenerateOutcome::NoDocuments, report));
    }
    if context.state.has_abstained_from(&evidence) {
        // Asking again would change nothing (R3).
        let report = Report::of("the generator abstained from the same passages before");
        return Ok((GenerateOutcome::Stalled, report));
    }
    let (finished, number) = match write(context, &evidence, writing, options).await? {
        Ok(written) => written,
        Err(failure) => return Ok((GenerateOutcome::Unavailable, Report::failed(&failure))),
    };
    let report = Report::of(summary(&finished)).costing(finished.usage);
    if finished.abstained {
        context.state.abstain_from(&evidence, finished.answer);
        return Ok((GenerateOutcome::Abstained, report));
    }
    if context.state.is_stalled(&evidence, &finished.answer) {
        retract(context, number, &finished.sentences).await?;
        let report = Report {
            summary: "the same answer from the same passages as before".to_owned(),
            ..report
        };
        return Ok((GenerateOutcome::Stalled, report));
    }
    context.state.abstained = None;
    context.state.attempts.push(attempt(finished, number, evidence));
    Ok((GenerateOutcome::Generated, report))
}

/// An attempt without grades.
pub(super) fn attempt(finished: GenerateFinished, number: u32, evidence: Arc<[GradedPassage]>) -> Attempt {
    Attempt {
        number,
        answer: finished.answer,
        sentences: finished.sentences,
        evidence,
        verdict: Verdict::Ungraded,
        supported: None,
        groundedness: None,
        usefulness: None,
        retracted: HashSet::new(),
    }
}

/// The summary of an answer in a step.
pub(super) fn summary(finished: &GenerateFinished) -> String {
    let model = &finished.model;
    let cut = match finished.finish_reason() {
        FinishReason::Length => ", cut at the longest answer allowed",
        FinishReason::Deadline => ", cut short by the deadline",
        _ => "",
    };
    if finished.abstained {
        format!("{model} abstained")
    } else {
        let count = finished.sentences.len();
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} sentence{plural} by {model}{cut}")
    }
}

/// Calls the generator and streams its text as events. Returns the answer with the number of its
/// generation.
pub(super) async fn write(
    context: &mut StepContext<'_>,
    evidence: &[GradedPassage],
    writing: Writing,
    options: &Options,
) -> Result<Result<(GenerateFinished, u32), Failure>, WalkError> {
    // Readers must see the previous answer retracted before the next text arrives.
    retract_for(context, None).await?;
    context.state.generations += 1;
    let number = context.state.generations;
    let mut stream = context.services.generate(
        request(context, evidence, writing, options),
        context.hop(Share::ThreeQuarters),
    );
    let mut text = String::new();
    let failure = loop {
        match stream.next().await {
            Some(Ok(Event::TextDelta(delta))) => {
                text.push_str(&delta);
                context.events.text_delta(delta, number).await?;
            }
            Some(Ok(Event::Finished(finished))) => match refusal(&finished) {
                None => {
                    // Reads the stream to its end: dropping it earlier counts against its
                    // connection.
                    while stream.next().await.is_some() {}
                    drop(stream);
                    context.state.outages.answered(Dependency::Generator);
                    return Ok(Ok((finished, number)));
                }
                Some(failure) => {
                    add_usage(&mut context.state.wasted, finished.usage);
                    break failure;
                }
            },
            Some(Err(failure)) => break failure,
            None => break broken("the stream ended before the answer did"),
        }
    };
    drop(stream);
    if !text.is_empty() {
        let written = Sentence {
            text,
            ..Sentence::default()
        };
        context.events.retracted(&written, number).await?;
    }
    Ok(Err(failure))
}

fn request(
    context: &StepContext<'_>,
    evidence: &[GradedPassage],
    writing: Writing,
    options: &Options,
) -> GenerateRequest {
    let state = &context.state;
    let again = state
        .attempts
        .iter()
        .filter(|attempt| same_passages(&attempt.evidence, evidence))
        .count();
    let unsupported = state.unsupported.len().saturating_sub(MAX_UNSUPPORTED);
    GenerateRequest {
        question: state.question().text().to_owned(),
        passages: evidence.iter().filter_map(|graded| graded.passage.clone()).collect(),
        unsupported: state.unsupported[unsupported..].to_vec(),
        // Attempts are counted for each list of passages, so new passages start with attempt 1. The
        // generator writes later attempts at a higher temperature (R3).
        attempt: u32::try_from(again + 1).unwrap_or(u32::MAX),
        temperature: writing.temperature.and_then(|temperature| temperature.ratio(options)),
        max_tokens: writing.max_tokens.map(|most| most.count(options)),
        max_sentences: writing.max_sentences.map(|most| most.count(options)),
        history: state.question().history().to_vec(),
        ..GenerateRequest::default()
    }
}

/// Why a reply is not an answer; `None` if it is one, or an abstention.
pub(super) fn refusal(finished: &GenerateFinished) -> Option<Failure> {
    if finished.abstained {
        None
    } else if finished.finish_reason() == FinishReason::ContentFilter {
        Some(broken("the model's provider withheld the answer"))
    } else if finished.answer.trim().is_empty() {
        Some(broken("the answer is empty"))
    } else {
        None
    }
}

pub(super) fn broken(message: &str) -> Failure {
    Failure::new(Dependency::Generator, Code::Internal, message)
}

/// Retracts every sentence that is not retracted yet, of all answers except the one shown.
pub(in crate::walk) async fn retract_for(context: &mut StepContext<'_>, shown: Option<u32>) -> Result<(), WalkError> {
    for attempt in &mut context.state.attempts {
        if Some(attempt.number) == shown {
            continue;
        }
        for (place, sentence) in attempt.sentences.iter().enumerate() {
            if attempt.retracted.insert(place) {
                context.events.retracted(sentence, attempt.number).await?;
            }
        }
    }
    Ok(())
}

async fn retract(context: &StepContext<'_>, number: u32, sentences: &[Sentence]) -> Result<(), WalkError> {
    for sentence in sentences {
        context.events.retracted(sentence, number).await?;
    }
    Ok(())
}
