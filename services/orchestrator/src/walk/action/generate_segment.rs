//! Writes the next segment of the answer from each passage by itself, for each hypothesis of the
//! beam, grades all candidates, and keeps the best hypotheses: Self-RAG's beam search with
//! reflection.

use std::collections::HashSet;

use emend_core::{Deadline, limits::MAX_QUESTION_BYTES};
use emend_proto::v1::{
    FinishReason, GenerateFinished, GenerateRequest, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeUsefulnessRequest, GradedPassage, Passage, Relevance, Usage,
    generate_response::Event,
};
use futures::{StreamExt as _, stream};

use super::{
    Ended, Report, StepContext,
    generate::{broken, refusal, retract_for},
    grade_documents::apply_grades,
    grades::{errors, passes, tell, verdict},
};
use crate::{
    graph::{GenerateSegmentOutcome, MinimumSupport, Options, Purpose, Weights, Writing},
    walk::{
        beam::{Hypothesis, Segment},
        deadline::Share,
        error::WalkError,
        services::{Dependency, Failure, Services},
        state::{Attempt, Held, add_usage},
    },
};

/// Candidates that are written and graded at the same time (R9).
const MAX_CONCURRENT: usize = 16;

/// The weights with the options in force.
#[derive(Clone, Copy)]
struct Weighing {
    relevance: f64,
    support: f64,
    usefulness: f64,
}

pub(super) async fn run(
    context: &mut StepContext<'_>,
    writing: Writing,
    beam_width: u32,
    weights: Weights,
    options: &Options,
) -> Ended<GenerateSegmentOutcome> {
    let passages: Vec<Passage> = context.state.held.iter().map(|held| held.passage.clone()).collect();
    if passages.is_empty() {
        let report = Report::of("no passage to answer from");
        return Ok((GenerateSegmentOutcome::NoDocuments, report));
    }
    context.state.generations += 1;
    let beam = match context.state.beam.as_slice() {
        [] => vec![Hypothesis::default()],
        beam => beam.to_vec(),
    };
    let requests: Vec<(usize, usize, GenerateRequest)> = beam
        .iter()
        .enumerate()
        .filter(|(_, hypothesis)| !hypothesis.complete)
        .flat_map(|(of, hypothesis)| {
            passages
                .iter()
                .enumerate()
                .map(move |(from, passage)| (of, from, hypothesis, passage))
        })
        .map(|(of, from, hypothesis, passage)| (of, from, request(context, writing, options, hypothesis, passage)))
        .collect();
    let asked = requests.len();

    let services = context.services;
    let question = context.state.question().text().to_owned();
    let deadline = context.hop(Share::ThreeQuarters);
    let graded = grade_passages(context, deadline);
    let candidates = stream::iter(requests)
        .map(|(of, from, request)| {
            let question = question.as_str();
            async move { (of, from, candidate(services, question, request, deadline).await) }
        })
        .buffered(MAX_CONCURRENT)
        .collect::<Vec<_>>();
    let (graded, candidates) = tokio::join!(graded, candidates);

    let mut report = Report::default();
    match graded {
        None => {}
        Some(Ok(response)) => {
            report = report.costing(response.usage);
            report.error = apply_grades(&mut context.state, response.grades);
        }
        Some(Err(failure)) => report.error = failure.to_string(),
    }
    let weighing = Weighing {
        relevance: weights.relevance.ratio(options).unwrap_or_default(),
        support: weights.support.ratio(options).unwrap_or_default(),
        usefulness: weights.usefulness.ratio(options).unwrap_or_default(),
    };
    let results = sort_candidates(&beam, &context.state.held, candidates, weighing, &mut report);
    report.summary = format!(
        "{} of {asked} candidates by {} hypotheses",
        results.grown.len(),
        beam.len()
    );
    report = report.showing(context.state.documents());
    if results.failure.is_none() || !results.grown.is_empty() {
        context.state.outages.answered(Dependency::Generator);
    }
    if results.grown.is_empty() {
        let outcome = if let Some(failure) = results
            .failure
            .filter(|_| !results.complete && results.abstained.is_none())
        {
            report.error = failure.to_string();
            report.failure = Some(failure);
            GenerateSegmentOutcome::Unavailable
        } else if let Some(words) = results.abstained.filter(|_| !beam.iter().any(Hypothesis::has_begun)) {
            context.state.abstained = Some(words);
            GenerateSegmentOutcome::Abstained
        } else {
            GenerateSegmentOutcome::Complete
        };
        return Ok((outcome, report));
    }
    // A hypothesis that did not grow stays in the beam and competes with those that did.
    let mut next: Vec<Hypothesis> = beam
        .into_iter()
        .zip(results.progress)
        .filter(|(hypothesis, progress)| hypothesis.has_begun() && *progress != Progress::Grown)
        .map(|(mut hypothesis, progress)| {
            hypothesis.complete |= progress == Progress::NothingToAdd;
            hypothesis
        })
        .collect();
    next.extend(results.grown);
    next.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let mut seen = HashSet::new();
    next.retain(|hypothesis| seen.insert(hypothesis.answer.clone()));
    next.truncate(beam_width.max(1) as usize);
    context.state.abstained = None;
    let searched = context.state.query.clone();
    let growing = next.iter().find(|hypothesis| !hypothesis.complete);
    if let Some(last) = growing.and_then(|best| best.sentences.last()) {
        // The next search looks for evidence to continue the last sentence with.
        let mut query = format!("{} {}", context.state.question().text(), last.text);
        // The retriever rejects longer queries (R15), and the model decides how long a sentence is.
        query.truncate(query.floor_char_boundary(MAX_QUESTION_BYTES));
        context.state.rewritten(Purpose::Retrieval, &query);
        report = report.with_query(searched, query);
    }
    let outcome = if next.iter().all(|hypothesis| hypothesis.complete) {
        GenerateSegmentOutcome::Complete
    } else {
        GenerateSegmentOutcome::Extended
    };
    context.state.beam = next;
    show_leader(context).await?;
    Ok((outcome, report))
}

fn request(
    context: &StepContext<'_>,
    writing: Writing,
    options: &Options,
    hypothesis: &Hypothesis,
    passage: &Passage,
) -> GenerateRequest {
    GenerateRequest {
        question: context.state.question().text().to_owned(),
        passages: vec![passage.clone()],
        attempt: 1,
        temperature: writing.temperature.and_then(|temperature| temperature.ratio(options)),
        max_tokens: writing.max_tokens.map(|most| most.count(options)),
        max_sentences: writing.max_sentences.map(|most| most.count(options)),
        answer_so_far: hypothesis.answer.clone(),
        history: context.state.question().history().to_vec(),
        ..GenerateRequest::default()
    }
}

/// Grades the passages that have no grade yet, while the candidates are written (R9).
async fn grade_passages(
    context: &StepContext<'_>,
    deadline: Deadline,
) -> Option<Result<GradeDocumentsResponse, Failure>> {
    let passages: Vec<Passage> = context
        .state
        .held
        .iter()
        .filter(|held| held.relevance == Relevance::Unspecified)
        .map(|held| held.passage.clone())
        .collect();
    if passages.is_empty() {
        return None;
    }
    let request = GradeDocumentsRequest {
        question: context.state.question().text().to_owned(),
        passages,
        ..GradeDocumentsRequest::default()
    };
    Some(context.services.grade_documents(request, deadline).await)
}

/// The result of one candidate.
enum Candidate {
    /// A segment with its grades; the relevance of its passage is not yet in its score.
    Written(Box<Reflected>),
    /// The generator has nothing to add.
    Complete(Usage),
    /// This passage does not answer the question, in the generator's words.
    Abstained(String, Usage),
    /// There is no segment; what a reply cost that is none.
    Failed(Failure, Usage),
}

/// A segment with the grades of its text.
struct Reflected {
    finished: GenerateFinished,
    supported: Option<bool>,
    groundedness: Option<f64>,
    support: f64,
    useful: Option<bool>,
    usefulness: Option<f64>,
    utility: f64,
    usage: Usage,
    error: String,
}

async fn candidate(services: &dyn Services, question: &str, request: GenerateRequest, deadline: Deadline) -> Candidate {
    let passages = request.passages.clone();
    let so_far = request.answer_so_far.clone();
    let finished = match written(services, request, deadline).await {
        Ok(finished) => finished,
        Err((failure, usage)) => return Candidate::Failed(failure, usage),
    };
    let usage = finished.usage.unwrap_or_default();
    if finished.abstained {
        return Candidate::Abstained(finished.answer, usage);
    }
    if finished.answer.trim().is_empty() {
        return if so_far.is_empty() {
            Candidate::Failed(broken("the answer is empty"), usage)
        } else {
            Candidate::Complete(usage)
        };
    }
    let usefulness = GradeUsefulnessRequest {
        question: question.to_owned(),
        answer: crate::walk::beam::joined(&so_far, &finished.answer),
        passages: passages.clone(),
    };
    let groundedness = GradeGroundednessRequest {
        question: question.to_owned(),
        passages,
        answer: finished.answer.clone(),
        sentences: finished.sentences.clone(),
    };
    let (groundedness, usefulness) = tokio::join!(
        services.grade_groundedness(groundedness, deadline),
        services.grade_usefulness(usefulness, deadline)
    );
    let mut reflected = Reflected {
        finished,
        supported: None,
        groundedness: None,
        support: 0.0,
        useful: None,
        usefulness: None,
        utility: 0.0,
        usage,
        error: errors(Some(&groundedness), Some(&usefulness)),
    };
    if let Ok(response) = groundedness {
        add_usage(&mut reflected.usage, response.usage);
        reflected.supported = passes(response.support(), MinimumSupport::Partially);
        reflected.groundedness = response.score;
        reflected.support = match response.fully_supported {
            Some(fully) => fully + 0.5 * response.partially_supported.unwrap_or_default(),
            None => response.score.unwrap_or_default(),
        };
        if response.sentences.len() == reflected.finished.sentences.len() {
            for (sentence, graded) in reflected.finished.sentences.iter_mut().zip(response.sentences) {
                sentence.support = graded.support;
                sentence.support_score = graded.support_score;
            }
        }
    }
    if let Ok(response) = usefulness {
        add_usage(&mut reflected.usage, response.usage);
        reflected.useful = response.useful;
        reflected.usefulness = response.score;
        let utility = response.expected_utility.or(response.utility.map(f64::from));
        // Maps utilities 1 to 5 to −1 to 1.
        reflected.utility = utility.map_or(0.0, |utility| (utility - 3.0) / 2.0);
    }
    Candidate::Written(Box::new(reflected))
}

/// Calls the generator. Its deltas are not sent as events, because most candidates are discarded.
async fn written(
    services: &dyn Services,
    request: GenerateRequest,
    deadline: Deadline,
) -> Result<GenerateFinished, (Failure, Usage)> {
    let continues = !request.answer_so_far.is_empty();
    let mut stream = services.generate(request, deadline);
    loop {
        match stream.next().await {
            Some(Ok(Event::TextDelta(_))) => {}
            Some(Ok(Event::Finished(finished))) => {
                // Reads the stream to its end: dropping it earlier counts against its connection.
                while stream.next().await.is_some() {}
                let withheld = finished.finish_reason() == FinishReason::ContentFilter;
                let nothing_to_add = continues && finished.answer.trim().is_empty() && !withheld;
                return match refusal(&finished) {
                    Some(failure) if !nothing_to_add => Err((failure, finished.usage.unwrap_or_default())),
                    _ => Ok(finished),
                };
            }
            Some(Err(failure)) => return Err((failure, Usage::default())),
            None => return Err((broken("the stream ended before the answer did"), Usage::default())),
        }
    }
}

/// What a step did to a hypothesis of the beam.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// At least one passage gave it another segment.
    Grown,
    /// No passage gave it another segment, and with at least one the generator had nothing to add.
    NothingToAdd,
    /// It was complete before, or the generator did not answer.
    Unchanged,
}

/// The candidates, sorted by their result.
struct CandidateResults {
    grown: Vec<Hypothesis>,
    /// For each hypothesis of the beam.
    progress: Vec<Progress>,
    complete: bool,
    abstained: Option<String>,
    failure: Option<Failure>,
}

fn sort_candidates(
    beam: &[Hypothesis],
    held: &[Held],
    candidates: Vec<(usize, usize, Candidate)>,
    weighing: Weighing,
    report: &mut Report,
) -> CandidateResults {
    let mut results = CandidateResults {
        grown: Vec::new(),
        progress: vec![Progress::Unchanged; beam.len()],
        complete: false,
        abstained: None,
        failure: None,
    };
    for (of, from, candidate) in candidates {
        let nothing_to_add = matches!(candidate, Candidate::Complete(_) | Candidate::Abstained(..));
        if nothing_to_add && results.progress[of] == Progress::Unchanged {
            results.progress[of] = Progress::NothingToAdd;
        }
        match candidate {
            Candidate::Failed(failure, usage) => {
                add_usage(&mut report.usage, Some(usage));
                if report.error.is_empty() {
                    report.error = failure.to_string();
                }
                results.failure.get_or_insert(failure);
            }
            Candidate::Complete(usage) => {
                add_usage(&mut report.usage, Some(usage));
                results.complete = true;
            }
            Candidate::Abstained(words, usage) => {
                add_usage(&mut report.usage, Some(usage));
                results.abstained.get_or_insert(words);
            }
            Candidate::Written(reflected) => {
                add_usage(&mut report.usage, Some(reflected.usage));
                if report.error.is_empty() {
                    report.error.clone_from(&reflected.error);
                }
                results.progress[of] = Progress::Grown;
                results
                    .grown
                    .push(beam[of].grown(segment(*reflected, held[from].graded(true), weighing)));
            }
        }
    }
    results
}

/// The segment with its score. A missing grade adds nothing to the score (R4).
fn segment(reflected: Reflected, passage: GradedPassage, weighing: Weighing) -> Segment {
    let score = reflected.finished.likelihood.unwrap_or_default()
        + weighing.relevance * passage.score.unwrap_or_default()
        + weighing.support * reflected.support
        + weighing.usefulness * reflected.utility;
    Segment {
        answer: reflected.finished.answer,
        sentences: reflected.finished.sentences,
        passage,
        score,
        supported: reflected.supported,
        groundedness: reflected.groundedness,
        useful: reflected.useful,
        usefulness: reflected.usefulness,
    }
}

/// Makes the best hypothesis of the beam an attempt, in place of the previous best one, and sends
/// its new text and grades as events. Only the beam chooses between its hypotheses: one that it
/// dropped is not an attempt.
async fn show_leader(context: &mut StepContext<'_>) -> Result<(), WalkError> {
    let Some(leader) = context.state.beam.first().cloned() else {
        return Ok(());
    };
    let verdict = leader.verdict(verdict);
    let before = context.state.beam_attempt.and_then(|number| {
        let attempts = &context.state.attempts;
        attempts.iter().position(|attempt| attempt.number == number)
    });
    let continued = before
        .map(|place| &context.state.attempts[place])
        .filter(|before| leader.answer.starts_with(&before.answer) && leader.sentences.starts_with(&before.sentences));
    let (number, text, sentences, retracted) = match continued {
        Some(before) => (
            before.number,
            before.answer.len(),
            before.sentences.len(),
            before.retracted.clone(),
        ),
        None => {
            retract_for(context, None).await?;
            (context.state.generations, 0, 0, HashSet::new())
        }
    };
    if let Some(place) = before {
        context.state.attempts.remove(place);
    }
    context.state.attempts.push(Attempt {
        retracted,
        ..leader.attempt(number, verdict)
    });
    context.state.beam_attempt = Some(number);
    if leader.answer.len() > text {
        context
            .events
            .text_delta(leader.answer[text..].to_owned(), number)
            .await?;
    }
    tell(context, sentences).await
}
