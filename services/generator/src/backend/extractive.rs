//! Answers quoted from the passages.

use std::sync::Arc;

use emend_core::{Scope, Turns};
use emend_evaluator::{Evaluator, PassageText, SentenceScore, Thresholds, unnamed};
use emend_models::embed::Embedder;
use emend_proto::v1::{Citation, FinishReason, GenerateFinished, GenerateRequest, Passage, Sentence, Span, Usage};
use emend_text::sentence_separator;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Backend, Deltas, abstain, code_points, read_bytes, writing_deadline};
use crate::error::GenerateError;
use crate::selection::{self, Candidate};

/// Name of the model in results.
const MODEL: &str = "extractive";
/// Entries of a list or lines of code that are quoted with the sentence that introduces them, and steps of a list that are
/// quoted together, if the request sets no limit.
const MAX_ENTRIES: usize = 20;
/// Passages scored between two checks of the deadline.
const BATCH: usize = 4;

/// The backend `extractive`: quotes the best-supported sentences verbatim, in document order, with
/// their citations. It abstains if no sentence is supported well enough. It continues an answer
/// with sentences that the answer does not contain yet; the answer is complete if none of those is
/// supported well enough.
#[derive(Clone)]
pub struct ExtractiveBackend {
    embedder: Arc<dyn Embedder>,
    evaluator: Evaluator,
    max_sentences: u32,
}

impl ExtractiveBackend {
    /// Quotes sentences that `evaluator` scores, at most `max_sentences` if a request sets no
    /// limit. `embedder` counts tokens.
    pub fn new(embedder: Arc<dyn Embedder>, evaluator: Evaluator, max_sentences: u32) -> Self {
        Self {
            embedder,
            evaluator,
            max_sentences: max_sentences.max(1),
        }
    }

    /// The scores of all sentences, best first, and whether there was time for every passage.
    async fn scores(
        &self,
        request: &GenerateRequest,
        scope: &Scope,
    ) -> Result<(Vec<SentenceScore>, bool), GenerateError> {
        let until = writing_deadline(scope);
        let sources = request.passages.iter().map(|passage| passage.source.as_str());
        let Ok(unnamed) = until.run(unnamed(&request.question, sources)).await else {
            return Err(GenerateError::OutOfTime { model_calls: 0 });
        };
        let unnamed = unnamed?;
        let mut scores = Vec::new();
        let mut complete = true;
        for (batch, passages) in request.passages.chunks(BATCH).enumerate() {
            let first = batch * BATCH;
            let titles: Vec<_> = passages.iter().map(Passage::title_line).collect();
            let texts: Vec<PassageText<'_>> = (first..)
                .zip(passages.iter().zip(&titles).zip(unnamed.iter().skip(first)))
                .map(|(rank, ((passage, title), unnamed))| PassageText {
                    title,
                    text: &passage.text,
                    rank,
                    unnamed: *unnamed,
                })
                .collect();
            let Ok(scored) = until
                .run(self.evaluator.best_sentences(&request.question, &texts))
                .await
            else {
                complete = false;
                break;
            };
            scores.extend(scored?.into_iter().map(|score| SentenceScore {
                passage: score.passage + first,
                ..score
            }));
        }
        if !complete && scores.is_empty() {
            return Err(GenerateError::OutOfTime { model_calls: 0 });
        }
        scores.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Ok((scores, complete))
    }

    /// The sentences of the answer with their citations, and whether the limit in tokens left any out.
    fn chosen(&self, request: &GenerateRequest, scores: &[SentenceScore]) -> (Vec<(Candidate, Vec<Citation>)>, bool) {
        let Thresholds { answers, quote, .. } = self.evaluator.thresholds();
        let candidates = selection::candidates(&request.question, &request.passages, scores, answers, quote);
        let most = request.max_sentences.unwrap_or(self.max_sentences);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let chosen = selection::select(
            &request.question,
            candidates,
            &request.answer_so_far,
            &request.unsupported,
            request.attempt,
            most,
        );
        let most = if request.max_sentences.is_some() {
            most.saturating_sub(chosen.len())
        } else {
            MAX_ENTRIES
        };
        let chosen = selection::with_entries(&request.question, chosen, &request.passages, most);
        let (chosen, cut) = self.within_tokens(chosen, request.max_tokens, &request.passages);
        let cited = chosen.into_iter().map(|candidate| {
            let citations = citations(&candidate, &request.passages);
            (candidate, citations)
        });
        (cited.collect(), cut)
    }

    async fn quote(
        &self,
        request: &GenerateRequest,
        deltas: &Deltas,
        scope: &Scope,
    ) -> Result<GenerateFinished, GenerateError> {
        let (scores, complete) = self.scores(request, scope).await?;
        let (backend, own) = (self.clone(), request.clone());
        let bytes = read_bytes(request);
        let chosen = Turns::shared().piece(bytes, move || backend.chosen(&own, &scores));
        let (chosen, cut) = chosen.await?;
        // Without evidence there is nothing to claim (R7).
        if chosen.is_empty() && request.answer_so_far.trim().is_empty() {
            return abstain(emend_text::language(&request.question), MODEL, deltas).await;
        }
        // Time ran out, so it is unknown whether there is something to add.
        if chosen.is_empty() && !complete {
            return Err(GenerateError::OutOfTime { model_calls: 0 });
        }
        let mut answer = String::new();
        let mut sentences = Vec::with_capacity(chosen.len());
        let are_guesses = chosen.iter().all(|(candidate, _)| candidate.is_unlikely);
        let mut before: Option<Candidate> = None;
        for (candidate, citations) in chosen {
            let space = separator(&answer, before.as_ref(), &candidate, are_guesses);
            let start = answer.len() + space.len();
            answer.push_str(space);
            answer.push_str(&candidate.text);
            sentences.push(Sentence {
                span: Some(code_points(&answer, start..answer.len())),
                citations,
                text: candidate.text.clone(),
                ..Sentence::default()
            });
            deltas.send(format!("{space}{}", candidate.text)).await?;
            before = Some(candidate);
        }
        let finish_reason = match (complete, cut) {
            (false, _) => FinishReason::Deadline,
            (true, true) => FinishReason::Length,
            (true, false) => FinishReason::Stop,
        };
        Ok(GenerateFinished {
            answer,
            sentences,
            finish_reason: finish_reason.into(),
            usage: Some(Usage::default()),
            abstained: false,
            model: MODEL.to_owned(),
            likelihood: None,
        })
    }

    /// Takes sentences, best first, until one does not fit into `max_tokens`. Returns the sentences
    /// taken, and whether any was left out. If not even the best one fits, its beginning is taken.
    fn within_tokens(
        &self,
        chosen: Vec<Candidate>,
        max_tokens: Option<u32>,
        passages: &[Passage],
    ) -> (Vec<Candidate>, bool) {
        let Some(most) = max_tokens.and_then(|tokens| usize::try_from(tokens).ok()) else {
            return (chosen, false);
        };
        let all = chosen.len();
        let Some(best) = chosen
            .iter()
            .max_by(|a, b| a.probability.total_cmp(&b.probability))
            .cloned()
        else {
            return (chosen, false);
        };
        let mut left = most;
        let mut best_first: Vec<usize> = (0..all).collect();
        best_first.sort_by(|a, b| {
            let probability = |index: &usize| chosen.get(*index).map_or(0.0, |candidate| candidate.probability);
            probability(b).total_cmp(&probability(a))
        });
        let mut fits = vec![false; all];
        for index in best_first {
            let tokens = chosen
                .get(index)
                .map_or(0, |candidate| self.embedder.count_tokens(&candidate.text));
            if tokens > left {
                break;
            }
            left -= tokens;
            if let Some(fit) = fits.get_mut(index) {
                *fit = true;
            }
        }
        let kept: Vec<Candidate> = chosen
            .into_iter()
            .zip(fits)
            .filter_map(|(candidate, fit)| fit.then_some(candidate))
            .collect();
        if kept.is_empty() {
            return (vec![self.beginning(best, most, passages)], true);
        }
        let cut = kept.len() < all;
        (kept, cut)
    }

    /// The longest beginning of a sentence that has at most `most` tokens, and at least one character. Its places are those
    /// of the beginning where the passage contains it verbatim, else those of the whole sentence.
    fn beginning(&self, mut candidate: Candidate, most: usize, passages: &[Passage]) -> Candidate {
        let ends: Vec<usize> = candidate.text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        let fits = |end: &usize| {
            candidate
                .text
                .get(..*end)
                .is_some_and(|text| self.embedder.count_tokens(text) <= most)
        };
        let count = ends.partition_point(fits).max(1);
        let end = ends.get(count - 1).copied().unwrap_or(candidate.text.len());
        candidate.text.truncate(end);
        candidate.text.truncate(candidate.text.trim_end().len());
        for (index, range) in &mut candidate.places {
            let cut = range.start..range.start + candidate.text.len();
            // Marks of Markdown were removed: where the beginning ends in the passage is unknown.
            let text = passages.get(*index).and_then(|passage| passage.text.get(cut.clone()));
            if text == Some(&candidate.text) {
                *range = cut;
            }
        }
        candidate
    }
}

impl Backend for ExtractiveBackend {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
        deltas: &'a Deltas,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<GenerateFinished, GenerateError>> {
        self.quote(request, deltas, scope).boxed()
    }
}

/// What stands between the answer, which ends with `before`, and the next sentence. Lines of code stay lines, a row of a
/// table has a line, and so have guesses, which have nothing to do with each other.
fn separator(answer: &str, before: Option<&Candidate>, next: &Candidate, are_guesses: bool) -> &'static str {
    let starts_line = |before: &Candidate| {
        before.is_code || next.is_code || before.is_row || next.is_row || (are_guesses && !next.belongs_to(before))
    };
    match before.is_some_and(starts_line) {
        true => "\n",
        false => sentence_separator(answer, &next.text),
    }
}

fn citations(candidate: &Candidate, passages: &[Passage]) -> Vec<Citation> {
    candidate
        .places
        .iter()
        .filter_map(|(index, range)| {
            let passage = passages.get(*index)?;
            let span: Span = code_points(&passage.text, range.clone());
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            Some(Citation {
                number,
                passage_id: passage.id.clone(),
                span: Some(span),
                document_span: None,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
